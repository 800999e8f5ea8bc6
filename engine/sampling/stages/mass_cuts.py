"""Stages that keep tokens until they hold a share: of the probability, or of the entropy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.errors import msg
from engine.sampling.stages.base import NO_CONTEXT, Context, CutStage
from engine.sampling.stages.info import REMOVES, UP, Info, Number, arxiv
from engine.sampling.survivors import Survivors

if TYPE_CHECKING:
    from transformers import LogitsProcessor

_LN2 = math.log(2.0)
_TYPICAL = (
    "Typical-p keeps the tokens with surprisal closest to the entropy ({entropy:bits}) until they "
    "hold {p:share}. "
)


@dataclass(frozen=True)
class TopP(CutStage):
    """Keep the nucleus: the smallest set of most likely tokens that holds probability p.

    The token that crosses p is kept. Holtzman et al. 2019 (arXiv:1904.09751). Usual values are 0.9
    or 0.95. If tokens of equal score lie across the edge, the lower ids are kept. transformers
    keeps as many, but its sort decides which.

    Figures: none of its own. Cases: ``none``, else ``""``.
    """

    p: float
    setting: ClassVar[str] = "top_p"
    off: ClassVar[float] = 1.0
    info: ClassVar[Info] = Info(
        label="Top-p",
        group="truncation",
        about="Keeps the nucleus: the fewest leading tokens that together hold probability p.",
        formula="keep the smallest n with p[1] + … + p[n] ≥ p",
        idle="the whole distribution stays",
        picture="mass",
        says={
            "": "Top-p keeps the fewest leading tokens that together hold {p:share}, here "
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


@dataclass(frozen=True)
class TypicalP(CutStage):
    """Keep the tokens whose surprise is nearest to the entropy, until they hold probability p.

    Ordered by | -ln p_i - H |, the smallest set that reaches p (Meister et al. 2022, locally
    typical sampling, arXiv:2202.00666). Usual values are 0.9 or 0.95, in stories down to 0.2. The
    kept tokens are a run of ranks, which may lie below the most likely token. If that one is far
    more likely than typical, it goes. As in transformers, every token as far from the entropy as
    the one that crosses p stays, so equal tokens stay or go together. At least one token stays.

    Figures: ``entropy``, H in bits. Cases: ``none``; ``top`` if the most likely token goes; else
    ``""``.
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


@dataclass(frozen=True)
class TopH(CutStage):
    """Keep the leading tokens that together make up at most the share h of the entropy.

    Among the 100 most likely tokens, renormalised, the terms -p ln p are summed from the first
    rank down. A token stays while the sum is at most h times the total. The most likely one always
    stays. Top-H (NeurIPS 2025, arXiv:2509.02510), with the limit of 100 that transformers sets.
    0 < h <= 1, usual 0.4; 1 keeps the 100. A sure model keeps a token or two, an uncertain one
    many. If tokens across the edge are equal, the lower ids stay.

    Figures: ``considered``, how many tokens it looks at; their ``entropy`` in bits; ``limit``, h
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
