"""Contents of one layer of a cache: their size, and the positions that they are kept for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from engine.cache_formula.layouts import Layout


@dataclass(frozen=True)
class Number:
    """A factor of a formula.

    Attributes:
        value: the number.
        words: what it counts: ``KV heads``.
        symbol: its letter in the formula.
        source: the field of the configuration that it was read from, or how it follows from others.
    """

    value: int
    words: str
    symbol: str
    source: str


@dataclass(frozen=True)
class Span:
    """The positions for which a layer keeps something; this base class: all positions.

    Attributes:
        symbol: the number of positions, in a formula.
    """

    symbol = "n"

    def count(self, positions: int, layout: Layout) -> int:
        """Return the number of entries that `layout` counts once `positions` positions are read."""
        return layout.all(positions)

    def numbers(self) -> tuple[Number, ...]:
        """Return the numbers of the configuration that `count` depends on."""
        return ()


@dataclass(frozen=True)
class Last(Span):
    """The last positions: a sliding window, or a chunk of local attention."""

    window: Number
    symbol = "min(n, W)"

    def count(self, positions: int, layout: Layout) -> int:
        """Return the number of positions that `layout` counts in the window."""
        return layout.last(positions, self.window.value)

    def numbers(self) -> tuple[Number, ...]:
        """Return the window."""
        return (self.window,)


@dataclass(frozen=True)
class OneIn(Span):
    """One entry for each full group of `rate` positions, which were compressed into it."""

    rate: Number
    symbol = "floor(n / r)"

    def count(self, positions: int, layout: Layout) -> int:
        """Return the number of compressed positions."""
        return layout.all(positions // self.rate.value)

    def numbers(self) -> tuple[Number, ...]:
        """Return the rate."""
        return (self.rate,)


@dataclass(frozen=True)
class RestOf(OneIn):
    """The positions that wait to be compressed."""

    symbol = "(n mod r)"

    def count(self, positions: int, layout: Layout) -> int:
        """Return the number of positions left over."""
        return positions % self.rate.value


@dataclass(frozen=True)
class Once(Span):
    """One state of constant size for the whole text.

    Attributes:
        least: number of positions from which it exists.
    """

    least: int = 1
    symbol = "1"

    def count(self, positions: int, layout: Layout) -> int:
        """Return 1, however long the text; 0 below `least` positions."""
        return int(positions >= self.least)


ALL, ONCE = Span(), Once()


@dataclass(frozen=True)
class Kept:
    """One thing that a layer keeps, such as its keys.

    Attributes:
        name: keys, values, latent, ...
        factors: their product is the number of its values, per entry of the span.
        span: the positions that it is kept for.
        dtype: empty if it is stored as the cache is; ``model`` for the model's own dtype; else the
            dtype that the architecture always uses.
    """

    name: str
    factors: tuple[Number, ...]
    span: Span = ALL
    dtype: str = ""

    @property
    def values(self) -> int:
        """Number of values per position, or in the state."""
        return math.prod(factor.value for factor in self.factors)


@dataclass(frozen=True)
class Layer:
    """One layer of a cache.

    Attributes:
        kind: its kind in the field's words: ``full attention``.
        kept: what it keeps; empty for a layer that reads another's cache, or has none.
    """

    kind: str
    kept: tuple[Kept, ...] = ()


def keys_and_values(
    heads: Number, key_size: Number, value_size: Number, span: Span = ALL
) -> tuple[Kept, Kept]:
    """Return the keys and values that a layer with grouped-query attention keeps."""
    return Kept("keys", (heads, key_size), span), Kept("values", (heads, value_size), span)


def numbers(layers: Sequence[Layer]) -> list[Number]:
    """Return the numbers that the formulas of these layers use, each once, in order."""
    used = (
        number
        for layer in layers
        for kept in layer.kept
        for number in (*kept.factors, *kept.span.numbers())
    )
    return list(dict.fromkeys(used))
