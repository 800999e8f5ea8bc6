"""Stages that keep the likely tokens and remove the others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.errors import SettingError
from engine.ranking import Survivors
from engine.stages.base import NO_CONTEXT, Context, CutStage
from engine.stages.info import DOWN, REMOVES, UP, Info, Number, Paper, arxiv

if TYPE_CHECKING:
    from transformers import LogitsProcessor

_LN2 = math.log(2.0)
_TYPICAL = (
    "Typical-p keeps the tokens with surprisal closest to the entropy ({entropy:bits}) until they "
    "hold {p:share}. "
)


@dataclass(frozen=True)
class TopH(CutStage):
    """Keep the leading tokens that together make up at most the share h of the entropy.

    Among the 100 most likely tokens, renormalised, the terms -p ln p are summed from the first
    rank down; a token stays while the sum is at most h times that of all. The most likely one
    always stays. Top-H (NeurIPS 2025, arXiv:2509.02510), with the limit of 100 that transformers
    sets. 0 < h <= 1, usual 0.4; 1 keeps the 100. A sure model keeps a token or two, an uncertain
    one many. Of tokens equal across the edge the lower ids stay.

    Figures: ``considered``, how many tokens it looks at; ``entropy`` of those, in bits; ``limit``,
    h times that. Cases: ``none``; ``short`` where the most likely token alone is above the limit;
    else ``""``.
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
                remedy="use None to switch it off, 0.4 is usual",
                least=0,
                most=1,
                open_below=True,
                looser=UP,
                is_monotone=True,
            ),
        ),
    )

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        entropy = self._entropy_by_rank(survivors)
        kept = int(np.count_nonzero(entropy <= self.h * entropy[-1]))
        return survivors.upto(survivors.start + max(1, kept))

    def _entropy_by_rank(self, survivors: Survivors) -> np.ndarray:
        """(considered,) running sum of -p ln p from the first rank down, in nats."""
        top = survivors.upto(survivors.start + self.considered)
        probs = top.weights / top.mass
        probs = probs[probs > 0]  # below float64's smallest they have no entropy to speak of
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


@dataclass(frozen=True)
class TopK(CutStage):
    """Keep the k most likely tokens, and every token equal to the k-th.

    Fan et al. 2018 (arXiv:1805.04833). Usual values 40 or 50. Keeping the ties of the k-th is what
    transformers does, so more than k tokens can survive.

    Figures: ``tied``, how many tokens stay beyond k. Cases: ``tied`` where that is not 0; ``none``;
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
                remedy="use 0 to switch it off, or a whole number of tokens to keep",
                least=1,
                whole=True,
                takes="0 or a positive whole number",
                looser=UP,
                is_monotone=True,
                log=(1, None),
            ),
        ),
        is_steady=True,
    )

    def check_vocabulary(self, vocab_size: int) -> None:
        if self.k > vocab_size:
            problem = f"is above the vocabulary of {vocab_size:,} tokens"
            remedy = f"use at most {vocab_size:,}, or 0 to switch it off"
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


@dataclass(frozen=True)
class TopP(CutStage):
    """Keep the nucleus: the smallest set of most likely tokens that holds probability p.

    The token that crosses p is kept. Holtzman et al. 2019 (arXiv:1904.09751). Usual values 0.9 or
    0.95. Where tokens of equal score lie across the edge, the lower ids are kept; transformers
    keeps as many, but which ones depends on its sort.

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
                remedy="use 1 to switch it off, or temperature 0 for greedy",
                least=0,
                most=1,
                open_below=True,
                looser=UP,
                is_monotone=True,
            ),
        ),
        is_steady=True,
    )

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        return survivors.reaching_mass(self.p) if self.p < 1 else survivors

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import TopPLogitsWarper

        return TopPLogitsWarper(float(self.p))


@dataclass(frozen=True)
class MinP(CutStage):
    """Keep the tokens at least `ratio` times as likely as the most likely one.

    Nguyen et al. 2024 (arXiv:2407.01082). Usual values 0.05 to 0.1, with a high temperature.

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
            "none": "Every remaining token has at least {threshold:percent}, so min-p removes "
            "none.",
        },
        note={"": "p ≥ {threshold:percent}"},
        paper=arxiv("Nguyen et al. 2024", "2407.01082"),
        numbers=(
            Number(
                "ratio",
                "Min-p",
                slider=(0, 1, 0.005),
                usual=0.05,
                remedy="use 0 to switch it off, 0.05 to 0.1 with a high temperature",
                least=0,
                most=1,
                looser=DOWN,
                is_monotone=True,
            ),
        ),
        is_steady=True,
    )

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        return survivors.above_ratio(self.ratio) if self.ratio > 0 else survivors

    def figures(self, before: Survivors, after: Survivors, context: Context) -> dict[str, float]:
        return {"threshold": self.ratio * before.leader_prob}

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import MinPLogitsWarper

        return MinPLogitsWarper(float(self.ratio))


@dataclass(frozen=True)
class TypicalP(CutStage):
    """Keep the tokens whose surprise is nearest to the entropy, until they hold probability p.

    Ordered by | -ln p_i - H |, the smallest set that reaches p (Meister et al. 2022, locally
    typical sampling, arXiv:2202.00666). Usual values 0.9 or 0.95, in stories down to 0.2. What is
    kept is a run of ranks, which may lie below the most likely token: where that one is far more
    likely than typical, it goes. As in transformers every token as far from the entropy as the one
    that crosses p stays, so equal tokens stay or go together. At least one token stays.

    Figures: ``entropy``, H in bits. Cases: ``none``; ``top`` where the most likely token goes; else
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
                remedy="use 1 to switch it off, 0.9 or 0.95 is usual",
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

        # Theirs refuses 1; an empty list of processors does nothing.
        return TypicalLogitsWarper(float(self.p)) if self.p < 1 else LogitsProcessorList()


