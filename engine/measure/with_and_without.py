"""The same text decoded with and without a cache: latency and bytes read of every step.

Both decode greedily. With the cache, a step reads one token. Without it, a step reads the whole
text again into an empty cache, which is then discarded. That takes one pass, or several if one
would keep others waiting for long (`engine.runner.turns`). Blocks of steps with and without take
turns, so that a slow spell of the machine slows both down. If the two choose different tokens,
which rounding can cause, the difference is recorded, and both continue with the cached one's token.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.errors import ContextFullError, SettingError, msg
from engine.measure.measurement import MOST_POSITIONS, Measurement
from engine.measure.pace import Pace
from engine.measure.reference import Reference, changed
from engine.measure.samples import outliers
from engine.model import LanguageModel
from engine.model import cache as caches
from engine.model.cache_size import cache_size
from engine.runner.turns import Clock, at_once, timed_read, timed_step
from engine.values import Amount, Name, Positive, Real, Row, Text, Whole

BLOCK = 16  # steps with the cache, then without, then with again
EMPTY_STEPS = 8  # before each block
NEAR = 7  # neighbours on either side, for the comparison of a step


@dataclass(frozen=True)
class Difference:
    """The first step at which decoding with and without the cache chose different tokens.

    Attributes:
        position: number of tokens before it.
        cached, uncached: label of the token that each chose.
        margin: logit of the cached token minus that of the uncached one, both with the cache.
    """

    position: Positive
    cached: Name
    uncached: Name
    margin: Real


@dataclass(frozen=True)
class WithAndWithout:
    """The steps measured so far.

    Attributes:
        prompt_tokens: tokens of the prompt; the first step comes after them.
        text: text decoded after the prompt.
        cached_ms: time of each step with the cache; the first reads the prompt.
        cached_bytes: bytes in the cache that each such step reads, 0 for the first.
        positions: tokens read by each of the steps measured without the cache.
        uncached_ms: their times.
        passes: their forward passes.
        weight_bytes: bytes of weights that one pass reads, computed.
        difference: the first difference; None if both chose the same tokens.
        is_state: whether the model keeps a state of constant size, like Mamba.
        reference_ms: time of the reference product before each block of steps.
        empty_ms: time of a step into an empty cache before each block, the lower quartile of
            `EMPTY_STEPS`.
        block: number of steps in a block.
    """

    prompt_tokens: Positive
    text: Text
    cached_ms: Row[Amount]
    cached_bytes: Row[Whole]
    positions: Row[Positive]
    uncached_ms: Row[Amount]
    passes: Row[Positive]
    weight_bytes: Whole
    difference: Difference | None
    is_state: bool
    reference_ms: Row[Amount]
    empty_ms: Row[Amount]
    block: Positive

    @property
    def cached_positions(self) -> range:
        """Number of tokens before each step with the cache."""
        return range(self.prompt_tokens, self.prompt_tokens + len(self.cached_ms))

    @property
    def is_sampled(self) -> bool:
        """True if only some of the steps were measured without the cache."""
        return len(self.positions) < len(self.cached_ms)

    @property
    def uncached_seconds(self) -> float:
        """Time of all steps without the cache, estimated if only some are measured."""
        every = np.interp(self.cached_positions, self.positions, self.uncached_ms)
        return float(every.sum()) / 1e3 if self.is_sampled else sum(self.uncached_ms) / 1e3

    @property
    def cached_seconds(self) -> float:
        """Time of all steps with the cache, including the reading of the prompt."""
        return sum(self.cached_ms) / 1e3

    @property
    def uncached_passes(self) -> int:
        """Passes of all steps without the cache, estimated if only some are measured."""
        every = np.interp(self.cached_positions, self.positions, self.passes)
        return round(float(every.sum()))

    @property
    def cached_tokens(self) -> int:
        """Tokens that all steps with the cache read."""
        return self.prompt_tokens + len(self.cached_ms) - 1 if self.cached_ms else 0

    @property
    def uncached_tokens(self) -> int:
        """Tokens that all steps without the cache read."""
        return sum(self.cached_positions)

    @cached_property
    def cached_outliers(self) -> list[int]:
        """Indices of the steps with the cache that are outliers among their neighbours."""
        return [place + 1 for place in outliers(self.cached_ms[1:], NEAR)]

    @cached_property
    def uncached_outliers(self) -> list[int]:
        """Indices in `uncached_ms` of the steps that are outliers among their neighbours."""
        return outliers(self.uncached_ms, NEAR)

    @property
    def changed_blocks(self) -> list[int]:
        """Indices of the blocks before which the machine's speed differed from its usual speed."""
        return changed(self.reference_ms)


