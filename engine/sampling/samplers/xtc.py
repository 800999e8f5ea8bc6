"""XTC: sometimes exclude all likely tokens except the least likely of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from engine.errors import msg
from engine.sampling.samplers.base import Context, CutStage
from engine.sampling.samplers.info import DOWN, UP, Info, Number, Paper
from engine.sampling.survivors import Survivors

_XTC_ACTS = "XTC is active: its random number {u:u} is below its probability {probability:number}. "


@dataclass(frozen=True)
class Xtc(CutStage):
    """Remove the top choices now and then: all likely tokens except the least likely one.

    It acts with the given probability: if the step's own uniform number u is below it. Then every
    token of at least `threshold` is removed except the last in rank order. Among equals, the
    highest id counts as the last. "Exclude top choices" by p-e-w (text-generation-webui, pull
    request 6335). Usual values: threshold 0.1, probability 0.5.

    The remaining tokens begin at a rank below the first, which removes clichés without letting
    nonsense in. If fewer than two tokens reach the threshold, nothing happens, so at least one
    always stays. Above a threshold of 0.5 no two tokens can, and it has no effect. transformers has
    no such rule.

    As in that program, it also does nothing if the end of the text or a line break would be
    removed, since a text without its end runs on. llama.cpp removes those two as well.

    Figures: ``u``, the step's own number. Cases: ``rests`` if u is not below the probability;
    ``few`` if fewer than two tokens reach the threshold; ``spares`` if the end or a line break
    would be removed; ``acts``.

    Attributes:
        threshold: minimum probability of a top choice, above 0 and at most 1.
        probability: how often it acts, 0 to 1; 0 has no effect.
    """

    threshold: float = 0.1
    probability: float = 0.5
    setting: ClassVar[str] = "xtc"
    stream: ClassVar[int] = 1
    keeps_the_best: ClassVar[bool] = False

    info: ClassVar[Info] = Info(
        label="XTC",
        in_text="XTC",
        group="truncation",
        about="Sometimes removes the top choices: all that reach the threshold except the last.",
        formula="with this probability: remove p[i] ≥ threshold except the least likely of them, "
        "unless the end of the text or a line break would go",
        idle="the top tokens stay",
        picture="window",
        says={
            "rests": "XTC is inactive: its random number {u:u} is not below its probability "
            "{probability:number}.",
            "few": _XTC_ACTS + "Fewer than two tokens reach {threshold:share}, so it removes none.",
            "spares": _XTC_ACTS
            + "It would remove the end of the text or a line break, so it removes none.",
            "acts": _XTC_ACTS + "Of all tokens that reach {threshold:share} it removes the top "
            "{removed:count}, with {mass_removed:percent} of the probability.",
        },
        note={
            "rests": "inactive: its own u {u:u} ≥ {probability:number}",
            "few": "fewer than two top choices: its own u {u:u} < {probability:number}",
            "spares": "spares end or line break: its own u {u:u} < {probability:number}",
            "acts": "active: its own u {u:u} < {probability:number}",
        },
        paper=Paper(
            "XTC (p-e-w 2024)", "https://github.com/oobabooga/text-generation-webui/pull/6335"
        ),
        numbers=(
            Number(
                "threshold",
                "Threshold",
                slider=(0.01, 0.5, 0.01),
                usual=0.1,
                remedy=msg("0.1 is usual, above 0.5 has no effect"),
                least=0,
                most=1,
                open_below=True,
                looser=UP,
            ),
            Number(
                "probability",
                "Probability",
                slider=(0, 1, 0.01),
                usual=0.5,
                remedy=msg("0.5 is usual, 0 has no effect"),
                least=0,
                most=1,
                looser=DOWN,
            ),
        ),
    )

    def no_effect(self) -> str | None:
        if self.probability == 0:
            return msg("its probability is 0")
        if self.threshold > 0.5:
            return msg("no two tokens can both reach a threshold above one half")
        return None

    def acts(self, uniform: float) -> bool:
        """Return whether it looks for top choices in a step with this random number."""
        return uniform < self.probability and self.threshold <= 0.5

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        if not self.acts(context.uniform(self.stream)):
            return survivors
        top = survivors.above_prob(self.threshold)
        spared = (*context.eos_ids, *context.line_break_ids)
        if top.count < 2 or np.isin(top.ids[:-1], spared).any():
            return survivors
        return survivors.between(top.stop - 1, survivors.stop)

    def figures(self, before: Survivors, after: Survivors, context: Context) -> dict[str, float]:
        return {"u": context.uniform(self.stream)}

    def case(self, before: Survivors, after: Survivors, context: Context) -> str:
        if context.uniform(self.stream) >= self.probability:
            return "rests"
        if after.count < before.count:
            return "acts"
        return "spares" if before.above_prob(self.threshold).count > 1 else "few"
