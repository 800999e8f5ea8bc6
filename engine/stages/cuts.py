"""Stages that keep the likely tokens and remove the others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.errors import SettingError
from engine.ranking import Survivors
from engine.stages.base import NO_CONTEXT, Context, CutStage, above, between, count, number

if TYPE_CHECKING:
    from transformers import LogitsProcessor


@dataclass(frozen=True)
class TopH(CutStage):
    """Keep the leading tokens that together make up at most the share h of the entropy.

    Among the 100 most likely tokens, renormalised, the terms -p ln p are summed from the first
    rank down; a token stays while the sum is at most h times that of all. The most likely one
    always stays. Top-H (NeurIPS 2025, arXiv:2509.02510), with the limit of 100 that transformers
    sets. 0 < h <= 1, usual 0.4; 1 keeps the 100. A sure model keeps a token or two, a torn one
    many. Of tokens equal across the edge the lower ids stay.
    """

    h: float
    setting: ClassVar[str] = "top_h"
    considered: ClassVar[int] = 100

    def __post_init__(self) -> None:
        remedy = "use None to switch it off, 0.4 is usual"
        object.__setattr__(self, "h", above(self.setting, self.h, 0, 1, remedy))

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        top = survivors.upto(survivors.start + self.considered)
        probs = top.weights / top.mass
        probs = probs[probs > 0]  # below float64's smallest they have no entropy to speak of
        entropy = np.cumsum(-probs * np.log(probs))
        kept = np.count_nonzero(entropy <= self.h * entropy[-1])
        return survivors.upto(survivors.start + max(1, kept))

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import TopHLogitsWarper

        return TopHLogitsWarper(float(self.h))


@dataclass(frozen=True)
class TopK(CutStage):
    """Keep the k most likely tokens, and every token equal to the k-th.

    Fan et al. 2018 (arXiv:1805.04833). Usual values 40 or 50. Keeping the ties of the k-th is what
    transformers does, so more than k tokens can survive.
    """

    k: int
    setting: ClassVar[str] = "top_k"
    off: ClassVar[float] = 0

    def __post_init__(self) -> None:
        remedy = "use 0 to switch it off, or a whole number of tokens to keep"
        object.__setattr__(self, "k", count(self.setting, self.k, remedy))

    def check_vocabulary(self, vocab_size: int) -> None:
        if self.k > vocab_size:
            problem = f"is above the vocabulary of {vocab_size:,} tokens"
            remedy = f"use at most {vocab_size:,}, or 0 to switch it off"
            raise SettingError(self.setting, self.k, problem, remedy)

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        return survivors.leading(int(self.k), with_ties=True)

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import TopKLogitsWarper

        return TopKLogitsWarper(int(self.k))


@dataclass(frozen=True)
class TopP(CutStage):
    """Keep the nucleus: the smallest set of most likely tokens that holds probability p.

    The token that crosses p is kept. Holtzman et al. 2019 (arXiv:1904.09751). Usual values 0.9 or
    0.95. Where tokens of equal score lie across the edge, the lower ids are kept; transformers
    keeps as many, but which ones depends on its sort.
    """

    p: float
    setting: ClassVar[str] = "top_p"
    off: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        remedy = "use 1 to switch it off, or temperature 0 for greedy"
        object.__setattr__(self, "p", above(self.setting, self.p, 0, 1, remedy))

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        return survivors.reaching_mass(self.p) if self.p < 1 else survivors

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import TopPLogitsWarper

        return TopPLogitsWarper(float(self.p))


@dataclass(frozen=True)
class MinP(CutStage):
    """Keep the tokens at least `ratio` times as likely as the most likely one.

    Nguyen et al. 2024 (arXiv:2407.01082). Usual values 0.05 to 0.1, with a high temperature.
    """

    ratio: float
    setting: ClassVar[str] = "min_p"
    off: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        remedy = "use 0 to switch it off, 0.05 to 0.1 with a high temperature"
        object.__setattr__(self, "ratio", between(self.setting, self.ratio, 0, 1, remedy))

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        return survivors.above_ratio(self.ratio) if self.ratio > 0 else survivors

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
    """

    p: float
    setting: ClassVar[str] = "typical_p"
    off: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        remedy = "use 1 to switch it off, 0.9 or 0.95 is usual"
        object.__setattr__(self, "p", above(self.setting, self.p, 0, 1, remedy))

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        return survivors.around_entropy(self.p) if self.p < 1 else survivors

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import LogitsProcessorList, TypicalLogitsWarper

        # Theirs refuses 1; an empty list of processors does nothing.
        return TypicalLogitsWarper(float(self.p)) if self.p < 1 else LogitsProcessorList()


