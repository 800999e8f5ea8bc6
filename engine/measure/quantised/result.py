"""Results of the measurement of quantised caches, as plain values that a file can keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from engine.model.quantised import AXES, BITS, Quantisation
from engine.model.quantised.settings import LARGEST_GROUP, LONGEST_RESIDUAL
from engine.values import Amount, Name, Row, Whole

Axis = Literal[tuple(map(str, AXES))]
MOST_COMPARED = 1024


@dataclass(frozen=True)
class _Setting:
    """Quantisation of a cache, see `Quantisation`."""

    bits: Annotated[int, Meta(ge=min(BITS), le=max(BITS))]
    group: Annotated[int, Meta(ge=2, le=LARGEST_GROUP)]
    keys: Axis
    values: Axis
    residual: Annotated[int, Meta(ge=0, le=LONGEST_RESIDUAL)]

    @property
    def how(self) -> Quantisation:
        """This setting as a `Quantisation`."""
        return Quantisation(self.bits, self.group, self.keys, self.values, self.residual)


@dataclass(frozen=True)
class Along(_Setting):
    """Figures of one quantised cache, position by position.

    Attributes:
        kl_bits: at each position, KL(exact || quantised) over the whole vocabulary, in bits.
        logit_difference: at each position, the largest difference between two logits of one token.
        top: at each position, the likeliest next token.
        is_changed: at each position, whether that token differs from the exact cache's.
        bytes: bytes of the cache after the last position, minima and steps included.
        parted_after: number of tokens written alike before the two caches chose differently; None
            if they never did, or wrote nothing.
        parted_tokens: the exact cache's and this cache's choice there; empty if they did not part.
    """

    kl_bits: Row[Amount]
    logit_difference: Row[Amount]
    top: Row[Name]
    is_changed: Row[bool]
    bytes: Whole
    parted_after: Whole | None
    parted_tokens: Row[Name]


@dataclass(frozen=True)
class QuantisedPoint(_Setting):
    """One setting: its savings and its costs.

    Attributes:
        positions: positions behind the figures, those at which something was quantised.
        mean_kl_bits, largest_kl_bits: mean and maximum over these positions.
        changed: number of these positions with a different likeliest token.
        bytes: bytes of the cache at the end.
    """

    positions: Whole
    mean_kl_bits: Amount
    largest_kl_bits: Amount
    changed: Whole
    bytes: Whole

    @classmethod
    def of(cls, along: Along) -> QuantisedPoint:
        """Summarise a cache's figures over a text; they are 0 before anything is quantised."""
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
    """Comparison of the exact cache with quantised caches on one text.

    Attributes:
        read: the token read at each position.
        given: number of given tokens; the exact cache wrote the others.
        is_greedy: whether the exact cache took the likeliest token each time.
        top: the likeliest next token at each position with the exact cache.
        exact_bytes: bytes of the exact cache after the last position.
        rounding_kl_bits: at each position, KL between the exact cache in this batch and in separate
            passes: the effect of summing in a different order.
        along: the chosen group and axes, with each number of bits.
        points: all compared settings.
    """

    read: Row[Name]
    given: Whole
    is_greedy: bool
    top: Row[Name]
    exact_bytes: Whole
    rounding_kl_bits: Row[Amount]
    along: Row[Along]
    points: Row[QuantisedPoint]

    @property
    def is_written(self) -> bool:
        """True if the model wrote part of the text."""
        return self.given < len(self.read)
