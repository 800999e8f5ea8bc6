"""Time grows with output tokens, hardly with prompt tokens: a grid over both lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from engine.claims.claim import Claim, Table
from engine.claims.experiment import Experiment, steady
from engine.claims.grid import grid_experiment, prompt_lengths, rounds
from engine.claims.inputs import Real, Wholes
from engine.claims.uncertainty import mean
from engine.claims.verdict import ABOVE, BELOW, Check, noted
from engine.errors import msg
from engine.measure.measurement import MOST_POSITIONS
from engine.measure.prefill_and_decode import PrefillAndDecode
from engine.model import LanguageModel
from engine.values import Amount


@dataclass(frozen=True)
class OutputTime:
    """Times for a grid of prompt and output lengths.

    Attributes:
        measured: the grid.
        hardly: a prompt token hardly adds time below this share of an output token's.
    """

    measured: PrefillAndDecode
    hardly: Amount

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        first, *others = self.measured.prompts
        checks = []
        for prompt in others:
            part = msg("{low} to {high} prompt tokens", (f"{first:,}", f"{prompt:,}"))
            costs = self._costs(first, prompt)
            shares = [of_prompt / of_output for of_prompt, of_output in costs if of_output]
            checks.append(Check("output", mean([cost for _, cost in costs]), ABOVE, 0.0, part))
            checks.append(noted("prompt", mean([cost for cost, _ in costs]), part))
            checks.append(Check("share", mean(shares), BELOW, self.hardly, part))
        return (*checks, steady(self.measured.reference_ms))

    def _costs(self, first: int, prompt: int) -> list[tuple[float, float]]:
        """Return, for each round, the milliseconds that one more prompt token and output token add.

        Args:
            first, prompt: the prompt lengths to compare.
        """
        cells = [cell for cell in self.measured.cells if cell.prompt in (first, prompt)]
        if len(cells) < 2 * len(self.measured.outputs):
            return []
        lengths = np.array([(1.0, cell.prompt, cell.output) for cell in cells])
        rounds = min(len(cell.first_ms) for cell in cells)  # rounds in which all were measured
        times = [[cell.first_ms[n] + cell.later_ms[n] for n in range(rounds)] for cell in cells]
        found = np.linalg.lstsq(lengths, np.array(times), rcond=None)[0]  # (3, rounds)
        return list(zip(found[1].tolist(), found[2].tolist(), strict=True))


def output_time(
    model: LanguageModel, prompts: Sequence[int], outputs: Sequence[int], rounds: int, hardly: float
) -> Experiment[OutputTime]:
    """Time every combination of prompt and output length; for `hardly`, see `OutputTime`."""
    return grid_experiment(model, prompts, outputs, rounds, partial(OutputTime, hardly=hardly))


OUTPUTS = Wholes(
    *("outputs", msg("Output tokens"), "4, 16, 32"), low=2, high=MOST_POSITIONS, least=2
)
HARDLY = Real(
    "hardly",
    msg("Threshold for “hardly”"),
    0.1,
    msg("Below this share of an output token's time, a prompt token hardly adds any."),
    low=0.0,
    high=1.0,
    step=0.05,
)
CLAIM = Claim(
    "output_time",
    OutputTime,
    (prompt_lengths("8, 64, 256", least=2), OUTPUTS, rounds(5), HARDLY),
    output_time,
    Table(
        msg("Cells"),
        lambda result: result.measured.cells,
        {
            msg("prompt tokens"): lambda cell: cell.prompt,
            msg("output tokens"): lambda cell: cell.output,
            msg("first token, ms"): lambda cell: cell.first,
            msg("in all, ms"): lambda cell: cell.total,
            msg("rounds"): lambda cell: len(cell.first_ms),
        },
    ),
)
