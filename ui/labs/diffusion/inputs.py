"""What a person chooses on the diffusion page."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.decoding.diffusion import (
    DiffusionModel,
    DiffusionSettings,
    block_lengths,
    continuation,
    fill_gaps,
    step_counts,
)
from engine.errors import SettingError
from ui.labs.inputs import Inputs
from ui.words.language import marked, say

GAPS, AFTER = "gaps", "after"  # where the masks are
WHERE = {GAPS: marked("In the gaps marked [n]"), AFTER: marked("After the prompt")}


@dataclass(frozen=True)
class DiffusionInputs(Inputs):
    """A canvas and how it is filled; 0 stands for None in steps and block length.

    Attributes:
        where: ``gaps`` for masks at every ``[n]`` of the prompt, ``after`` for masks behind it.
        masks: how many, where they stand behind it.
        steps, remasking, temperature, eta, block_length, seed: see `DiffusionSettings`.
        folder: of a masked diffusion model; empty for the bundled one.
    """

    prompt: str = "Once upon a time, there was a[16]. She was very happy.[12]"
    where: str = GAPS
    masks: int = 24
    steps: int = 14
    remasking: str = "low_confidence"
    temperature: float = 1.0
    eta: float = 1.0
    block_length: int = 0
    seed: int = 19
    folder: str = ""

    def canvas(self, model: DiffusionModel) -> tuple[int, ...]:
        """The token ids with masks; raises what `fill_gaps` and `continuation` raise."""
        if self.where == GAPS:
            return fill_gaps(model, self.prompt)
        if self.where == AFTER:
            return continuation(model, self.prompt, self.masks)
        raise SettingError("where", self.where, say("is not known"), f"use {GAPS} or {AFTER}")

    def settings(self) -> DiffusionSettings:
        """How the masks are filled; raises what `DiffusionSettings` raises."""
        return DiffusionSettings(
            self.steps or None,
            self.temperature,
            self.remasking,
            self.seed,
            self.block_length or None,
            self.eta,
        )

    def fitted(self, masks: int) -> DiffusionInputs:
        """The same with steps and block length that fit so many masks; itself where they do."""
        block = self.block_length if self.block_length in block_lengths(masks) else 0
        fitting = step_counts(masks, block or None)
        steps = self.steps
        if steps and steps not in fitting:
            steps = max([count for count in fitting if count <= steps], default=fitting.start)
        return replace(self, steps=steps, block_length=block)
