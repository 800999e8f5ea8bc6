"""Presence penalty, and the base class of the penalties that count generated tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from engine.errors import msg
from engine.sampling.samplers.base import Context, TokenEdit
from engine.sampling.samplers.info import EITHER, MOVES, OPENAI, Info, Number
from engine.sampling.survivors import Survivors


def amount(label: str) -> Number:
    """Return the `Number` of an additive penalty; its slider has the OpenAI API's range."""
    return Number(
        "penalty",
        label,
        slider=(-2, 2, 0.05),
        usual=0.5,
        sweep=(0, 0.25, 0.5, 1, 1.5),
        remedy=msg("use 0 to switch it off, or 0.1 to 1 to reduce repetition"),
        least=-100,
        most=100,
        looser=EITHER,
    )


COUNT_NOTE = {
    "": "{moved:tokens} lowered",
    "raises": "{moved:tokens} raised",
    "none": "no token changes",
    "start": "nothing generated yet",
}


START = "No token has been generated yet, and the prompt does not count. So no score changes."


class CountPenalty(TokenEdit):
    """Base class of the two additive penalties, which count the generated tokens.

    Figures: ``generated``, the number of tokens generated. Cases: ``start`` if that is 0, ``none``
    if no score changed, ``raises`` for a negative penalty, else ``""``.
    """

    penalty: float
    off: ClassVar[float] = 0.0

    def figures(self, before: Survivors, after: Survivors, context: Context) -> dict[str, float]:
        return {"generated": context.generated_ids.size}

    def case(self, before: Survivors, after: Survivors, context: Context) -> str:
        if not context.generated_ids.size:
            return "start"
        case = super().case(before, after, context)
        return "raises" if not case and self.penalty < 0 else case

    def _counted(self, scores: np.ndarray, context: Context) -> tuple[np.ndarray, np.ndarray]:
        """Return the distinct generated tokens, and how often each occurred."""
        generated = context.generated_ids
        return np.unique(generated[generated < scores.size], return_counts=True)


@dataclass(frozen=True)
class PresencePenalty(CountPenalty):
    """Subtract a constant from the score of every token generated so far: z_i - a [c_i > 0].

    c_i counts token i among the *generated* tokens; the prompt does not count, as in the OpenAI API
    and vLLM (llama.cpp counts it too). Usual values are 0.1 to 1; the OpenAI API accepts -2 to 2.
    Negative values reward repetition. It divides the odds of every generated token by exp(a), once.
    transformers has no such rule. It removes nothing.
    """

    penalty: float
    setting: ClassVar[str] = "presence_penalty"
    info: ClassVar[Info] = Info(
        label="Presence penalty",
        group="penalties",
        about="Lowers every generated token by the same amount; the prompt does not count.",
        formula="generated tokens: z − α",
        idle="no score changes",
        picture="edit",
        says={
            "": "Presence penalty subtracts {penalty:number} from generated tokens: "
            "{names:names}. " + MOVES,
            "raises": "A negative presence penalty, {penalty:number}, raises generated tokens: "
            "{names:names}. " + MOVES,
            "none": "No remaining token has been generated before, so presence penalty "
            "changes nothing.",
            "start": START,
        },
        note=COUNT_NOTE,
        paper=OPENAI,
        numbers=(amount("Presence penalty"),),
    )

    def changes(self, scores: np.ndarray, context: Context) -> tuple[np.ndarray, np.ndarray]:
        token_ids, _ = self._counted(scores, context)
        return token_ids, scores[token_ids] - np.float32(self.penalty)
