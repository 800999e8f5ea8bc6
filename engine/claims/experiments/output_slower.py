"""Output is slower than input: tokens a second in the prefill and in decoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from engine.claims.experiment import Experiment, steady
from engine.claims.grid import grid_experiment
from engine.claims.uncertainty import Figure, mean
from engine.claims.verdict import ABOVE, Check, noted
from engine.measure.prefill_and_decode import Cell, PrefillAndDecode
from engine.model import LanguageModel


@dataclass(frozen=True)
class OutputSlower:
    """Prompts of some lengths, and the same number of tokens written after each.

    Attributes:
        measured: the grid, with one output length.
    """

    measured: PrefillAndDecode

    @property
    def cells(self) -> list[Cell]:
        """The cells, the shortest prompt first."""
        return sorted(self.measured.cells, key=lambda cell: cell.prompt)

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        checks = []
        for cell in self.cells:
            part = f"{cell.prompt:,} prompt tokens"
            slower = [read / written for read, written in _rates(cell)]
            checks.append(Check("slower", mean(slower), ABOVE, 1.0, part))
            checks.append(noted("prefill", prefill(cell), part))
            checks.append(noted("decode", decode(cell), part))
        return (*checks, steady(self.measured.reference_ms))


def prefill(cell: Cell) -> Figure:
    """Prompt tokens read a second."""
    return mean([read for read, _ in _rates(cell)])


def decode(cell: Cell) -> Figure:
    """Tokens after the first one written a second."""
    return mean([written for _, written in _rates(cell)])


def _rates(cell: Cell) -> list[tuple[float, float]]:
    """Of each round: prompt tokens read and later tokens written, a second."""
    return [
        (1e3 * cell.prompt / first, 1e3 * (cell.output - 1) / later)
        for first, later in zip(cell.first_ms, cell.later_ms, strict=True)
        if first and later and cell.output > 1
    ]


def output_slower_experiment(
    model: LanguageModel, prompts: Sequence[int], output: int = 24, rounds: int = 6
) -> Experiment[OutputSlower]:
    """Reads prompts of some lengths, and writes so many tokens after each.

    Args:
        model: what is timed.
        prompts: lengths in tokens.
        output: tokens written, at least two.
        rounds: how often each is measured.

    Raises:
        SettingError: lengths or rounds out of range.
    """
    return grid_experiment(model, prompts, [output], rounds, OutputSlower)
