"""Min-p: keep the tokens above a share of the highest probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from engine.errors import msg
from engine.sampling.samplers.base import NO_CONTEXT, Context, CutStage
from engine.sampling.samplers.info import DOWN, REMOVES, Info, Number, arxiv
from engine.sampling.survivors import Survivors

if TYPE_CHECKING:
    from transformers import LogitsProcessor


@dataclass(frozen=True)
class MinP(CutStage):
    """Keep the tokens at least `ratio` times as likely as the most likely one.

    Nguyen et al. 2024 (arXiv:2407.01082). Usual values are 0.05 to 0.1, with a high temperature.

    Figures: ``threshold``, the probability that a token needs. Cases: ``none``, else ``""``.
    """

    ratio: float
    setting: ClassVar[str] = "min_p"
    off: ClassVar[float] = 0.0
    info: ClassVar[Info] = Info(
        label="Min-p",
        group="truncation",
        about="Keeps tokens with at least this share of the highest probability.",
        formula="keep p[i] ≥ min_p · p[1]",
        idle="no threshold",
        picture="threshold",
        says={
            "": "Min-p keeps tokens with {ratio:share} or more of the highest probability, here "
            "{threshold:percent}. " + REMOVES,
            "none": "Every remaining token has a probability of at least "
            "{threshold:percent}, so min-p removes none.",
        },
        note={"": "p ≥ {threshold:percent}"},
        paper=arxiv("Nguyen et al. 2024", "2407.01082"),
        numbers=(
            Number(
                "ratio",
                "Min-p",
                slider=(0, 1, 0.005),
                usual=0.05,
                sweep=(0, 0.02, 0.05, 0.1, 0.2),
                remedy=msg("use 0 to switch it off, 0.05 to 0.1 with a high temperature"),
                least=0,
                most=1,
                looser=DOWN,
            ),
        ),
    )

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        return survivors.above_ratio(self.ratio) if self.ratio > 0 else survivors

    def figures(self, before: Survivors, after: Survivors, context: Context) -> dict[str, float]:
        return {"threshold": self.ratio * before.leader_prob}

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import MinPLogitsWarper

        return MinPLogitsWarper(float(self.ratio))
