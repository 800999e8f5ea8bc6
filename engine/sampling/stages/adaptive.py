"""Stages that depend on the step: XTC on its random number, Mirostat on the tokens drawn so far."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from engine.errors import msg
from engine.sampling.stages.base import Context, CutStage
from engine.sampling.stages.info import DOWN, REMOVES, UP, Info, Number, Paper, arxiv
from engine.sampling.survivors import Survivors

_LN2 = math.log(2.0)
_XTC_ACTS = "XTC is active: its random number {u:u} is below its probability {probability:number}. "
_LIMIT = "a surprisal of at most μ = {surprise_limit:bits}"


@dataclass(frozen=True)
class Xtc(CutStage):
    """Remove the top choices now and then: all likely tokens except the least likely one.

    It acts with the given probability: if the step's own uniform number u is below it. Then every
    token of at least `threshold` is removed except the last in rank order. Among equals, the
    highest id counts as the last. "Exclude top choices" by p-e-w (text-generation-webui, pull
    request 6335). Usual values: threshold 0.1, probability 0.5.

    The remaining tokens begin at a rank below the first, so clichés go while nonsense does not come
    in. If fewer than two tokens reach the threshold, nothing happens, so at least one always stays.
    With a threshold above 0.5 no two can, and it has no effect. transformers has no such rule.

    As in that program, it also does nothing if the end of the text or a line break would be
    removed, since a text without its end runs on. llama.cpp removes those two as well.

    Figures: ``u``, the step's own number. Cases: ``rests`` if u is not below the probability;
    ``few`` if fewer than two tokens reach the threshold; ``spares`` if the end or a line break
    would go; ``acts``.

    Attributes:
        threshold: least probability of a top choice, above 0 and at most 1.
        probability: how often it acts, 0 to 1; 0 has no effect.
    """

    threshold: float = 0.1
    probability: float = 0.5
    setting: ClassVar[str] = "xtc"
    stream: ClassVar[int] = 1
    keeps_the_best: ClassVar[bool] = False

    info: ClassVar[Info] = Info(
        label="XTC",
        in_text="XTC",
        group="truncation",
        about="Sometimes removes the top choices: all that reach the threshold except the last.",
        formula="with this probability: remove p[i] ≥ threshold except the least likely of them, "
        "unless the end of the text or a line break would go",
        idle="the top tokens stay",
        picture="window",
        says={
            "rests": "XTC is inactive: its random number {u:u} is not below its probability "
            "{probability:number}.",
            "few": _XTC_ACTS + "Fewer than two tokens reach {threshold:share}, so it removes none.",
            "spares": _XTC_ACTS
            + "It would remove the end of the text or a line break, so it removes none.",
            "acts": _XTC_ACTS + "Of all tokens that reach {threshold:share} it removes the top "
            "{removed:count}, with {mass_removed:percent} of the probability.",
        },
        note={
            "rests": "inactive: its own u {u:u} ≥ {probability:number}",
            "few": "fewer than two top choices: its own u {u:u} < {probability:number}",
            "spares": "spares end or line break: its own u {u:u} < {probability:number}",
            "acts": "active: its own u {u:u} < {probability:number}",
        },
        paper=Paper(
            "XTC (p-e-w 2024)", "https://github.com/oobabooga/text-generation-webui/pull/6335"
        ),
        numbers=(
            Number(
                "threshold",
                "Threshold",
                slider=(0.01, 0.5, 0.01),
                usual=0.1,
                remedy=msg("0.1 is usual, above 0.5 has no effect"),
                least=0,
                most=1,
                open_below=True,
                looser=UP,
            ),
            Number(
                "probability",
                "Probability",
                slider=(0, 1, 0.01),
                usual=0.5,
                remedy=msg("0.5 is usual, 0 has no effect"),
                least=0,
                most=1,
                looser=DOWN,
            ),
        ),
    )

    def no_effect(self) -> str | None:
        if self.probability == 0:
            return msg("its probability is 0")
        if self.threshold > 0.5:
            return msg("no two tokens can both reach a threshold above one half")
        return None

    def acts(self, uniform: float) -> bool:
        """Return whether it looks for top choices in a step with this random number."""
        return uniform < self.probability and self.threshold <= 0.5

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        if not self.acts(context.uniform(self.stream)):
            return survivors
        top = survivors.above_prob(self.threshold)
        spared = (*context.eos_ids, *context.line_break_ids)
        if top.count < 2 or np.isin(top.ids[:-1], spared).any():
            return survivors
        return survivors.between(top.stop - 1, survivors.stop)

    def figures(self, before: Survivors, after: Survivors, context: Context) -> dict[str, float]:
        return {"u": context.uniform(self.stream)}

    def case(self, before: Survivors, after: Survivors, context: Context) -> str:
        if context.uniform(self.stream) >= self.probability:
            return "rests"
        if after.count < before.count:
            return "acts"
        return "spares" if before.above_prob(self.threshold).count > 1 else "few"


@dataclass(frozen=True)
class MirostatState:
    """State that Mirostat keeps between steps.

    Attributes:
        tau: the surprise that mu was steered towards, in bits.
        mu: bound on the surprise in the next step, in bits.
    """

    tau: float
    mu: float


@dataclass(frozen=True)
class Mirostat(CutStage):
    """Steer the surprise of the text towards tau by a bound mu that follows the drawn tokens.

    Keep the tokens of at most mu bits of surprise, -log2 p_i <= mu, at least the most likely one;
    after the draw of token x

        mu <- mu - eta * (-log2 p_x - tau),    mu = 2 tau at first

    Basu et al. 2020, Mirostat 2.0 (arXiv:2007.14966, algorithm 2). p is the distribution just
    before this stage, in the cut and in the update, as in the paper. llama.cpp takes the surprise
    after the cut, which is smaller. tau is above 0 (usual 3 to 5), eta above 0 and at most 1 (usual
    0.1). A dull stretch widens the cut, a wild one narrows it. A forced token counts like a drawn
    one. One that an earlier stage had removed has no surprise, and mu stays. transformers has no
    such rule.

    Figures: ``mu``, in bits; ``surprise_limit``, the same but not below 0; ``threshold``, the
    probability with that surprise. Cases: ``short`` if no token reaches it; ``none``; else
    ``""``.

    Attributes:
        tau: target surprise, in bits, at most 100.
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
        return max(self.state(context).mu, 0.0)  # a surprise is never below 0

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