class _Cutoff(CutStage):
    """What the two cut-offs of Hewitt et al. share: a least probability of its own."""

    epsilon: float
    off: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        remedy = "use 0 to switch it off, 0.0003 to 0.004 is usual"
        value = number(self.setting, self.epsilon, remedy)
        if not 0 < value < 1:
            raise SettingError(self.setting, self.epsilon, "must be above 0 and below 1", remedy)
        object.__setattr__(self, "epsilon", value)

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
    """

    epsilon: float
    setting: ClassVar[str] = "epsilon_cutoff"

    def least_prob(self, survivors: Survivors) -> float:
        return self.epsilon

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import EpsilonLogitsWarper

        return EpsilonLogitsWarper(float(self.epsilon))


@dataclass(frozen=True)
class EtaCutoff(_Cutoff):
    """Keep the tokens of at least probability min(epsilon, sqrt(epsilon) * exp(-H)).

    Hewitt et al. 2022 (arXiv:2210.15191); H is the entropy in nats at its place in the chain.
    0 < epsilon < 1, usual 0.0003 to 0.004. Like the epsilon cut-off where the model is sure; where
    it is torn, the line sinks with exp(-H) and spares the many. Where no token reaches it, the
    most likely one stays, and every token equal to it.
    """

    epsilon: float
    setting: ClassVar[str] = "eta_cutoff"

    def least_prob(self, survivors: Survivors) -> float:
        return min(self.epsilon, math.sqrt(self.epsilon) * math.exp(-survivors.entropy))

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import EtaLogitsWarper

        return EtaLogitsWarper(float(self.epsilon))


@dataclass(frozen=True)
class TopNSigma(CutStage):
    """Keep the tokens whose score is at most n standard deviations below the highest.

    z_i >= max z - n * sigma (Tang et al. 2024, arXiv:2411.07641). sigma is the population standard
    deviation of the scores still in the race, as they stand at its place in the chain; llama.cpp
    does the same, and by default has it before temperature and the other cuts. Temperature before
    it changes nothing, since it scales both sides. After a cut, sigma is that of the few left, so
    there it cuts far more. 0 < n <= 100, usual 1; with 3 it hardly cuts. The highest score always
    stays. transformers has no such rule.
    """

    n: float
    setting: ClassVar[str] = "top_n_sigma"
    off: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        remedy = "use 0 to switch it off, 1 is usual"
        object.__setattr__(self, "n", above(self.setting, self.n, 0, 100, remedy))

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        survivors.row.sort_to_depth(survivors.start + 1)
        highest = float(survivors.row.values[survivors.start])
        return survivors.above_score(highest - self.n * survivors.deviation)


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
    """

    z: float
    setting: ClassVar[str] = "tail_free"
    off: ClassVar[float] = 1.0
    straight: ClassVar[float] = 1e-6

    def __post_init__(self) -> None:
        remedy = "use 1 to switch it off, 0.95 is usual"
        object.__setattr__(self, "z", above(self.setting, self.z, 0, 1, remedy))

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        if self.z == 1 or survivors.count <= 2:
            return survivors
        weights = survivors.weights
        bends = np.cumsum(np.abs(np.diff(weights, 2)))
        if bends[-1] <= self.straight * weights[0]:
            return survivors
        first = int(np.searchsorted(bends, self.z * bends[-1], side="right"))
        return survivors.upto(survivors.start + first + 1)
