"""Cached decoding is flat, uncached grows: time of a step against its position, both ways."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import median  # of few values, thousands of times

from engine.claims.experiment import (
    Experiment,
    JudgedMeasurement,
    checked_prompts,
    checked_range,
)
from engine.claims.uncertainty import Figure, bootstrap
from engine.claims.verdict import ABOVE, BELOW, Check
from engine.measure.with_and_without import (
    WithAndWithout,
    WithAndWithoutMeasurement,
    estimated_seconds,
)
from engine.model import LanguageModel
from engine.trace.values import Real, Record, of

A_TEXT = of(Record(WithAndWithout))


@dataclass(frozen=True)
class CachedFlat:
    """A text that was decoded both ways.

    Attributes:
        measured: time of every step.
        flat: growth below which a time counts as flat: a step's in the later half of the text over
            one's in the earlier half.
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
        """Time of a step in the later half of the text over that in the earlier half.

        Of each half it is the median of its blocks, and of each block that of its steps: one slow
        step moves neither. Blocks are what is drawn again, as steps in a row are not independent.
        """
        found = self.measured
        blocks: dict[int, list[float]] = defaultdict(list)
        for position, ms in steps:
            blocks[(position - found.prompt_tokens) // found.block].append(ms)
        middle = (len(found.cached_ms) - 1) // found.block / 2  # between the first and last block
        halves = [(n > middle, median(times)) for n, times in blocks.items() if n != middle]
        return bootstrap(halves, _rise)


def _rise(blocks: Sequence[tuple[bool, float]]) -> float:
    """The median of blocks of the later half over the others'; NaN where a half has none."""
    earlier, later = ([ms for half, ms in blocks if half is which] for which in (False, True))
    if not earlier or not later or not median(earlier):
        return math.nan
    return median(later) / median(earlier)


def cached_flat_experiment(
    model: LanguageModel, prompt: str, positions: int = 256, every: int = 4, flat: float = 1.25
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
