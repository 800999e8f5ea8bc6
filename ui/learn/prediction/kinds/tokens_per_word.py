"""Into how many tokens each word of a text is cut, together with the space before it.

kind = "tokens_per_word"
prompt = "The quokka likes 1234567"
high = 12                                    # end of the scale
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Self

from engine.model import LanguageModel
from ui.learn.prediction.figures import TOKENS
from ui.learn.prediction.prediction import (
    FEWEST,
    MOST,
    Bars,
    Prediction,
    PredictionError,
    read_prompts,
    read_scale,
)
from ui.learn.source import Table
from ui.words.labels import token_label
from ui.words.language import marked

WORD = re.compile(r"\s?\S+")


@dataclass(frozen=True)
class TokensPerWord(Prediction):
    """See the module.

    Attributes, besides those of `Prediction`:
        low, high: the ends of the scale.
    """

    kind: ClassVar[str] = "tokens_per_word"

    low: float
    high: float

    @classmethod
    def read(cls, table: Table) -> Self:
        low, high = read_scale(table, 0.0, None)
        return cls(read_prompts(table), low, high)

    def bars(self, model: LanguageModel, prompt: str) -> Bars:
        words = WORD.findall(prompt)
        if not FEWEST <= len(words) <= MOST:
            raise PredictionError(
                f"The text has {len(words)} words, and this prediction needs {FEWEST} to {MOST}; "
                "write another text."
            )
        labels = tuple(map(token_label, words))
        figure = marked("Tokens of the word")
        return Bars(labels, "", figure, TOKENS, self.low, self.high)

    def truth(self, model: LanguageModel, prompt: str, bars: Bars) -> tuple[float, ...]:
        return tuple(float(len(model.vocabulary.encode(word))) for word in WORD.findall(prompt))