def _epsilon(label: str) -> Number:
    return Number(
        "epsilon",
        label,
        slider=(0, 0.01, 0.0001),
        usual=0.0009,
        remedy="use 0 to switch it off, 0.0003 to 0.004 is usual",
        least=0,
        most=1,
        open_below=True,
        open_above=True,
        looser=DOWN,
        is_monotone=True,
        further=tuple(
            float(f"{digit}e{power}")
            for power in (-8, -7, -6, -5, -2, -1)
            for digit in range(1, 10)
        ),
        log=(1e-9, 1),
    )


class _Cutoff(CutStage):
    """What the two cut-offs of Hewitt et al. share: a least probability of its own.

    Figures: ``threshold``, that probability. Cases: ``none``, else ``""``.
    """

    epsilon: float
    off: ClassVar[float] = 0.0

    def figures(self, before: Survivors, after: Survivors, context: Context) -> dict[str, float]:
        return {"threshold": self.least_prob(before)}

    def least_prob(self, survivors: Survivors) -> float:
        """The probability below which tokens go."""
        raise NotImplementedError

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        kept = survivors.above_prob(self.least_prob(survivors))
        # Where none reaches it, the most likely token stays, and every token equal to it.
        return survivors.leading(1, with_ties=True) if kept.count == 1 else kept


@dataclass(frozen=True)
class EpsilonCutoff(_Cutoff):
    """Keep the tokens of at least probability epsilon.

    Hewitt et al. 2022 (arXiv:2210.15191). 0 < epsilon < 1, usual 0.0003 to 0.0009. A level line:
    it cuts little where the model is sure, and too much where thousands of tokens share the mass.
    Where no token reaches it, the most likely one stays, and every token equal to it.

    Figures: those of `_Cutoff`. Cases: ``short`` where no token reaches it; ``none``; else ``""``.
    """

    epsilon: float
    setting: ClassVar[str] = "epsilon_cutoff"
    info: ClassVar[Info] = Info(
        label="Epsilon cutoff",
        group="truncation",
        about="Keeps tokens of at least a fixed probability ε.",
        formula="keep p[i] ≥ ε",
        idle="no threshold",
        picture="threshold",
        says={
            "": "Epsilon cutoff keeps tokens of at least {epsilon:share}. " + REMOVES,
            "none": "Every remaining token has at least {epsilon:share}, so epsilon cutoff "
            "removes none.",
            "short": "No token reaches {epsilon:share}, so epsilon cutoff keeps only the top "
            "{after:tokens}.",
        },
        paper=arxiv("Hewitt et al. 2022", "2210.15191"),
        numbers=(_epsilon("Epsilon cutoff"),),
    )

    def least_prob(self, survivors: Survivors) -> float:
        return self.epsilon

    def case(self, before: Survivors, after: Survivors, context: Context) -> str:
        if before.leader_prob < self.epsilon:
            return "short"
        return super().case(before, after, context)

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import EpsilonLogitsWarper

        return EpsilonLogitsWarper(float(self.epsilon))


