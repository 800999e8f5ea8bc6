"""Stages that keep the tokens above a threshold, a probability or a score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from engine.errors import msg
from engine.sampling.stages.base import NO_CONTEXT, Context, CutStage
from engine.sampling.stages.info import DOWN, REMOVES, UP, Info, Number, arxiv
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


def _epsilon(label: str) -> Number:
    return Number(
        "epsilon",
        label,
        slider=(0, 0.01, 0.0001),
        usual=0.0009,
        remedy=msg("use 0 to switch it off, 0.0003 to 0.004 is usual"),
        least=0,
        most=1,
        open_below=True,
        open_above=True,
        looser=DOWN,
    )


class _Cutoff(CutStage):
    """Base of the two cut-offs of Hewitt et al., each with its own minimum probability.

    Figures: ``threshold``, that probability. Cases: ``none``, else ``""``.
    """

    epsilon: float
    off: ClassVar[float] = 0.0

    def figures(self, before: Survivors, after: Survivors, context: Context) -> dict[str, float]:
        return {"threshold": self.least_prob(before)}

    def least_prob(self, survivors: Survivors) -> float:
        """Return the probability below which tokens go."""
        raise NotImplementedError

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        kept = survivors.above_prob(self.least_prob(survivors))
        # If none reaches it, the most likely token stays, and every token equal to that.
        return survivors.leading(1, with_ties=True) if kept.count == 1 else kept


@dataclass(frozen=True)
class EpsilonCutoff(_Cutoff):
    """Keep the tokens of at least probability epsilon.

    Hewitt et al. 2022 (arXiv:2210.15191). 0 < epsilon < 1, usual 0.0003 to 0.0009. The threshold is
    constant: it cuts little if the model is sure, and too much if thousands of tokens share the
    mass. If no token reaches it, the most likely one stays, and every token equal to that.

    Figures: those of `_Cutoff`. Cases: ``short`` if no token reaches it; ``none``; else ``""``.
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
    0 < epsilon < 1, usual 0.0003 to 0.004. If the model is sure, it acts like the epsilon cut-off.
    If it is uncertain, the threshold falls with exp(-H) and spares the many. The most likely token
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
class PLess(CutStage):
    """Keep the tokens at least as likely as two equal draws: p_i >= sum of p_j^2.

    Tan et al. 2025, p-less sampling (arXiv:2509.23234). The sum, at its place in the chain, is the
    probability that two independent draws give the same token. It is high if the model is sure, low
    if it is not, and lower at a higher temperature. There is no number to set. The most likely
    token always reaches the threshold, since an average of probabilities is never above the
    highest. transformers has no such rule.

    Figures: ``threshold``, the sum. Cases: ``none``, else ``""``.
    """

    setting: ClassVar[str] = "p_less"
    info: ClassVar[Info] = Info(
        label="P-less",
        group="adaptive",
        about="Keeps tokens at least as likely as two draws are to give the same token.",
        formula="keep p[i] ≥ Σ p²",
        idle="no threshold",
        picture="threshold",
        says={
            "": "Two draws give the same token with {threshold:percent}. P-less removes "
            "{removed:tokens} below that, with {mass_removed:percent} of the probability.",
            "none": "Two draws give the same token with {threshold:percent}. Every remaining token "
            "reaches that, so p-less removes none.",
        },
        note={"": "Σ p² = {threshold:percent}"},
        paper=arxiv("Tan et al. 2025", "2509.23234"),
    )

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        return survivors.above_prob(_collision(survivors))

    def figures(self, before: Survivors, after: Survivors, context: Context) -> dict[str, float]:
        return {"threshold": _collision(before)}


def _collision(survivors: Survivors) -> float:
    """Probability that two independent draws give the same token."""
    weights = survivors.weights
    return float(weights @ weights) / survivors.mass**2


@dataclass(frozen=True)
class TopNSigma(CutStage):
    """Keep the tokens whose score is at most n standard deviations below the highest.

    z_i >= max z - n * sigma (Tang et al. 2024, arXiv:2411.07641). sigma is the population standard
    deviation of the scores left at its place in the chain. llama.cpp does the same, and by default
    has it before temperature and the other cuts. Temperature before it changes nothing, since it
    scales both sides. After a cut, sigma is that of the few survivors, so it cuts far more.
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
