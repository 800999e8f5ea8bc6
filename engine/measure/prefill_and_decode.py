"""Times of prefill and decode over a grid of prompt length x output length.

Every cell reads a prompt from its beginning, which gives the first token, then decodes the others
one by one. Cells take turns in rounds, the cheapest first, so that a slow spell of the machine does
not hit one cell alone. Prompts are random tokens from one seed: except in models with experts, a
pass takes the same time for any tokens.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.errors import SettingError, msg
from engine.measure.measurement import MOST_POSITIONS, Measurement
from engine.measure.pace import Pace
from engine.measure.reference import Reference, changed
from engine.measure.samples import median
from engine.model import LanguageModel
from engine.runner.turns import Clock, at_once, timed_read, timed_step
from engine.values import Amount, Row, Whole

MOST_CELLS = 400
MOST_ROUNDS = 100


@dataclass(frozen=True)
class Cell:
    """Times for one prompt length and one output length, as far as measured.

    Attributes:
        prompt: tokens of the prompt.
        output: generated tokens.
        first_ms: wait for the first token in each round, the prefill.
        later_ms: time of all later tokens in each round.
        step_p95_ms: 95th percentile over the later tokens in each round; 0 without any.
    """

    prompt: Annotated[int, Meta(ge=1, le=MOST_POSITIONS)]
    output: Annotated[int, Meta(ge=1, le=MOST_POSITIONS)]
    first_ms: Row[Amount]
    later_ms: Row[Amount]
    step_p95_ms: Row[Amount]

    @property
    def first(self) -> float:
        """Median wait for the first token, ms."""
        return median(self.first_ms)

    @property
    def per_output(self) -> float | None:
        """Median time per later token, ms; None without later tokens."""
        return median(self.later_ms) / (self.output - 1) if self.output > 1 else None

    @property
    def total(self) -> float:
        """Median time of the whole cell, ms."""
        return median([sum(pair) for pair in zip(self.first_ms, self.later_ms, strict=True)])

    @property
    def spread(self) -> float:
        """Longest total of a round / shortest."""
        totals = [sum(pair) for pair in zip(self.first_ms, self.later_ms, strict=True)]
        return max(totals) / min(totals)

    @property
    def prefill_per_second(self) -> float:
        """Prompt tokens read per second."""
        return self.prompt / self.first * 1e3

    @property
    def decode_per_second(self) -> float | None:
        """Later tokens per second; None without later tokens."""
        return None if self.per_output is None else 1e3 / self.per_output


@dataclass(frozen=True)
class PrefillAndDecode:
    """Times for a grid of lengths, as far as measured.

    Attributes:
        prompts, outputs: the requested lengths, ascending.
        cells: cells measured at least once, in the order of measuring.
        reference_ms: time of the reference product before each cell of each round.
        weight_bytes: bytes of weights that a pass reads, computed.
    """

    prompts: Row[Annotated[int, Meta(ge=1, le=MOST_POSITIONS)]]
    outputs: Row[Annotated[int, Meta(ge=1, le=MOST_POSITIONS)]]
    cells: Row[Cell]
    reference_ms: Row[Amount]
    weight_bytes: Whole

    def at(self, prompt: int, output: int) -> Cell | None:
        """Return the cell of two lengths; None if it is not measured yet."""
        found = (one for one in self.cells if (one.prompt, one.output) == (prompt, output))
        return next(found, None)

    @property
    def largest(self) -> Cell:
        """The measured cell with the most tokens, if possible with several output tokens."""
        return max(self.cells, key=lambda one: (one.output > 1, one.prompt + one.output))

    @property
    def changed_cells(self) -> list[int]:
        """Indices of the timings before which the machine's speed differed from its usual speed."""
        return changed(self.reference_ms)


class PrefillAndDecodeMeasurement(Measurement[PrefillAndDecode]):
    """Times every cell of a grid, in rounds.

    Args:
        model: the model.
        prompts, outputs: lengths in tokens.
        rounds: number of times that each cell is measured.
        clock: the clock that times passes; None for wall time.

    Raises:
        SettingError: lengths beyond the model's context, or too many cells.
    """

    noun = "cell"

    def __init__(
        self,
        model: LanguageModel,
        prompts: Sequence[int],
        outputs: Sequence[int],
        rounds: int,
        clock: Clock | None = None,
    ) -> None:
        cells = grid(model, prompts, outputs)
        cells.sort(key=lambda cell: cell[0] / 8 + cell[1])  # decoding takes most of the time
        self._plan = [cell for _ in range(rounds) for cell in cells]
        super().__init__([prompt / 8 + output + 5 for prompt, output in self._plan])
        self._model, self._clock = model, clock
        self._lengths = tuple(sorted(set(prompts))), tuple(sorted(set(outputs)))
        tokens = np.random.default_rng(0).integers(0, model.input_size, max(prompts))
        self._ids = tokens.tolist()
        self._reference = Reference(model, clock or time.perf_counter)
        self._references: list[float] = []
        self._cells: dict[tuple[int, int], Cell] = {}

    @staticmethod
    def estimated_seconds(
        model: LanguageModel,
        prompts: Sequence[int],
        outputs: Sequence[int],
        rounds: int,
        pace: Pace,
    ) -> float:
        """Estimate the duration of the measurement; raises the same errors."""
        most = at_once(model)
        seconds = sum(
            pace.read_seconds(min(prompt, most)) * max(1.0, prompt / most)
            + pace.step_seconds(output - 1)
            for prompt, output in grid(model, prompts, outputs)
        )
        return rounds * seconds

    def _measure(self, part: int) -> None:
        prompt, output = self._plan[part]
        if not part:
            timed_read(self._model, self._ids[:4])  # the first pass is slower than all others
        reference = self._reference.ms()
        read = timed_read(self._model, self._ids[:prompt], self._clock)
        logits, times = read.logits, []
        for position in range(prompt, prompt + output - 1):
            token = int(logits.argmax())
            logits, ms = timed_step(self._model, token, read.cache, position, self._clock)
            times.append(ms)
        self._references[part:] = [reference]
        before = self._cells.get((prompt, output), Cell(prompt, output, (), (), ()))
        self._cells = self._cells | {
            (prompt, output): replace(
                before,
                first_ms=(*before.first_ms, read.ms),
                later_ms=(*before.later_ms, sum(times)),
                step_p95_ms=(
                    *before.step_p95_ms,
                    float(np.percentile(times, 95)) if times else 0.0,
                ),
            )
        }

    @property
    def result(self) -> PrefillAndDecode | None:
        """The grid measured so far."""
        cells = tuple(self._cells.values())
        if not cells:
            return None
        return PrefillAndDecode(
            *self._lengths, cells, tuple(self._references), self._model.read_bytes
        )


def grid(
    model: LanguageModel, prompts: Sequence[int], outputs: Sequence[int]
) -> list[tuple[int, int]]:
    """Return all pairs of lengths; raises `SettingError` if they cannot be measured."""
    cells = [(prompt, output) for prompt in sorted(set(prompts)) for output in sorted(set(outputs))]
    if len(cells) > MOST_CELLS:
        problem, remedy = (
            msg("make too many cells"),
            msg("use at most {most_cells}", MOST_CELLS),
        )
        raise SettingError(msg("Prompt and output lengths"), len(cells), problem, remedy)
    longest = max(prompts) + max(outputs)
    most = model.context_length
    if most is not None and longest > most:
        problem = msg("together exceed the {most:,} positions of {name}", (most, model.name))
        remedy = msg("use shorter ones")
        raise SettingError(msg("The longest prompt and output"), longest, problem, remedy)
    return cells
