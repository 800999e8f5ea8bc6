"""Mirostat: hold the surprisal of the drawn tokens near a target."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from engine.errors import msg
from engine.sampling.samplers.base import Context, CutStage
from engine.sampling.samplers.info import REMOVES, UP, Info, Number, arxiv
from engine.sampling.survivors import Survivors

_LN2 = math.log(2.0)
_LIMIT = "a surprisal of at most μ = {surprise_limit:bits}"


@dataclass(frozen=True)
class MirostatState:
    """State that Mirostat keeps between steps.

    Attributes:
        tau: the target surprisal that mu was steered by, in bits.
        mu: limit on the surprisal in the next step, in bits.
    """

    tau: float
    mu: float


@dataclass(frozen=True)
class Mirostat(CutStage):
    """Steer the surprisal of the text towards tau, by a limit mu that follows the drawn tokens.

    Keep the tokens of at most mu bits of surprisal, -log2 p_i <= mu, at least the most likely one;
    after the draw of token x

        mu <- mu - eta * (-log2 p_x - tau),    mu = 2 tau at first

    Basu et al. 2020, Mirostat 2.0 (arXiv:2007.14966, algorithm 2). p is the distribution just
    before this stage, in the cut and in the update, as in the paper. llama.cpp uses the surprisal
    after the cut, which is smaller. tau is above 0 (usual 3 to 5), eta above 0 and at most 1 (usual
    0.1). Predictable tokens loosen the cut, surprising ones tighten it. A forced token counts like
    a drawn one. One that an earlier stage had removed has no surprisal, and mu stays. transformers
    has no such rule.

    Figures: ``mu``, in bits; ``surprise_limit``, the same but not below 0; ``threshold``, the
    probability with that surprisal. Cases: ``short`` if no token reaches it; ``none``; else
    ``""``.

    Attributes:
        tau: target surprisal, in bits, at most 100.
        eta: share of the error that mu corrects in a step.
    """

    tau: float = 5.0
    eta: float = 0.1
    setting: ClassVar[str] = "mirostat"

    info: ClassVar[Info] = Info(
        label="Mirostat",
        in_text="Mirostat",
        group="adaptive",
        about="Holds the surprisal of the text near τ: each draw moves the limit μ of the next.",
        formula="keep −log2 p[i] ≤ μ; then μ → μ − η · (surprisal − τ)",
        idle="the surprisal is not controlled",
        picture="threshold",
        says={
            "": "Mirostat keeps tokens with " + _LIMIT + ". " + REMOVES,
            "none": "Every remaining token has " + _LIMIT + ", so Mirostat removes none.",
            "short": "No token has " + _LIMIT + ", so Mirostat keeps only the top token.",
        },
        note={"": "μ = {surprise_limit:bits}"},
        paper=arxiv("Basu et al. 2020", "2007.14966"),
        numbers=(
            Number(
                "tau",
                "Target τ, bits",
                slider=(0.1, 10, 0.1),
                usual=5,
                remedy=msg("3 to 5 bits are usual"),
                least=0,
                most=100,
                open_below=True,
                looser=UP,
            ),
            # Affects only later steps.
            Number(
                "eta",
                "Rate η",
                slider=(0.01, 1, 0.01),
                usual=0.1,
                remedy=msg("0.1 is usual"),
                least=0,
                most=1,
                open_below=True,
            ),
        ),
    )

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        return survivors.above_prob(2.0 ** -self._surprise_limit(context))

    def _surprise_limit(self, context: Context) -> float:
        return max(self.state(context).mu, 0.0)  # a surprisal is never below 0

    def figures(self, before: Survivors, after: Survivors, context: Context) -> dict[str, float]:
        limit = self._surprise_limit(context)
        mu = self.state(context).mu
        return {"mu": mu, "surprise_limit": limit, "threshold": 2.0**-limit}

    def case(self, before: Survivors, after: Survivors, context: Context) -> str:
        if before.leader_prob < 2.0 ** -self._surprise_limit(context):
            return "short"
        return super().case(before, after, context)

    def initial_state(self) -> MirostatState:
        return MirostatState(self.tau, 2 * self.tau)

    def resumed(self, left: MirostatState) -> MirostatState:
        # A new tau resets mu; with a new eta, mu continues from its value.
        return left if left.tau == self.tau else self.initial_state()

    def after(self, state: MirostatState, token_id: int, before: Survivors) -> MirostatState:
        surprise = -before.logprob(token_id) / _LN2
        error = 0.0 if surprise == math.inf else surprise - self.tau
        return MirostatState(self.tau, state.mu - self.eta * error)

    def recorded(self, context: Context) -> dict[str, float]:
        return {"mu": self.state(context).mu}
