"""Long context costs memory: the bytes of a cache, counted over positions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from math import inf, nan

from engine.claims.claim import Claim, Table
from engine.claims.experiment import Experiment, judged_measurement
from engine.claims.inputs import Whole
from engine.claims.uncertainty import COUNTED, Figure, counted
from engine.claims.verdict import ABOVE, Check, noted
from engine.errors import msg
from engine.measure.cache_bytes import (
    MOST_BATCH,
    CacheBytes,
    CacheBytesMeasurement,
)
from engine.measure.measurement import MOST_POSITIONS
from engine.model import LanguageModel


@dataclass(frozen=True)
class LongContext:
    """Measured bytes of a cache as the text grows.

    Attributes:
        measured: bytes of its tensors at each length.
    """

    measured: CacheBytes

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        points = self.measured.points
        checks = []
        for before, after in pairwise(points):
            added = after.positions - before.positions
            each = counted((after.measured - before.measured) / added, added)
            ends = f"{before.positions:,}", f"{after.positions:,}"
            part = msg("{low} to {high} positions", ends)
            checks.append(Check("added", each, ABOVE, 0.0, part))
        last = points[-1]
        return (
            *checks,
            noted("all", counted(last.measured, last.positions)),
            noted("off", self._off()),
        )

    def _off(self) -> Figure:
        """Return the largest difference from the formula; NaN if there is no formula."""
        points = self.measured.points
        if not self.measured.is_known:
            return Figure(nan, -inf, inf, 0, COUNTED)
        return counted(max(abs(one.measured - one.computed) for one in points), len(points))


def long_context(model: LanguageModel, positions: int, batch: int) -> Experiment[LongContext]:
    """Count the bytes of a batch's cache at lengths that double up to `positions`."""
    measurement = CacheBytesMeasurement(model, positions, batch)
    seconds = partial(CacheBytesMeasurement.estimated_seconds, model, positions, batch)
    return judged_measurement(measurement, LongContext, seconds)


CLAIM = Claim(
    "long_context",
    LongContext,
    (
        Whole("positions", msg("Positions"), 1024, low=2, high=MOST_POSITIONS),
        Whole("batch", msg("Batch"), 1, msg("Texts at once."), low=1, high=MOST_BATCH),
    ),
    long_context,
    Table(
        msg("Lengths"),
        lambda result: [(one, result.measured.is_known) for one in result.measured.points],
        {
            msg("positions"): lambda one, is_known: one.positions,
            msg("bytes, counted"): lambda one, is_known: one.measured,
            msg("bytes by the formula"): lambda one, is_known: one.computed if is_known else None,
        },
    ),
)