@dataclass(frozen=True)
class EtaCutoff(_Cutoff):
    """Keep the tokens of at least probability min(epsilon, sqrt(epsilon) * exp(-H)).

    Hewitt et al. 2022 (arXiv:2210.15191); H is the entropy in nats at its place in the chain.
    0 < epsilon < 1, usual 0.0003 to 0.004. Like the epsilon cut-off where the model is sure; where
    it is uncertain, the threshold sinks with exp(-H) and spares the many. The most likely token
    always reaches it, since its probability is at least exp(-H).

    Figures: ``entropy``, H in bits, and those of `_Cutoff`.
    """

    epsilon: float
    setting: ClassVar[str] = "eta_cutoff"
    info: ClassVar[Info] = Info(
        label="Eta cutoff",
        group="adaptive",
        about="Keeps tokens above a threshold η that falls where the model is uncertain.",
        formula="keep p[i] ≥ η = min(ε, √ε · exp(−H))",
        idle="no threshold",
        picture="threshold",
        says={
            "": "At an entropy of {entropy:bits} the threshold η is {threshold:percent}. "
            "Eta cutoff removes {removed:tokens} below it, with {mass_removed:percent} of the "
            "probability.",
            "none": "At an entropy of {entropy:bits} the threshold η is {threshold:percent}. "
            "Every remaining token reaches it, so eta cutoff removes none.",
        },
        note={"": "η = {threshold:percent}"},
        paper=arxiv("Hewitt et al. 2022", "2210.15191"),
        numbers=(_epsilon("Eta cutoff"),),
    )

    def least_prob(self, survivors: Survivors) -> float:
        return min(self.epsilon, math.sqrt(self.epsilon) * math.exp(-survivors.entropy))

    def figures(self, before: Survivors, after: Survivors, context: Context) -> dict[str, float]:
        return {**super().figures(before, after, context), "entropy": before.entropy_bits}

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import EtaLogitsWarper

        return EtaLogitsWarper(float(self.epsilon))


@dataclass(frozen=True)
class TopNSigma(CutStage):
    """Keep the tokens whose score is at most n standard deviations below the highest.

    z_i >= max z - n * sigma (Tang et al. 2024, arXiv:2411.07641). sigma is the population standard
    deviation of the scores that are left, as they stand at its place in the chain; llama.cpp
    does the same, and by default has it before temperature and the other cuts. Temperature before
    it changes nothing, since it scales both sides. After a cut, sigma is that of the few left, so
    there it cuts far more. 0 < n <= 100, usual 1; with 3 it hardly cuts. The highest score always
    stays. transformers has no such rule.

    Figures: ``highest``, the highest score; ``sigma``; ``least_score``, the highest less n sigma,
    and ``threshold``, the probability that this score stands for. Cases: ``none``, else ``""``.
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
            "": "The lowest score allowed is {least_score:score}: {highest:score} less "
            "{n:number} × σ, which is {sigma:score}. " + REMOVES,
            "none": "The lowest score allowed is {least_score:score}: {highest:score} less "
            "{n:number} × σ, which is {sigma:score}. Every remaining token reaches it.",
        },
        note={"": "σ = {sigma:score}"},
        paper=arxiv("Tang et al. 2024", "2411.07641"),
        numbers=(
            Number(
                "n",
                "Top-n-sigma",
                slider=(0, 5, 0.05),
                usual=1,
                remedy="use 0 to switch it off, 1 is usual",
                least=0,
                most=100,
                open_below=True,
                looser=UP,
                is_monotone=True,
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


@dataclass(frozen=True)
class TailFree(CutStage):
    """Cut where the sorted probabilities stop bending: the tail is nearly straight.

    The absolute second differences |p_(r-1) - 2 p_r + p_(r+1)|, normalised to sum 1, are summed
    along the ranks; the first rank r at which the sum exceeds z goes, and all below it (Bricken
    2019, tail free sampling, as in text-generation-webui). 0 < z <= 1, usual 0.95; 1 switches it
    off, any z below removes the last two tokens at least. llama.cpp had it until 2024 and kept one
    token fewer. Up to two tokens, or where nothing bends (second differences of no more than a
    millionth of the highest probability), nothing is removed. Of tokens equal across the edge the
    lower ids stay. It needs the whole ranking, so it is the dearest cut where nothing else has cut.

    Figures: none of its own. Cases: ``none``, else ``""``.
    """

    z: float
    setting: ClassVar[str] = "tail_free"
    off: ClassVar[float] = 1.0
    straight: ClassVar[float] = 1e-6
    info: ClassVar[Info] = Info(
        label="Tail-free",
        group="adaptive",
        about="Cuts the tail, where the curve of sorted probabilities stops bending.",
        formula="keep up to the rank where Σ |p″| exceeds z of its sum",
        idle="the tail stays",
        picture="rank",
        says={
            "": "Tail-free cuts where {z:share} of the bending of the probability curve lies "
            "behind. " + REMOVES,
            "none": "Tail-free finds no bend that sets off a tail, so it removes none.",
        },
        paper=Paper("Bricken 2019", "https://www.trentonbricken.com/Tail-Free-Sampling/"),
        numbers=(
            Number(
                "z",
                "Tail-free",
                slider=(0.01, 1, 0.01),
                usual=0.95,
                remedy="use 1 to switch it off, 0.95 is usual",
                least=0,
                most=1,
                open_below=True,
                looser=UP,
                is_monotone=True,
            ),
        ),
    )

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        if self.z == 1 or survivors.count <= 2:
            return survivors
        weights = survivors.weights
        bends = np.cumsum(np.abs(np.diff(weights, 2)))
        if bends[-1] <= self.straight * weights[0]:
            return survivors
        first = int(np.searchsorted(bends, self.z * bends[-1], side="right"))
        return survivors.upto(survivors.start + first + 1)
