"""Speed of a model's passes on this machine, measured in about a second, for estimates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.measure.measurement import Measurement
from engine.model import LanguageModel
from engine.runner.turns import at_once, timed_read, timed_step

LENGTHS = (4, 16, 64, 256)
ENOUGH_SECONDS = 0.5  # a length that would take longer is only estimated
READS, STEPS = 2, 8  # the fastest counts: the machine's other work slows the rest


@dataclass(frozen=True)
class Pace:
    """Timed passes, from which everything else is estimated.

    Attributes:
        tokens: lengths of the texts read from the beginning, ascending.
        ms: time of each, in milliseconds.
        step_ms: time of one more token after the longest text.
    """

    tokens: tuple[int, ...]
    ms: tuple[float, ...]
    step_ms: float

    def read_seconds(self, tokens: float) -> float:
        """Estimate the time of a prefill; extrapolates beyond the longest timed length."""
        if tokens <= self.tokens[-1]:
            return float(np.interp(tokens, self.tokens, self.ms)) / 1e3
        growth = self.ms[-1] / self.tokens[-1]
        if len(self.tokens) > 1:
            grown = (self.ms[-1] - self.ms[-2]) / (self.tokens[-1] - self.tokens[-2])
            growth = min(growth, max(0.0, grown))
        return (self.ms[-1] + growth * (tokens - self.tokens[-1])) / 1e3

    def step_seconds(self, steps: float) -> float:
        """Estimate the time of `steps` decode steps with the cache."""
        return self.step_ms * steps / 1e3


class PaceMeasurement(Measurement[Pace]):
    """Times a few passes of a model.

    Args:
        model: the model to time.
    """

    noun = "pass"

    def __init__(self, model: LanguageModel) -> None:
        longest = model.context_length or LENGTHS[-1] + STEPS
        self._lengths = [tokens for tokens in LENGTHS if tokens + STEPS <= longest] or [1]
        super().__init__(self._lengths)
        self._model = model
        self._times: dict[int, float] = {}
        self._step_ms = 0.0

    def _measure(self, part: int) -> None:
        tokens, model = self._lengths[part], self._model
        if self._times:
            last = max(self._times)
            too_long = self._times[last] * tokens / last > ENOUGH_SECONDS * 1e3
            if too_long or tokens > at_once(model):
                return
        reads = [timed_read(model, [0] * tokens) for _ in range(READS)]
        cache = reads[-1].cache
        steps = [timed_step(model, 0, cache, tokens + n)[1] for n in range(STEPS)]
        self._times[tokens], self._step_ms = min(read.ms for read in reads), min(steps)

    @property
    def result(self) -> Pace | None:
        """The passes timed so far; None before the first."""
        if not self._times:
            return None
        times = sorted(self._times.items())
        return Pace(tuple(n for n, _ in times), tuple(ms for _, ms in times), self._step_ms)
