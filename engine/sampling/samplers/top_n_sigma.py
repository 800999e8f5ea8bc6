"""Top-n-sigma: keep the scores within n standard deviations of the highest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from engine.errors import msg
from engine.sampling.samplers.base import Context, CutStage
from engine.sampling.samplers.info import REMOVES, UP, Info, Number, arxiv
from engine.sampling.survivors import Survivors


@dataclass(frozen=True)
class TopNSigma(CutStage):
    """Keep the tokens whose score is at most n standard deviations below the highest.

    z_i >= max z - n * sigma (Tang et al. 2024, arXiv:2411.07641). sigma is the population standard
    deviation of the scores left at its place in the chain. llama.cpp does the same, and by default
    has it before temperature and the other cuts. Temperature before it changes nothing, since it
    scales both sides. After another cut, sigma is that of the few survivors, so it cuts far more.
    0 < n <= 100, usual 1; with 3 it hardly cuts. The highest score always stays. transformers has
    no such rule.

    Figures: ``highest``, the highest score; ``sigma``; ``least_score``, the highest less n sigma;
    ``threshold``, the probability that corresponds to this score. Cases: ``none``, else ``""``.
    """

    n: float
    setting: ClassVar[str] = "top_n_sigma"
    off: ClassVar[float] = 0.0
    info: ClassVar[Info] = Info(
        label="Top-n-sigma",
        group="truncation",
        about="Keeps scores within n standard deviations of the highest, at any temperature.",
        formula="keep z[i] ≥ max z − n · σ(z)",
        idle="any distance from the highest score",
        picture="threshold",
        says={
            "": "The lowest score allowed is {least_score:score}: {highest:score} minus "
            "{n:number} × σ, where σ is {sigma:score}. " + REMOVES,
            "none": "The lowest score allowed is {least_score:score}: {highest:score} minus "
            "{n:number} × σ, where σ is {sigma:score}. Every remaining token reaches "
            "it.",
        },
        note={"": "σ = {sigma:score}"},
        paper=arxiv("Tang et al. 2024", "2411.07641"),
        numbers=(
            Number(
                "n",
                "Top-n-sigma",
                slider=(0, 5, 0.05),
                usual=1,
                sweep=(0.5, 1, 1.5, 2, 0),
                remedy=msg("use 0 to switch it off, 1 is usual"),
                least=0,
                most=100,
                open_below=True,
                looser=UP,
            ),
        ),
    )

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        return survivors.above_score(self._least_score(survivors))

    def _least_score(self, survivors: Survivors) -> float:
        return survivors.leader_score - self.n * survivors.deviation

    def figures(self, before: Survivors, after: Survivors, context: Context) -> dict[str, float]:
        least = self._least_score(before)
        return {
            "highest": before.leader_score,
            "sigma": before.deviation,
            "least_score": least,
            "threshold": math.exp(least - before.leader_score) * before.leader_prob,
        }
