"""Bytes of a cache at a number of positions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from engine.cache_formula.kept import ALL, ONCE, Kept, Last, Layer, Once, OneIn, RestOf, Span
from engine.cache_formula.layouts import TENSORS, Layout


@dataclass(frozen=True)
class Storage:
    """A format in which values are stored.

    Attributes:
        name: display name.
        bits: bits of a value itself.
        group: number of values that share a scale; 0 if no scales are counted.
        scale_bits: bits of a group's scale, and of its zero point if it has one.
        about: the assumptions.
    """

    name: str
    bits: int
    group: int = 0
    scale_bits: int = 0
    about: str = ""

    @property
    def bits_per_value(self) -> Fraction:
        """Bits of a value, including its share of the scales."""
        return self.bits + (Fraction(self.scale_bits, self.group) if self.group else Fraction(0))

    def bytes(self, values: int) -> Fraction:
        """Return the bytes of `values` values."""
        return values * self.bits_per_value / 8


_FIXED = {"float32": Storage("float32", 32), "int64": Storage("int64", 64)}


@dataclass(frozen=True)
class CacheFormula:
    """Bytes of a cache as a function of its positions.

    Attributes:
        layers: what each layer keeps, in order.
        storage: storage of keys and values.
        model: storage of states that follow the model's own dtype.
    """

    layers: tuple[Layer, ...]
    storage: Storage
    model: Storage

    @cached_property  # read at every position of a curve
    def groups(self) -> list[tuple[int, Layer]]:
        """Groups of equal layers: the size of each group, and one of its layers."""
        return [(count, layer) for layer, count in Counter(self.layers).items()]

    def stored_in(self, kept: Kept) -> Storage:
        """Return the storage of `kept`: the cache's, the model's, or that of a fixed dtype."""
        if not kept.dtype:
            return self.storage
        return self.model if kept.dtype == "model" else _FIXED[kept.dtype]

    def of(self, kept: Kept, positions: int, layout: Layout = TENSORS) -> Fraction:
        """Return the bytes of one thing that a layer keeps, for one text."""
        return self.stored_in(kept).bytes(kept.values) * kept.span.count(positions, layout)

    def of_layer(self, layer: Layer, positions: int, layout: Layout = TENSORS) -> Fraction:
        """Return the bytes of one layer, for one text."""
        return sum((self.of(kept, positions, layout) for kept in layer.kept), Fraction(0))

    def bytes_at(self, positions: int, layout: Layout = TENSORS, batch: int = 1) -> int:
        """Return the bytes of the whole cache for `batch` texts of `positions` positions."""
        one = sum(count * self.of_layer(layer, positions, layout) for count, layer in self.groups)
        return math.ceil(batch * one)

    @property
    def bytes_per_token(self) -> int:
        """Bytes that each further position adds if every window is full.

        An entry that covers several positions counts in proportion.
        """
        total = Fraction(0)
        for count, layer in self.groups:
            for kept in layer.kept:
                each = count * self.stored_in(kept).bytes(kept.values)
                if type(kept.span) is Span:
                    total += each
                elif type(kept.span) is OneIn:
                    total += each / kept.span.rate.value
        return round(total)

    @property
    def is_keys_and_values(self) -> bool:
        """True if each layer keeps keys and values of one shape, and nothing else."""
        return bool(self.layers) and None not in map(_shape, self.layers)

    def __str__(self) -> str:
        """Return the formula in a line for a cache of keys and values; a summary for others."""
        shapes = {_shape(layer) for layer in self.layers}
        sliding = sum(
            any(isinstance(kept.span, Last) for kept in layer.kept) for layer in self.layers
        )
        note = f", {sliding} of them with a sliding window" if sliding else ""
        if len(shapes) > 1 or None in shapes:
            return f"{len(self.layers)} layers of different shapes x positions{note}"
        heads, dim = next(iter(shapes))
        return (
            f"2 (K and V) x {len(self.layers)} layers x {heads} KV heads x {dim} per head x "
            f"{float(self.storage.bits_per_value / 8):g} bytes x positions{note}"
        )


def _shape(layer: Layer) -> tuple[int, ...] | None:
    """Return the KV heads and head size of a layer of equal keys and values; None for others."""
    names = [kept.name for kept in layer.kept]
    factors = {tuple(factor.value for factor in kept.factors) for kept in layer.kept}
    return factors.pop() if names == ["keys", "values"] and len(factors) == 1 else None


NOTHING = "keeps nothing"


def in_symbols(layer: Layer) -> str:
    """Return the formula for the number of values in a layer: ``2 x h x d x n``."""
    return _joined(layer, lambda kept: _product(kept, [one.symbol for one in kept.factors]))


def _product(kept: Kept, factors: list[str]) -> str:
    return " x ".join([*factors, *([] if isinstance(kept.span, Once) else [kept.span.symbol])])


def in_numbers(formula: CacheFormula, layer: Layer, positions: int, layout: Layout) -> str:
    """Return the formula for the bytes of a layer, for one text, with numbers.

    For example ``2 x 8 KV heads x 128 per head x 4,096 positions x 2 B``.
    """

    def part(kept: Kept) -> str:
        factors = [f"{one.value:,} {one.words}" for one in kept.factors]
        bits = formula.stored_in(kept).bits_per_value
        stored = f"{bits // 8} B" if bits % 8 == 0 else f"{float(bits):g} bits"
        return " x ".join([*factors, *_often(kept, positions, layout), stored])

    return _joined(layer, part)


def _often(kept: Kept, positions: int, layout: Layout) -> list[str]:
    count = kept.span.count(positions, layout)
    if kept.span == ALL:
        return [f"{count:,} positions"]
    if isinstance(kept.span, Last):
        return [f"{count:,} positions (window {kept.span.window.value:,})"]
    if isinstance(kept.span, RestOf):
        return [f"{count:,} of {kept.span.rate.value:,} positions"]
    if isinstance(kept.span, OneIn):
        return [f"{count:,} entries"]
    return [] if kept.span == ONCE or count else ["0"]


def _joined(layer: Layer, part: Callable[[Kept], str]) -> str:
    """Join the parts by a plus; keys and values of one shape are written once, with a 2."""
    kept = list(layer.kept)
    words = []
    first = [(one.name, one.factors) for one in kept[:2]]
    if [name for name, _ in first] == ["keys", "values"] and first[0][1] == first[1][1]:
        words.append(f"2 x {part(kept[0])}")
        kept = kept[2:]
    words += [f"{one.name} {part(one)}" for one in kept]
    return " + ".join(words) or NOTHING
