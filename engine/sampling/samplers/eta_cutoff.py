"""Eta cutoff: keep the tokens above a probability that falls with the entropy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from engine.sampling.samplers.base import NO_CONTEXT, Context
from engine.sampling.samplers.epsilon_cutoff import Cutoff, epsilon_number
from engine.sampling.samplers.info import Info, arxiv
from engine.sampling.survivors import Survivors

if TYPE_CHECKING:
    from transformers import LogitsProcessor


@dataclass(frozen=True)
class EtaCutoff(Cutoff):
    """Keep the tokens of at least probability min(epsilon, sqrt(epsilon) * exp(-H)).

    Hewitt et al. 2022 (arXiv:2210.15191); H is the entropy in nats at its place in the chain.
    0 < epsilon < 1, usual 0.0003 to 0.004. If the model is certain, it acts like the epsilon
    cutoff. If the model is uncertain, the threshold falls with exp(-H), so that many tokens stay.
    The most likely token always reaches it, since its probability is at least exp(-H).

    Figures: ``entropy``, H in bits, and those of `Cutoff`.
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
        numbers=(epsilon_number("Eta cutoff"),),
    )

    def least_prob(self, survivors: Survivors) -> float:
        return min(self.epsilon, math.sqrt(self.epsilon) * math.exp(-survivors.entropy))

    def figures(self, before: Survivors, after: Survivors, context: Context) -> dict[str, float]:
        return {**super().figures(before, after, context), "entropy": before.entropy_bits}

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import EtaLogitsWarper

        return EtaLogitsWarper(float(self.epsilon))
