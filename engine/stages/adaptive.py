"""Stages that depend on the step: XTC on a number of its own, Mirostat on what was drawn before."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from engine.ranking import Survivors
from engine.stages.base import Context, CutStage, Stage, above, between

_LN2 = math.log(2.0)


class MirostatState(NamedTuple):
    """What a step hands on to the next one: the tau it was steered towards, and mu after it."""

    tau: float
    mu: float


@dataclass(frozen=True)
class Xtc(CutStage):
    """Now and then remove the top choices: all likely tokens but the least likely of them.

    With the given probability, decided by a uniform number u of the step's own (u < probability),
    every token of at least `threshold` is removed except the last of them in rank order; of equal
    ones the highest id counts as the last. "Exclude top choices" by p-e-w (text-generation-webui,
    pull request 6335); llama.cpp has the same rule. Usual values: threshold 0.1, probability 0.5.
    What remains begins at a rank below the first, so clichés go while nonsense does not come in.
    Where fewer than two tokens reach the threshold nothing happens, so at least one always stays;
    above 0.5 no two can, and it has no effect. transformers has no such rule.

    Attributes:
        threshold: least probability of a top choice, above 0 and at most 1.
        probability: how often it acts, 0 to 1; 0 has no effect.
    """

    threshold: float = 0.1
    probability: float = 0.5
    setting: ClassVar[str] = "xtc"

    def __post_init__(self) -> None:
        remedy = "0.1 is usual, above 0.5 has no effect"
        threshold = above("xtc.threshold", self.threshold, 0, 1, remedy)
        remedy = "0.5 is usual, 0 has no effect"
        probability = between("xtc.probability", self.probability, 0, 1, remedy)
        object.__setattr__(self, "threshold", threshold)
        object.__setattr__(self, "probability", probability)

    def no_effect(self) -> str | None:
        if self.probability == 0:
            return "its probability is 0"
        if self.threshold > 0.5:
            return "no two tokens can both reach a threshold above one half"
        return None

    def acts(self, uniform: float) -> bool:
        """Whether it looks for top choices in a step with this number."""
        return uniform < self.probability and self.threshold <= 0.5

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        if not self.acts(context.xtc_uniform):
            return survivors
        top = survivors.above_prob(self.threshold)
        return survivors.between(top.stop - 1, survivors.stop) if top.count > 1 else survivors


@dataclass(frozen=True)
class Mirostat(CutStage):
    """Steer the surprise of the text towards tau by a bound mu that follows what was drawn.

    Keep the tokens of at most mu bits of surprise, -log2 p_i <= mu, at least the most likely one;
    after the draw of token x

        mu <- mu - eta * (-log2 p_x - tau),    mu = 2 tau at first

    Basu et al. 2020, Mirostat 2.0 (arXiv:2007.14966, algorithm 2). p is the distribution just
    before this stage, in the cut and in the update, as in the paper; llama.cpp takes the surprise
    after the cut, which is smaller. tau above 0 (usual 3 to 5), eta above 0 and at most 1 (usual
    0.1). A dull stretch widens the cut, a wild one narrows it. A forced token counts like a drawn
    one; one that an earlier stage had removed has no surprise, and mu stays. transformers has no
    such rule.

    Attributes:
        tau: surprise aimed at, in bits, at most 100.
        eta: share of the error that mu makes up for in a step.
    """

    tau: float = 5.0
    eta: float = 0.1
    setting: ClassVar[str] = "mirostat"

    def __post_init__(self) -> None:
        tau = above("mirostat.tau", self.tau, 0, 100, "3 to 5 bits are usual")
        eta = above("mirostat.eta", self.eta, 0, 1, "0.1 is usual")
        object.__setattr__(self, "tau", tau)
        object.__setattr__(self, "eta", eta)

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        mu = 2 * self.tau if context.mirostat_mu is None else context.mirostat_mu
        return survivors.above_prob(2.0 ** -max(mu, 0.0))  # no surprise is below 0

    def after(self, mu: float | None, before: Survivors, token_id: int) -> MirostatState:
        """What a step hands on to the next one.

        Args:
            mu: as it was before the step; None where Mirostat began there.
            before: the tokens just before this stage.
            token_id: what was drawn or forced.
        """
        mu = 2 * self.tau if mu is None else mu
        surprise = -before.logprob(token_id) / _LN2
        error = 0.0 if surprise == math.inf else surprise - self.tau
        return MirostatState(self.tau, mu - self.eta * error)


def mirostat_mu(chain: Iterable[Stage], before: MirostatState | None) -> float | None:
    """mu for the step after the one that left `before`; None for a chain without Mirostat.

    It begins anew, at 2 tau, after a step without Mirostat or with another tau.
    """
    stage = next((stage for stage in chain if isinstance(stage, Mirostat)), None)
    if stage is None:
        return None
    return before.mu if before is not None and before.tau == stage.tau else 2 * stage.tau
