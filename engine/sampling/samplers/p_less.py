"""P-less: keep the tokens at least as likely as two draws are to give the same token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from engine.sampling.samplers.base import Context, CutStage
from engine.sampling.samplers.info import Info, arxiv
from engine.sampling.survivors import Survivors


@dataclass(frozen=True)
class PLess(CutStage):
    """Keep the tokens at least as likely as a collision of two draws: p_i >= sum of p_j^2.

    Tan et al. 2025, p-less sampling (arXiv:2509.23234). The sum, at its place in the chain, is the
    probability that two independent draws give the same token. It is high if the model is certain,
    low if it is not, and lower at a higher temperature. There is no number to set. The most likely
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
            "": "Two draws give the same token with probability {threshold:percent}. P-less "
            "removes {removed:tokens} below that, with {mass_removed:percent} of the "
            "probability.",
            "none": "Two draws give the same token with probability {threshold:percent}. "
            "Every remaining token reaches that, so p-less removes none.",
        },
        note={"": "Σ p² = {threshold:percent}"},
        paper=arxiv("Tan et al. 2025", "2509.23234"),
    )

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        return survivors.above_prob(_collision(survivors))

    def figures(self, before: Survivors, after: Survivors, context: Context) -> dict[str, float]:
        return {"threshold": _collision(before)}


def _collision(survivors: Survivors) -> float:
    """Return the probability that two independent draws give the same token."""
    weights = survivors.weights
    return float(weights @ weights) / survivors.mass**2
