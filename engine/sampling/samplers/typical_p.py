"""Typical-p: keep the tokens whose surprisal is nearest to the entropy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from engine.errors import msg
from engine.sampling.samplers.base import NO_CONTEXT, Context, CutStage
from engine.sampling.samplers.info import REMOVES, UP, Info, Number, arxiv
from engine.sampling.survivors import Survivors

if TYPE_CHECKING:
    from transformers import LogitsProcessor


_TYPICAL = (
    "Typical-p keeps the tokens with surprisal closest to the entropy ({entropy:bits}) until they "
    "reach {p:share}. "
)


@dataclass(frozen=True)
class TypicalP(CutStage):
    """Keep the tokens whose surprisal is nearest to the entropy, until their probability reaches p.

    Ordered by | -ln p_i - H |, the smallest set that reaches p (Meister et al. 2022, locally
    typical sampling, arXiv:2202.00666). Usual values are 0.9 or 0.95, in stories down to 0.2. The
    kept tokens are a run of ranks, which may lie below the most likely token: if that one is far
    more likely than typical, it is removed. As in transformers, every token as far from the entropy
    as the one that crosses p stays, so equal tokens are kept or removed together. At least one
    token stays.

    Figures: ``entropy``, H in bits. Cases: ``none``; ``top`` if the most likely token is removed;
    else ``""``.
    """

    p: float
    setting: ClassVar[str] = "typical_p"
    keeps_the_best: ClassVar[bool] = False
    off: ClassVar[float] = 1.0
    info: ClassVar[Info] = Info(
        label="Typical-p",
        group="adaptive",
        about="Keeps tokens whose surprisal is closest to the entropy; the top token may go.",
        formula="order by |−log p[i] − H|, keep the first with mass p",
        idle="the whole distribution stays",
        picture="window",
        says={
            "": _TYPICAL + REMOVES,
            "top": _TYPICAL + "It removes {removed:tokens} with {mass_removed:percent} of the "
            "probability, including the top {above:tokens}.",
            "none": "Every remaining token is close enough to the entropy, {entropy:bits}, so "
            "typical-p removes none.",
        },
        note={"": "H = {entropy:bits}"},
        paper=arxiv("Meister et al. 2022", "2202.00666"),
        numbers=(
            Number(
                "p",
                "Typical-p",
                slider=(0.01, 1, 0.01),
                usual=0.9,
                sweep=(0.2, 0.5, 0.8, 0.95, 1),
                remedy=msg("use 1 to switch it off, 0.9 or 0.95 is usual"),
                least=0,
                most=1,
                open_below=True,
                looser=UP,
            ),
        ),
    )

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        return survivors.around_entropy(self.p) if self.p < 1 else survivors

    def figures(self, before: Survivors, after: Survivors, context: Context) -> dict[str, float]:
        return {"entropy": before.entropy_bits}

    def case(self, before: Survivors, after: Survivors, context: Context) -> str:
        case = super().case(before, after, context)
        return "top" if not case and before.ahead_of(after) else case

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import LogitsProcessorList, TypicalLogitsWarper

        # The transformers class refuses 1; an empty list of processors does nothing.
        return TypicalLogitsWarper(float(self.p)) if self.p < 1 else LogitsProcessorList()