class WithAndWithoutMeasurement(Measurement[WithAndWithout]):
    """Decodes a text with and without the cache, and times every step.

    Args:
        model: the model.
        prompt_ids: token ids of the prompt that the text continues.
        positions: tokens of the text at the last step.
        every: interval of the steps measured without the cache; 1 measures all.
        clock: the clock that times passes; None for wall time.

    Raises:
        SettingError: the positions exceed the model's context, or do not exceed the prompt.
    """

    noun = "block"

    def __init__(
        self,
        model: LanguageModel,
        prompt_ids: Sequence[int],
        positions: int,
        every: int = 1,
        clock: Clock | None = None,
    ) -> None:
        check_positions(model, len(prompt_ids), positions)
        self._model, self._clock = model, clock
        self._prompt = list(prompt_ids)
        self._last, self._every = positions, every
        self._starts = range(len(prompt_ids), positions + 1, BLOCK)
        super().__init__([self._cost(start) for start in self._starts])
        self._reference = Reference(model, clock or time.perf_counter)
        self._ids: list[int] = []  # decoded after the prompt
        self._cache = None
        self._cached: list[tuple[float, int]] = []
        self._uncached: list[tuple[int, float, int]] = []
        self._references: list[float] = []
        self._empty: list[float] = []
        self._difference: Difference | None = None
        self._keeps_no_keys = not caches.is_attention(model.new_cache())

    @staticmethod
    def estimated_seconds(
        model: LanguageModel, prompt_tokens: int, positions: int, every: int, pace: Pace
    ) -> float:
        """Estimate the duration of the measurement; raises the same errors."""
        check_positions(model, prompt_tokens, positions)
        steps = positions - prompt_tokens + 1
        most = at_once(model)
        lengths = np.linspace(prompt_tokens, positions, min(64, steps))
        reads = [
            pace.read_seconds(min(n, most)) * max(1.0, n / most) for n in lengths.tolist()
        ]  # several passes for a longer text
        without = float(np.mean(reads)) * (1 + (steps - 1) / every)
        empty = EMPTY_STEPS * math.ceil(steps / BLOCK)
        return without + pace.step_seconds(steps + empty)

    def _cost(self, start: int) -> float:
        return sum(n + 200 for n in self._measured(start)) + (BLOCK + EMPTY_STEPS) * 100

    def _measured(self, start: int) -> list[int]:
        """Return the positions of a block that are measured without the cache."""
        first = self._prompt_tokens
        end = min(start + BLOCK, self._last + 1)
        return [n for n in range(start, end) if (n - first) % self._every == 0 or n == self._last]

    @property
    def _prompt_tokens(self) -> int:
        return len(self._prompt)

    def _measure(self, part: int) -> None:
        start = self._starts[part]
        before = start - self._prompt_tokens  # steps of the blocks before
        if len(self._cached) > before or self._cache is None:
            self._go_back(before)
        self._references[part:] = [self._reference.ms()]
        # They also bring the weights back into the processor's caches, as the previous step does in
        # plain decoding.
        self._empty[part:] = [lower_quartile([self._empty_step() for _ in range(EMPTY_STEPS)])]
        rows = {}
        for position in range(start, min(start + BLOCK, self._last + 1)):
            rows[position] = self._step(position)
        for position in self._measured(start):
            text = (self._prompt + self._ids)[:position]
            read = timed_read(self._model, text, self._clock)
            self._compare(position, rows[position], read.logits)
            self._uncached.append((position, read.ms, read.passes))

    def _empty_step(self) -> float:
        return timed_step(self._model, 0, self._model.new_cache(), 0, self._clock)[1]

    def _go_back(self, steps: int) -> None:
        """Discard the measurements of an interrupted block."""
        del self._cached[steps:], self._ids[steps:]
        first = self._prompt_tokens + steps
        self._uncached = [step for step in self._uncached if step[0] < first]
        if self._difference is not None and self._difference.position >= first:
            self._difference = None
        text = (self._prompt + self._ids)[:-1] if steps else []
        self._cache = timed_read(self._model, text).cache if text else None

    def _step(self, position: int) -> np.ndarray:
        """Run one step with the cache; returns its logits."""
        if self._cache is None:
            read = timed_read(self._model, self._prompt, self._clock)
            self._cache, logits, ms, read_bytes = read.cache, read.logits, read.ms, 0
        else:
            read_bytes = cache_size(self._cache).logical
            last, cache = self._ids[-1], self._cache
            logits, ms = timed_step(self._model, last, cache, position - 1, self._clock)
        self._cached.append((ms, read_bytes))
        self._ids.append(int(logits.argmax()))
        return logits

    def _compare(self, position: int, cached: np.ndarray, uncached: np.ndarray) -> None:
        ours, other = int(cached.argmax()), int(uncached.argmax())
        if ours == other or self._difference is not None:
            return
        texts = [self._model.vocabulary.label(token_id)[:200] for token_id in (ours, other)]
        self._difference = Difference(position, *texts, float(cached[ours] - cached[other]))

    def _text(self, token_ids: Sequence[int]) -> str:
        vocabulary = self._model.vocabulary
        spelt = b"".join(map(vocabulary.token_bytes, token_ids))
        return spelt.decode("utf-8", "replace")

    @property
    def result(self) -> WithAndWithout | None:
        """The steps measured so far."""
        if not self._uncached:
            return None
        cached, uncached = list(self._cached), list(self._uncached)
        sizes = [size for _, size in cached[1:]]
        return WithAndWithout(
            prompt_tokens=self._prompt_tokens,
            text=self._text(self._ids[: len(cached)]),
            cached_ms=tuple(ms for ms, _ in cached),
            cached_bytes=tuple(size for _, size in cached),
            positions=tuple(position for position, _, _ in uncached),
            uncached_ms=tuple(ms for _, ms, _ in uncached),
            passes=tuple(passes for _, _, passes in uncached),
            weight_bytes=self._model.read_bytes,
            difference=self._difference,
            is_state=self._keeps_no_keys and len(sizes) > 1 and sizes[0] == sizes[-1],
            reference_ms=tuple(self._references),
            empty_ms=tuple(self._empty),
            block=BLOCK,
        )


def lower_quartile(times: Sequence[float]) -> float:
    """Return the lower quartile, which other programs, as they only add time, hardly lengthen."""
    return sorted(times)[len(times) // 4]


def check_positions(model: LanguageModel, prompt_tokens: int, positions: int) -> None:
    """Raise `SettingError` or `ContextFullError` if a text of that length cannot be measured."""
    most = min(model.context_length or MOST_POSITIONS, MOST_POSITIONS)
    remedy = msg("use {prompt_tokens:,} to {most:,}", (prompt_tokens + 1, most))
    if prompt_tokens >= most:
        raise ContextFullError(
            "The prompt has {prompt_tokens:,} tokens; {name} is measured with {most:,} at most, "
            "new ones included, so use a shorter prompt.",
            (prompt_tokens, model.name, most),
        )
    if positions > most:
        raise SettingError(
            msg("Positions"), positions, msg("exceed the context of {name}", model.name), remedy
        )
    if positions <= prompt_tokens:
        problem = msg(
            "leave no step after the {prompt_tokens:,} tokens of the prompt", prompt_tokens
        )
        raise SettingError(msg("Positions"), positions, problem, remedy)
