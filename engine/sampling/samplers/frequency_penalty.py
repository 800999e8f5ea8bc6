"""Frequency penalty: lower a token's score for each time it was generated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from engine.sampling.samplers.base import Context
from engine.sampling.samplers.info import MOVES, OPENAI, Info
from engine.sampling.samplers.presence_penalty import COUNT_NOTE, START, CountPenalty, amount


@dataclass(frozen=True)
class FrequencyPenalty(CountPenalty):
    """Subtract a constant from a token's score for each time it was generated: z_i - a c_i.

    c_i counts token i among the *generated* tokens; the prompt does not count, as in the OpenAI API
    and vLLM (llama.cpp counts it too). Usual values are 0.1 to 1; the OpenAI API accepts -2 to 2.
    Negative values reward repetition. A frequent word becomes less likely with every use, even if
    the text needs it often. transformers has no such rule. It removes nothing.
    """

    penalty: float
    setting: ClassVar[str] = "frequency_penalty"
    info: ClassVar[Info] = Info(
        label="Frequency penalty",
        group="penalties",
        about="Lowers a generated token further each time it occurs; the prompt does not count.",
        formula="generated tokens: z − α · count",
        idle="no score changes",
        picture="edit",
        says={
            "": "Frequency penalty subtracts {penalty:number} per use from generated tokens: "
            "{names:names}. " + MOVES,
            "raises": "A negative frequency penalty, {penalty:number}, raises generated tokens: "
            "{names:names}. " + MOVES,
            "none": "No remaining token has been generated before, so frequency penalty "
            "changes nothing.",
            "start": START,
        },
        note=COUNT_NOTE,
        paper=OPENAI,
        numbers=(amount("Frequency penalty"),),
    )

    def changes(self, scores: np.ndarray, context: Context) -> tuple[np.ndarray, np.ndarray]:
        token_ids, times = self._counted(scores, context)
        return token_ids, scores[token_ids] - np.float32(self.penalty) * times.astype(np.float32)
