"""Time grows with output tokens, hardly with prompt tokens: a grid over both lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from engine.claims.experiment import Experiment, checked_range, steady
from engine.claims.grid import grid_experiment
from engine.claims.uncertainty import mean
from engine.claims.verdict import ABOVE, BELOW, Check, noted
from engine.errors import SettingError, msg
from engine.measure.prefill_and_decode import PrefillAndDecode
from engine.model import LanguageModel
from engine.values import Amount


@dataclass(frozen=True)
class OutputTime:
    """A grid of prompt and output lengths.

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
            part = f"{first:,} to {prompt:,} prompt tokens"
            costs = self._costs(first, prompt)
            shares = [of_prompt / of_output for of_prompt, of_output in costs if of_output]
            checks.append(Check("output", mean([cost for _, cost in costs]), ABOVE, 0.0, part))
            checks.append(noted("prompt", mean([cost for cost, _ in costs]), part))
            checks.append(Check("share", mean(shares), BELOW, self.hardly, part))
        return (*checks, steady(self.measured.reference_ms))

    def _costs(self, first: int, prompt: int) -> list[tuple[float, float]]:
        """Of each round: milliseconds that a further prompt token and output token add.

        Args:
            first, prompt: the prompt lengths that are looked at.
        """
        cells = [cell for cell in self.measured.cells if cell.prompt in (first, prompt)]
        if len(cells) < 2 * len(self.measured.outputs):
            return []
        lengths = np.array([(1.0, cell.prompt, cell.output) for cell in cells])
        rounds = min(len(cell.first_ms) for cell in cells)  # those that all were measured in
        times = [[cell.first_ms[n] + cell.later_ms[n] for n in range(rounds)] for cell in cells]
        found = np.linalg.lstsq(lengths, np.array(times), rcond=None)[0]  # (3, rounds)
        return list(zip(found[1].tolist(), found[2].tolist(), strict=True))


def output_time_experiment(
    model: LanguageModel,
    prompts: Sequence[int],
    outputs: Sequence[int],
    rounds: int = 6,
    hardly: float = 0.1,
) -> Experiment[OutputTime]:
    """Measures every prompt length with every output length.

    Args:
        model: what is timed.
        prompts, outputs: lengths in tokens, at least two of each.
        rounds: how often each is measured.
        hardly: see `OutputTime`.

    Raises:
        SettingError: lengths, rounds or share out of range.
    """
    for name, lengths in ((msg("Prompt tokens"), prompts), (msg("Output tokens"), outputs)):
        if len(set(lengths)) < 2:
            remedy = msg("give at least two, as in 8, 64")
            raise SettingError(name, list(lengths), "are too few", remedy)
    checked_range(msg("Hardly, below"), hardly, 0.0, 1.0)
    judged = partial(OutputTime, hardly=hardly)
    return grid_experiment(model, prompts, outputs, rounds, judged)
