"""Long context costs memory: the bytes of a cache, counted over positions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from math import inf, nan

from engine.claims.experiment import Experiment, JudgedMeasurement
from engine.claims.uncertainty import COUNTED, Figure, counted
from engine.claims.verdict import ABOVE, Check, noted
from engine.measure.cache_bytes import CacheBytes, CacheBytesMeasurement, estimated_seconds
from engine.model import LanguageModel


@dataclass(frozen=True)
class LongContext:
    """A cache over positions.

    Attributes:
        measured: its tensors after each length.
    """

    measured: CacheBytes

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        points = self.measured.points
        checks = []
        for before, after in pairwise(points):
            added = after.positions - before.positions
            each = counted((after.measured - before.measured) / added, added)
            part = f"{before.positions:,} to {after.positions:,} positions"
            checks.append(Check("added", each, ABOVE, 0.0, part))
        last = points[-1]
        return (
            *checks,
            noted("all", counted(last.measured, last.positions)),
            noted("off", self._off()),
        )

    def _off(self) -> Figure:
        """Largest difference from the formula; unknown where there is none."""
        points = self.measured.points
        if not self.measured.is_known:
            return Figure(nan, -inf, inf, 0, COUNTED)
        return counted(max(abs(one.measured - one.computed) for one in points), len(points))


def long_context_experiment(
    model: LanguageModel, positions: int = 1024, batch: int = 1
) -> Experiment[LongContext]:
    """Counts the cache at lengths that double.

    Args:
        model: whose cache.
        positions: the longest text, in tokens.
        batch: texts at once.

    Raises:
        SettingError: what the model or the memory does not take.
    """
    measurement = CacheBytesMeasurement(model, positions, batch)
    seconds = partial(estimated_seconds, model, positions, batch)
    return JudgedMeasurement(measurement, LongContext, seconds)
