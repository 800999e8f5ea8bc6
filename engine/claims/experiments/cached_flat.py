"""Cached decoding is flat, uncached decoding grows: processor time of a step by its position."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import fmean, median  # faster than NumPy for few values

from engine.claims.claim import Claim, Table
from engine.claims.experiment import Experiment, checked_prompts, judged_measurement, steady
from engine.claims.inputs import Line, Real, Whole
from engine.claims.uncertainty import Figure, bootstrap
from engine.claims.verdict import ABOVE, BELOW, Check
from engine.errors import msg
from engine.measure.measurement import MOST_POSITIONS
from engine.measure.with_and_without import (
    WithAndWithout,
    WithAndWithoutMeasurement,
    lower_quartile,
)
from engine.model import LanguageModel
from engine.runner.turns import processor_clock
from engine.values import Real as Finite


@dataclass(frozen=True)
class CachedFlat:
    """A text decoded with and without the cache.

    Attributes:
        measured: time of every step.
        flat: growth below which a time counts as flat. Growth is a step's time in the later half of
            the text over that of a step half a text earlier.
    """

    measured: WithAndWithout
    flat: Finite

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        return (
            Check("cached", self.cached, BELOW, self.flat),
            Check("uncached", self.uncached, ABOVE, self.flat),
            steady(self.measured.reference_ms),
        )

    @property
    def cached(self) -> Figure:
        """Growth with the cache; the first step is left out, because it reads the prompt."""
        found = self.measured
        return self._growth(zip(found.cached_positions[1:], found.cached_ms[1:], strict=True))

    @property
    def uncached(self) -> Figure:
        """Growth without the cache."""
        return self._growth(zip(self.measured.positions, self.measured.uncached_ms, strict=True))

    def _growth(self, steps: Iterable[tuple[int, float]]) -> Figure:
        """Compute the time of a block in the later half over that of a block half a text earlier.

        A block's time is the lower quartile of its steps. It is divided by the time of a step into
        an empty cache just before and after it, so a slow spell of the machine cancels out. The
        figure is the median over the pairs of blocks, which the bootstrap resamples.
        """
        found = self.measured
        steps_of: dict[int, list[float]] = defaultdict(list)
        for position, ms in steps:
            steps_of[(position - found.prompt_tokens) // found.block].append(ms)
        blocks = {}
        for n, times in steps_of.items():
            around = found.empty_ms[n : n + 2]
            time = lower_quartile(times)
            if sum(around) and time:
                blocks[n] = time / fmean(around)
        half = ((len(found.cached_ms) - 1) // found.block + 1) // 2
        rises = [blocks[n + half] / blocks[n] for n in range(half) if {n, n + half} <= set(blocks)]
        return bootstrap(rises, lambda drawn: median(drawn) if drawn else math.nan)


def cached_flat(
    model: LanguageModel, prompt: str, positions: int, every: int, flat: float
) -> Experiment[CachedFlat]:
    """Decode a text with the cache, and one step in `every` without it too."""
    checked_prompts(model, [prompt], 1)
    ids = model.vocabulary.encode(prompt)
    clock = processor_clock(model)
    measurement = WithAndWithoutMeasurement(model, ids, positions, every, clock)
    seconds = partial(
        WithAndWithoutMeasurement.estimated_seconds, model, len(ids), positions, every
    )
    return judged_measurement(measurement, partial(CachedFlat, flat=flat), seconds)


def _steps(result: CachedFlat) -> list[tuple[int, float, float | None]]:
    found = result.measured
    without = dict(zip(found.positions, found.uncached_ms, strict=True))
    steps = zip(found.cached_positions, found.cached_ms, strict=True)
    return [(position, ms, without.get(position)) for position, ms in steps]


EVERY = Whole(
    "every",
    msg("Uncached: every n-th step"),
    4,
    msg("1 measures every step without the cache, 4 one in four."),
    low=1,
    high=10_000,
)
FLAT = Real(
    "flat",
    msg("Flat below"),
    1.25,
    msg(
        "Times are flat if steps of the later half take less than this multiple of the "
        "earlier half's."
    ),
    low=1.0,
    high=100.0,
)
CLAIM = Claim(
    "cached_flat",
    CachedFlat,
    (
        Line("prompt", msg("Prompt"), "Once upon a time, there was a little"),
        Whole("positions", msg("Positions"), 256, low=2, high=MOST_POSITIONS),
        EVERY,
        FLAT,
    ),
    cached_flat,
    Table(
        msg("Steps"),
        _steps,
        {
            msg("position"): lambda position, ms, without: position,
            msg("with the cache, ms"): lambda position, ms, without: ms,
            msg("without, ms"): lambda position, ms, without: without,
        },
    ),
)
