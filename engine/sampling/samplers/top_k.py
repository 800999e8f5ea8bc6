"""Top-k: keep the k most likely tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from engine.errors import SettingError, msg
from engine.sampling.samplers.base import NO_CONTEXT, Context, CutStage
from engine.sampling.samplers.info import REMOVES, UP, Info, Number, arxiv
from engine.sampling.survivors import Survivors

if TYPE_CHECKING:
    from transformers import LogitsProcessor


@dataclass(frozen=True)
class TopK(CutStage):
    """Keep the k most likely tokens, and every token tied with the k-th.

    Fan et al. 2018 (arXiv:1805.04833). Usual values are 40 or 50. Like transformers, it keeps ties
    with the k-th, so more than k tokens can survive.

    Figures: ``tied``, how many tokens stay beyond k. Cases: ``tied`` if that is not 0; ``none``;
    else ``""``.
    """

    k: int
    setting: ClassVar[str] = "top_k"
    off: ClassVar[float] = 0
    info: ClassVar[Info] = Info(
        label="Top-k",
        group="truncation",
        about="Keeps the k highest scores, and every score equal to the k-th.",
        formula="keep rank ≤ k",
        idle="the number of tokens is not limited",
        picture="rank",
        says={
            "": "Top-k keeps the top {k:tokens} by score. " + REMOVES,
            "tied": "Top-k keeps the top {k:tokens} by score, and {tied:tokens} tied with the "
            "last. " + REMOVES,
            "none": "Top-k allows {k:tokens} and finds {before:count}, so it removes none.",
        },
        note={"tied": "{tied:count} tied with the last"},
        paper=arxiv("Fan et al. 2018", "1805.04833"),
        numbers=(
            Number(
                "k",
                "Top-k",
                slider=(0, 200, 1),
                usual=50,
                sweep=(2, 10, 40, 100, 0),
                remedy=msg("use 0 to switch it off, or a whole number of tokens to keep"),
                least=1,
                whole=True,
                takes=msg("0 or a positive whole number"),
                looser=UP,
            ),
        ),
    )

    def check_vocabulary(self, vocab_size: int) -> None:
        if self.k > vocab_size:
            problem = msg("exceeds the vocabulary of {vocab_size:,} tokens", vocab_size)
            remedy = msg("use at most {vocab_size:,}, or 0 to switch it off", vocab_size)
            raise SettingError(self.setting, self.k, problem, remedy)

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        return survivors.leading(int(self.k), with_ties=True)

    def figures(self, before: Survivors, after: Survivors, context: Context) -> dict[str, float]:
        return {"tied": max(0, after.count - self.k)}

    def case(self, before: Survivors, after: Survivors, context: Context) -> str:
        return "tied" if after.count > self.k else super().case(before, after, context)

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import TopKLogitsWarper

        return TopKLogitsWarper(int(self.k))
