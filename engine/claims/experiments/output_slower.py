"""Output is slower than input: tokens per second in prefill and in decoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from engine.claims.claim import Claim, Table
from engine.claims.experiment import Experiment, steady
from engine.claims.grid import grid_experiment, prompt_lengths, rounds
from engine.claims.inputs import Whole
from engine.claims.uncertainty import mean
from engine.claims.verdict import ABOVE, Check, noted
from engine.errors import msg
from engine.measure.measurement import MOST_POSITIONS
from engine.measure.prefill_and_decode import Cell, PrefillAndDecode
from engine.model import LanguageModel


@dataclass(frozen=True)
class OutputSlower:
    """Times for prompts of several lengths, with the same number of tokens written after each.

    Attributes:
        measured: the grid, with one output length.
    """

    measured: PrefillAndDecode

    @property
    def cells(self) -> list[Cell]:
        """The cells, shortest prompt first."""
        return sorted(self.measured.cells, key=lambda cell: cell.prompt)

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        checks = []
        for cell in self.cells:
            part = msg("{count} prompt tokens", f"{cell.prompt:,}")
            rates = _rates(cell)
            slower = mean([read / written for read, written in rates])
            checks.append(Check("slower", slower, ABOVE, 1.0, part))
            checks.append(noted("prefill", mean([read for read, _ in rates]), part))
            checks.append(noted("decode", mean([written for _, written in rates]), part))
        return (*checks, steady(self.measured.reference_ms))


def _rates(cell: Cell) -> list[tuple[float, float]]:
    """Return, for each round, prompt tokens read and later tokens written per second."""
    return [
        (1e3 * cell.prompt / first, 1e3 * (cell.output - 1) / later)
        for first, later in zip(cell.first_ms, cell.later_ms, strict=True)
        if first and later and cell.output > 1
    ]


def output_slower(
    model: LanguageModel, prompts: Sequence[int], output: int, rounds: int
) -> Experiment[OutputSlower]:
    """Read prompts of several lengths, and write `output` tokens after each."""
    return grid_experiment(model, prompts, [output], rounds, OutputSlower)


CLAIM = Claim(
    "output_slower",
    OutputSlower,
    (
        prompt_lengths("8, 32, 128, 256"),
        Whole("output", msg("Output tokens"), 24, low=2, high=MOST_POSITIONS),
        rounds(6),
    ),
    output_slower,
    Table(
        msg("Times"),
        lambda result: [(cell, n) for cell in result.cells for n in range(len(cell.first_ms))],
        {
            msg("prompt tokens"): lambda cell, n: cell.prompt,
            msg("output tokens"): lambda cell, n: cell.output,
            msg("round"): lambda cell, n: n + 1,
            msg("first token, ms"): lambda cell, n: cell.first_ms[n],
            msg("later tokens, ms"): lambda cell, n: cell.later_ms[n],
        },
    ),
)
