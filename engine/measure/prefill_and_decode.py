"""Prefill against decode, over prompt length x output length.

Every cell reads a prompt from its beginning, which gives the first token, then decodes the others
one by one. Cells take turns in rounds, the cheapest first, so that whatever slows the machine down
for a while does not fall upon one cell alone. Prompts are random tokens of one seed: how long a
pass takes does not depend on which tokens it reads, but in models with experts.
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
    """A prompt length and an output length, as far as they are measured.

    Attributes:
        prompt: tokens of the prompt.
        output: tokens generated.
        first_ms: wait for the first token in each round: the prefill.
        later_ms: time of all later tokens in each round.
        step_p95_ms: of the later tokens, by token, in each round; 0 without any.
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
        """Median time per later token, ms; None where there is none."""
        return median(self.later_ms) / (self.output - 1) if self.output > 1 else None

    @property
    def total(self) -> float:
        """Median time of all of it, ms."""
        return median([sum(pair) for pair in zip(self.first_ms, self.later_ms, strict=True)])

    @property
    def spread(self) -> float:
        """Longest over shortest total of the rounds."""
        totals = [sum(pair) for pair in zip(self.first_ms, self.later_ms, strict=True)]
        return max(totals) / min(totals)

    @property
    def prefill_per_second(self) -> float:
        """Prompt tokens read a second."""
        return self.prompt / self.first * 1e3

    @property
    def decode_per_second(self) -> float | None:
        """Later tokens a second; None where there is none."""
        return None if self.per_output is None else 1e3 / self.per_output


@dataclass(frozen=True)
class PrefillAndDecode:
    """The grid, as far as it is measured.

    Attributes:
        prompts, outputs: the lengths that were asked for, ascending.
        cells: those that are measured at least once, in the order of measuring.
        reference_ms: the reference product before each cell of each round.
        weight_bytes: bytes of weights that a pass reads, computed.
    """

    prompts: Row[Annotated[int, Meta(ge=1, le=MOST_POSITIONS)]]
    outputs: Row[Annotated[int, Meta(ge=1, le=MOST_POSITIONS)]]
    cells: Row[Cell]
    reference_ms: Row[Amount]
    weight_bytes: Whole

    def at(self, prompt: int, output: int) -> Cell | None:
        """A cell; None where it is not measured yet."""
        found = (one for one in self.cells if (one.prompt, one.output) == (prompt, output))
        return next(found, None)

    @property
    def largest(self) -> Cell:
        """The measured cell with the most tokens that has more than one output token, if any."""
        return max(self.cells, key=lambda one: (one.output > 1, one.prompt + one.output))

    @property
    def changed_cells(self) -> list[int]:
        """Cells before which the machine ran at another speed than before most."""
        return changed(self.reference_ms)


class PrefillAndDecodeMeasurement(Measurement[PrefillAndDecode]):
    """Measures a grid.

    Args:
        model: the model.
        prompts, outputs: lengths in tokens.
        rounds: how often each cell is measured.
        clock: what passes are timed by; None for wall time.

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
        """An estimate of how long a grid takes; raises as the measurement does."""
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
        """The grid so far."""
        cells = tuple(self._cells.values())
        if not cells:
            return None
        return PrefillAndDecode(
            *self._lengths, cells, tuple(self._references), self._model.read_bytes
        )


def grid(
    model: LanguageModel, prompts: Sequence[int], outputs: Sequence[int]
) -> list[tuple[int, int]]:
    """All (prompt length, output length); raises `SettingError` for what cannot be measured."""
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
        problem = msg("together go beyond the {most:,} positions of {name}", (most, model.name))
        remedy = msg("use shorter ones")
        raise SettingError(msg("The longest prompt and output"), longest, problem, remedy)
    return cells
