"""Epsilon cutoff, and the base class of cutoffs at a probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from engine.errors import msg
from engine.sampling.samplers.base import NO_CONTEXT, Context, CutStage
from engine.sampling.samplers.info import DOWN, REMOVES, Info, Number, arxiv
from engine.sampling.survivors import Survivors

if TYPE_CHECKING:
    from transformers import LogitsProcessor


def epsilon_number(label: str) -> Number:
    """Return the `Number` of a cutoff: its epsilon, with range and slider."""
    return Number(
        "epsilon",
        label,
        slider=(0, 0.01, 0.0001),
        usual=0.0009,
        sweep=(0, 0.0003, 0.001, 0.003, 0.01),
        remedy=msg("use 0 to switch it off, 0.0003 to 0.004 is usual"),
        least=0,
        most=1,
        open_below=True,
        open_above=True,
        looser=DOWN,
    )


class Cutoff(CutStage):
    """Base class of Hewitt et al.'s two cutoffs, each with its own minimum probability.

    Figures: ``threshold``, that probability. Cases: ``none``, else ``""``.
    """

    epsilon: float
    off: ClassVar[float] = 0.0

    def figures(self, before: Survivors, after: Survivors, context: Context) -> dict[str, float]:
        return {"threshold": self.least_prob(before)}

    def least_prob(self, survivors: Survivors) -> float:
        """Return the probability below which tokens are removed."""
        raise NotImplementedError

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        kept = survivors.above_prob(self.least_prob(survivors))
        # If none reaches it, the most likely token stays, and every token tied with it.
        return survivors.leading(1, with_ties=True) if kept.count == 1 else kept


@dataclass(frozen=True)
class EpsilonCutoff(Cutoff):
    """Keep the tokens of at least probability epsilon.

    Hewitt et al. 2022 (arXiv:2210.15191). 0 < epsilon < 1, usual 0.0003 to 0.0009. The threshold is
    constant: it cuts little if the model is certain, and too much if thousands of tokens share the
    mass. If no token reaches it, the most likely one stays, and every token tied with it.

    Figures: those of `Cutoff`. Cases: ``short`` if no token reaches it; ``none``; else ``""``.
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
            "": "Epsilon cutoff keeps tokens with a probability of at least {epsilon:share}. "
            + REMOVES,
            "none": "Every remaining token has a probability of at least {epsilon:share}, so "
            "epsilon cutoff removes none.",
            "short": "No token reaches {epsilon:share}, so epsilon cutoff keeps only the top "
            "{after:tokens}.",
        },
        paper=arxiv("Hewitt et al. 2022", "2210.15191"),
        numbers=(epsilon_number("Epsilon cutoff"),),
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
