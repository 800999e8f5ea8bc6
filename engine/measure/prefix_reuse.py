"""Prefix reuse: time to read a prompt whose beginning is cached, against a full prefill.

    full     the whole prompt is read into a new cache
    reused   a copy of another prompt's cache is cropped to the tokens that both share, and only the
             rest is read

If states cannot be cropped (recurrent layers, a sliding window that is full), the measurement keeps
the other text's state at the end of the shared tokens. That position has to be known in advance.
Passes are timed from the start of their turn, so the figures contain no other passes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.checks import at_least_one
from engine.decoding.prompt import encode_prompt
from engine.errors import SettingError, msg
from engine.measure.measurement import Measurement
from engine.model import LanguageModel
from engine.model import cache as caches
from engine.runner.runner import open_sequence
from engine.values import Amount, Positive, Row, Whole

MOST_REPEATS = 50


@dataclass(frozen=True)
class Reuse:
    """A prompt, read in full and with reuse.

    Attributes:
        shared: tokens at the beginning of both prompts.
        tokens: number of tokens of the whole second prompt.
        full_ms, reused_ms: time of each repeat, in milliseconds, including copying and cropping.
        full_passes, reused_passes: forward passes of one reading.
        largest_difference: largest difference between two logits of the same token after the
            prompt.
        same_top: whether both ways give the same likeliest token.
    """

    shared: Whole
    tokens: Positive
    full_ms: Row[Amount]
    reused_ms: Row[Amount]
    full_passes: Positive
    reused_passes: Positive
    largest_difference: Amount
    same_top: bool

    @property
    def full(self) -> float:
        """Median time of reading the whole prompt."""
        return float(np.median(self.full_ms))

    @property
    def reused(self) -> float:
        """Median time of reading the rest."""
        return float(np.median(self.reused_ms))


@dataclass(frozen=True)
class PrefixResult:
    """Time that reuse saves, by the length of the shared prefix.

    Attributes:
        can_crop: whether all caches could be cropped; the others were kept at the end of the shared
            tokens.
        repeats: requested readings of each kind.
        lengths: the lengths measured so far, the shortest first.
    """

    can_crop: bool
    repeats: Annotated[int, Meta(ge=1, le=MOST_REPEATS)]
    lengths: Row[Reuse]


class PrefixMeasurement(Measurement[PrefixResult]):
    """Times a prompt in full and with reuse, for several lengths of the shared beginning.

    Every repeat goes through all lengths, and reads both ways in turn, so that a slow spell of the
    machine affects all alike. A round before the first one warms up.

    Args:
        model: the model.
        beginning: token ids that both prompts begin with.
        first, second: token ids that follow the beginning in each prompt.
        lengths: numbers of shared tokens to measure, one after the other.
        repeats: number of timed readings of each.

    Raises:
        PromptError: a prompt is empty, or longer than the context.
        SettingError: a length exceeds the beginning, or repeats are out of range.
    """

    noun = "reading"

    def __init__(
        self,
        model: LanguageModel,
        beginning: Sequence[int],
        first: Sequence[int],
        second: Sequence[int],
        lengths: Sequence[int],
        repeats: int = 5,
    ) -> None:
        self._repeats = at_least_one("repeats", repeats)
        if repeats > MOST_REPEATS:
            remedy = msg("use at most {most_repeats}", MOST_REPEATS)
            raise SettingError("repeats", repeats, "are too many", remedy)
        self._model = model
        self._prompts = [
            _Prompts(model, _part(beginning, length), first, second)
            for length in sorted(set(lengths))
        ]
        costs = [float(len(prompts.second)) for prompts in self._prompts]
        super().__init__([2 * cost for cost in costs] + costs * self._repeats)
        self._can_crop = True

    def _measure(self, part: int) -> None:
        turn, place = divmod(part, len(self._prompts))
        prompts = self._prompts[place]
        if not turn:
            self._can_crop &= prompts.prepare()
        prompts.time(keeps=turn > 0)

    @property
    def result(self) -> PrefixResult | None:
        """The lengths timed at least once."""
        found = [prompts.result for prompts in self._prompts if prompts.full_ms]
        return PrefixResult(self._can_crop, self._repeats, tuple(found)) if found else None


def shared_tokens(first: Sequence[int], second: Sequence[int]) -> int:
    """Count the tokens that both begin with, but leave at least one of the second to read."""
    count = 0
    for one, other in zip(first, second[:-1], strict=False):
        if one != other:
            break
        count += 1
    return count


def _part(beginning: Sequence[int], length: int) -> list[int]:
    if not 0 <= length <= len(beginning):
        raise SettingError(
            msg("shared tokens"),
            length,
            msg(
                "are more than the {beginning:,} tokens that both prompts begin with",
                len(beginning),
            ),
            msg("use 0 to {beginning:,}, or a longer beginning", len(beginning)),
        )
    return list(beginning[:length])


class _Prompts:
    """Two prompts with a common beginning, and the times of the second."""

    def __init__(
        self,
        model: LanguageModel,
        beginning: list[int],
        first: Sequence[int],
        second: Sequence[int],
    ) -> None:
        self._model = model
        self._first = encode_prompt(model, [*beginning, *first])
        self.second = encode_prompt(model, [*beginning, *second])
        self._shared = shared_tokens(self._first, self.second)
        self._other = open_sequence(model)
        self._passes = (1, 1)
        self._difference, self._same_top = 0.0, True
        self.full_ms: list[float] = []
        self.reused_ms: list[float] = []

    def prepare(self) -> bool:
        """Read the first prompt; returns whether its cache can be cropped."""
        self._other = open_sequence(self._model)
        self._other.extend(self._first)
        if caches.can_crop(self._other.cache):
            return True
        self._other = open_sequence(self._model)
        if self._shared:
            self._other.extend(self._first[: self._shared])
        return False

    def time(self, *, keeps: bool) -> None:
        """Read the second prompt both ways; without `keeps` the times are discarded."""
        self._other.restore()  # untimed: its cache may have been evicted
        full = open_sequence(self._model).extend(self.second)
        start = time.perf_counter()
        twin = self._other.fork()
        twin.truncate(self._shared)
        ms = (time.perf_counter() - start) * 1e3
        reused = twin.extend(self.second[self._shared :])
        if keeps:
            self.full_ms.append(full.forward_ms)
            self.reused_ms.append(ms + reused.forward_ms)
        self._passes = len(full.passes), len(reused.passes)
        one, other = full.forward.logits, reused.forward.logits
        self._difference = max(self._difference, float(np.abs(one - other).max()))
        self._same_top = self._same_top and int(one.argmax()) == int(other.argmax())

    @property
    def result(self) -> Reuse:
        """The timings so far."""
        return Reuse(
            shared=self._shared,
            tokens=len(self.second),
            full_ms=tuple(self.full_ms),
            reused_ms=tuple(self.reused_ms),
            full_passes=self._passes[0],
            reused_passes=self._passes[1],
            largest_difference=self._difference,
            same_top=self._same_top,
        )
