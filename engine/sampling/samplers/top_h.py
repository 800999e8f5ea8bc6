"""Top-h: keep the most likely tokens up to a share of the entropy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.errors import msg
from engine.sampling.samplers.base import NO_CONTEXT, Context, CutStage
from engine.sampling.samplers.info import REMOVES, UP, Info, Number, arxiv
from engine.sampling.survivors import Survivors

if TYPE_CHECKING:
    from transformers import LogitsProcessor


_LN2 = math.log(2.0)


@dataclass(frozen=True)
class TopH(CutStage):
    """Keep the leading tokens that together make up at most a share h of the entropy.

    Among the 100 most likely tokens, renormalised, the terms -p ln p are summed from the first
    rank down. A token stays while the sum is at most h times the total. The most likely one always
    stays. Top-H (NeurIPS 2025, arXiv:2509.02510), with the limit of 100 that transformers sets.
    0 < h <= 1, usual 0.4; 1 keeps the 100. If the model is certain, a token or two stay; if it is
    uncertain, many do. If tokens across the edge are equal, the lower ids stay.

    Figures: ``considered``, how many tokens it considers; their ``entropy`` in bits; ``limit``, h
    times that. Cases: ``none``; ``short`` if the most likely token alone is above the limit; else
    ``""``.
    """

    h: float
    setting: ClassVar[str] = "top_h"
    considered: ClassVar[int] = 100
    info: ClassVar[Info] = Info(
        label="Top-H",
        group="adaptive",
        about="Keeps leading tokens up to a share of the entropy of the 100 most likely.",
        formula="−Σ p log p over the kept tokens ≤ h · H",
        idle="the entropy is not limited",
        picture="rank",
        says={
            "": "Top-H keeps leading tokens up to {h:share} of the entropy, {limit:bits} of "
            "{entropy:bits}. " + REMOVES,
            "none": "The remaining tokens do not exceed the limit of {limit:bits}, so top-H "
            "removes none.",
            "short": "The top token alone exceeds {h:share} of the entropy, so top-H keeps only "
            "that one. " + REMOVES,
        },
        note={"": "{limit:bits} of {entropy:bits}"},
        paper=arxiv("Baghaei Potraghloo et al. 2025", "2509.02510"),
        numbers=(
            Number(
                "h",
                "Top-H",
                slider=(0.01, 1, 0.01),
                usual=0.4,
                sweep=(0.2, 0.4, 0.6, 0.8, 1),
                remedy=msg("use None to switch it off, 0.4 is usual"),
                least=0,
                most=1,
                open_below=True,
                looser=UP,
            ),
        ),
    )

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        entropy = self._entropy_by_rank(survivors)
        kept = int(np.count_nonzero(entropy <= self.h * entropy[-1]))
        return survivors.upto(survivors.start + max(1, kept))

    def _entropy_by_rank(self, survivors: Survivors) -> np.ndarray:
        """Return the (considered,) running sum of -p ln p from the first rank down, in nats."""
        top = survivors.upto(survivors.start + self.considered)
        probs = top.weights / top.mass
        probs = probs[probs > 0]  # below float64's smallest, their entropy is negligible
        return np.cumsum(-probs * np.log(probs))

    def figures(self, before: Survivors, after: Survivors, context: Context) -> dict[str, float]:
        entropy = float(self._entropy_by_rank(before)[-1]) / _LN2
        considered = min(before.count, self.considered)
        return {"considered": considered, "entropy": entropy, "limit": self.h * entropy}

    def case(self, before: Survivors, after: Survivors, context: Context) -> str:
        entropy = self._entropy_by_rank(before)
        is_short = before.count > 1 and entropy[0] > self.h * entropy[-1]
        return "short" if is_short else super().case(before, after, context)

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import TopHLogitsWarper

        return TopHLogitsWarper(float(self.h))
