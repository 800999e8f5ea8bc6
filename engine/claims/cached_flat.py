"""Cached decoding is flat, uncached grows: time of a step against its position, both ways."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from engine.claims.experiment import (
    Experiment,
    JudgedMeasurement,
    checked_prompts,
    checked_range,
)
from engine.claims.uncertainty import Figure, bootstrap
from engine.claims.verdict import ABOVE, BELOW, Check
from engine.measure.samples import median
from engine.measure.with_and_without import (
    WithAndWithout,
    WithAndWithoutMeasurement,
    estimated_seconds,
)
from engine.model import LanguageModel
from engine.trace.values import Real, Record, of

A_TEXT = of(Record(WithAndWithout))
Point = tuple[float, float]  # position and milliseconds


@dataclass(frozen=True)
class CachedFlat:
    """A text that was decoded both ways.

    Attributes:
        measured: time of every step.
        flat: growth below which a time counts as flat: the last step's over the first one's.
    """

    measured: WithAndWithout = A_TEXT
    flat: float = of(Real(1))

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        return (
            Check("cached", self.cached, BELOW, self.flat),
            Check("uncached", self.uncached, ABOVE, self.flat),
        )

    @property
    def cached(self) -> Figure:
        """Growth with the cache; the first step is left out, as it reads the prompt."""
        found = self.measured
        return self._growth(zip(found.cached_positions[1:], found.cached_ms[1:], strict=True))

    @property
    def uncached(self) -> Figure:
        """Growth without the cache."""
        return self._growth(zip(self.measured.positions, self.measured.uncached_ms, strict=True))

    def _growth(self, steps: Iterable[tuple[int, float]]) -> Figure:
        """Time at the last position over that at the first, on a straight line.

        The line goes through the medians of the blocks, which are what is drawn again: steps that
        follow each other are not independent.
        """
        blocks: dict[int, list[Point]] = defaultdict(list)
        for position, ms in steps:
            blocks[(position - self.measured.prompt_tokens) // self.measured.block].append(
                (float(position), ms)
            )
        middles = [
            (median([position for position, _ in block]), median([ms for _, ms in block]))
            for block in blocks.values()
        ]
        first, last = self.measured.cached_positions[0], self.measured.cached_positions[-1]
        return bootstrap(middles, partial(_rise, first, last))


def _rise(first: int, last: int, points: Sequence[Point]) -> float:
    """The line through some points at `last` over that at `first`; NaN where there is none."""
    positions, times = np.array(points).T
    centre, level = positions.mean(), times.mean()
    spread = ((positions - centre) ** 2).sum()
    if not spread:
        return math.nan
    slope = ((positions - centre) * (times - level)).sum() / spread
    start, end = level + slope * (first - centre), level + slope * (last - centre)
    return float(end / start) if start > 0 else math.nan


def cached_flat_experiment(
    model: LanguageModel, prompt: str, positions: int = 256, every: int = 4, flat: float = 1.5
) -> Experiment[CachedFlat]:
    """Decodes a text with the cache and without.

    Args:
        model: what is timed.
        prompt: what the text goes on from.
        positions: tokens of the text at its last step.
        every: without the cache, every so many steps are measured.
        flat: see `CachedFlat`.

    Raises:
        PromptError, SettingError: prompt, positions or growth out of range.
    """
    checked_prompts(model, [prompt], 1)
    checked_range("Without the cache, every", every, 1, math.inf)
    checked_range("Flat, below", flat, 1.0, 100.0)
    ids = model.vocabulary.encode(prompt)
    measurement = WithAndWithoutMeasurement(model, ids, positions, every)
    seconds = partial(estimated_seconds, model, len(ids), positions, every)
    return JudgedMeasurement(measurement, partial(CachedFlat, flat=flat), seconds)
