"""Results of the measurement of quantised caches, as plain values that a file can keep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.model.quantised import AXES, BITS, Quantisation
from engine.model.quantised.settings import LARGEST_GROUP, LONGEST_RESIDUAL
from engine.trace.values import Flag, Kind, OneOf, Real, Record, Row, Text, Whole, of

MOST_POSITIONS = 1024
MOST_POINTS = 200
_LONGEST_TOKEN = 200  # characters
_TOKENS = Row(Text(_LONGEST_TOKEN), MOST_POSITIONS)


class _Bits(Kind):
    def read(self, value, limits):
        return Whole(min(BITS), max(BITS)).read(value, limits)


@dataclass(frozen=True)
class _Setting:
    """How a cache was quantised, see `Quantisation`."""

    bits: int = of(_Bits())
    group: int = of(Whole(2, LARGEST_GROUP))
    keys: str = of(OneOf(AXES))
    values: str = of(OneOf(AXES))
    residual: int = of(Whole(0, LONGEST_RESIDUAL))

    @property
    def how(self) -> Quantisation:
        """The same as the engine takes it."""
        return Quantisation(self.bits, self.group, self.keys, self.values, self.residual)


@dataclass(frozen=True)
class Along(_Setting):
    """One quantised cache along the text.

    Attributes:
        kl_bits: at each position, KL(exact || quantised) over the whole vocabulary, in bits.
        logit_difference: at each, the largest difference between two logits of the same token.
        top: at each, the likeliest next token.
        is_changed: at each, whether that is another token than with the exact cache.
        bytes: of the cache after the last position, minima and steps included.
        parted_after: tokens that both caches wrote alike before they chose differently; None where
            they did not, or wrote nothing.
        parted_tokens: what the exact and this cache chose there; empty where they did not part.
    """

    kl_bits: tuple[float, ...] = of(Row(Real(0), MOST_POSITIONS))
    logit_difference: tuple[float, ...] = of(Row(Real(0), MOST_POSITIONS))
    top: tuple[str, ...] = of(_TOKENS)
    is_changed: tuple[bool, ...] = of(Row(Flag(), MOST_POSITIONS))
    bytes: int = of(Whole())
    parted_after: int | None = of(Whole(), optional=True)
    parted_tokens: tuple[str, ...] = of(Row(Text(_LONGEST_TOKEN), 2))


@dataclass(frozen=True)
class Point(_Setting):
    """One setting by what it saves and what it costs.

    Attributes:
        positions: over which the figures are taken: those at which something was quantised.
        mean_kl_bits, largest_kl_bits: over these positions.
        changed: at how many of them the likeliest token was another one.
        bytes: of the cache at the end.
    """

    positions: int = of(Whole())
    mean_kl_bits: float = of(Real(0))
    largest_kl_bits: float = of(Real(0))
    changed: int = of(Whole())
    bytes: int = of(Whole())

    @classmethod
    def of(cls, along: Along) -> Point:
        """The figures of a cache along a text; 0 before anything is quantised."""
        first = along.how.exact_positions
        kl = np.array(along.kl_bits[first:])
        return cls(
            *(along.bits, along.group, along.keys, along.values, along.residual),
            positions=kl.size,
            mean_kl_bits=float(kl.mean()) if kl.size else 0.0,
            largest_kl_bits=float(kl.max()) if kl.size else 0.0,
            changed=sum(along.is_changed[first:]),
            bytes=along.bytes,
        )


@dataclass(frozen=True)
class QuantisedResult:
    """A text as exact and quantised caches read it.

    Attributes:
        read: the token read at each position.
        given: how many of them were given; the exact cache wrote the others.
        is_greedy: whether it took the likeliest token each time.
        top: the likeliest next token at each position with the exact cache.
        exact_bytes: of the exact cache after the last position.
        rounding_kl_bits: at each position, KL between the exact cache in this batch and in passes
            of its own: what another order of adding changes.
        along: with each number of bits, the chosen group and axes.
        points: all settings that were compared.
    """

    read: tuple[str, ...] = of(_TOKENS)
    given: int = of(Whole())
    is_greedy: bool = of(Flag())
    top: tuple[str, ...] = of(_TOKENS)
    exact_bytes: int = of(Whole())
    rounding_kl_bits: tuple[float, ...] = of(Row(Real(0), MOST_POSITIONS))
    along: tuple[Along, ...] = of(Row(Record(Along), len(BITS)))
    points: tuple[Point, ...] = of(Row(Record(Point), MOST_POINTS))

    @property
    def is_written(self) -> bool:
        """Whether the model wrote a part of the text."""
        return self.given < len(self.read)
