"""Top-p (nucleus) sampling: keep the most likely tokens up to a cumulative probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from engine.errors import msg
from engine.sampling.samplers.base import NO_CONTEXT, Context, CutStage
from engine.sampling.samplers.info import REMOVES, UP, Info, Number, arxiv
from engine.sampling.survivors import Survivors

if TYPE_CHECKING:
    from transformers import LogitsProcessor


@dataclass(frozen=True)
class TopP(CutStage):
    """Keep the nucleus: the smallest set of most likely tokens with a probability of at least p.

    The token that crosses p is kept. Holtzman et al. 2019 (arXiv:1904.09751). Usual values are 0.9
    or 0.95. If tokens of equal score lie across the edge, the lower ids are kept. transformers
    keeps the same number, but its sort decides which.

    Figures: none of its own. Cases: ``none``, else ``""``.
    """

    p: float
    setting: ClassVar[str] = "top_p"
    off: ClassVar[float] = 1.0
    info: ClassVar[Info] = Info(
        label="Top-p",
        group="truncation",
        about="Keeps the nucleus: the fewest leading tokens that together have probability p.",
        formula="keep the smallest n with p[1] + … + p[n] ≥ p",
        idle="the whole distribution stays",
        picture="mass",
        says={
            "": "Top-p keeps the fewest leading tokens that together reach {p:share}, here "
            "{after:count}. " + REMOVES,
            "none": "Top-p needs every remaining token to reach {p:share}, so it removes none.",
        },
        paper=arxiv("Holtzman et al. 2019", "1904.09751"),
        numbers=(
            Number(
                "p",
                "Top-p",
                slider=(0.01, 1, 0.01),
                usual=0.9,
                sweep=(0.5, 0.7, 0.9, 0.95, 1),
                remedy=msg("use 1 to switch it off, or temperature 0 for greedy"),
                least=0,
                most=1,
                open_below=True,
                looser=UP,
            ),
        ),
    )

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        return survivors.reaching_mass(self.p) if self.p < 1 else survivors

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import TopPLogitsWarper

        return TopPLogitsWarper(float(self.p))
