"""Repetition penalty: divide the scores of tokens that occurred before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.errors import SettingError, msg
from engine.sampling.samplers.base import NO_CONTEXT, Context, TokenEdit
from engine.sampling.samplers.info import EITHER, MOVES, Info, Number, arxiv, finite
from engine.sampling.survivors import Survivors

if TYPE_CHECKING:
    from transformers import LogitsProcessor


@dataclass(frozen=True)
class RepetitionPenalty(TokenEdit):
    """Make every token that has already occurred, in the prompt or after it, less likely.

    A seen token's logit is divided by `penalty` if positive and multiplied by it if negative, once,
    however often the token occurred. Keskar et al. 2019 (CTRL, arXiv:1909.05858), with the sign
    rule that transformers added. Usual values are 1.1 to 1.3; below 1 rewards repetition.

    Figures: none of its own. Cases: ``none`` if no score changed, ``raises`` below 1, else ``""``.
    """

    penalty: float
    setting: ClassVar[str] = "repetition_penalty"
    needs: ClassVar[tuple[str, ...]] = ("logits",)  # whose sign decides
    off: ClassVar[float] = 1.0
    info: ClassVar[Info] = Info(
        label="Repetition penalty",
        group="penalties",
        about="Lowers the score of every token that is already in the text, once.",
        formula="tokens of the text: z / r where z > 0, z · r where z < 0",
        idle="no score changes",
        picture="edit",
        says={
            "": "Repetition penalty lowers tokens of the text: {names:names}. " + MOVES,
            "raises": "Below 1, repetition penalty raises tokens of the text: {names:names}. "
            + MOVES,
            "none": "No remaining token is already in the text, so repetition penalty "
            "changes nothing.",
        },
        note={
            "": "{moved:tokens} of the text lowered",
            "raises": "{moved:tokens} of the text raised",
            "none": "no token changes",
        },
        paper=arxiv("Keskar et al. 2019 (CTRL)", "1909.05858"),
        numbers=(
            Number(
                "penalty",
                "Repetition penalty",
                slider=(1, 2, 0.01),
                usual=1.2,
                sweep=(1, 1.05, 1.1, 1.2, 1.4),
                remedy=msg("use 1 to switch it off, 1.1 to 1.3 against loops"),
                # Logits beyond float32's range would become infinite.
                least=0.001,
                most=1000,
                looser=EITHER,
            ),
        ),
    )

    def __post_init__(self) -> None:
        (limits,) = self.info.numbers
        if finite(self.setting, self.penalty, limits.remedy) <= 0:
            raise SettingError(self.setting, self.penalty, "must be above 0", limits.remedy)
        super().__post_init__()

    def case(self, before: Survivors, after: Survivors, context: Context) -> str:
        case = super().case(before, after, context)
        return "raises" if not case and self.penalty < 1 else case

    def changes(self, scores: np.ndarray, context: Context) -> tuple[np.ndarray, np.ndarray]:
        # A tokenizer may know ids that the model has no output for.
        seen = context.token_ids[context.token_ids < scores.size]
        old, penalty = scores[seen], np.float32(self.penalty)
        with np.errstate(over="ignore"):
            return seen, np.where(old < 0, old * penalty, old / penalty)

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import RepetitionPenaltyLogitsProcessor

        return RepetitionPenaltyLogitsProcessor(float(self.penalty))
