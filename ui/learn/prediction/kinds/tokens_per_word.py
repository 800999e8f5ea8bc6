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
from ui.learn.prediction.prediction import (
    FEWEST,
    MOST,
    Bars,
    Prediction,
    PredictionError,
    Unit,
    read_prompts,
    read_scale,
)
from ui.learn.source import Table
from ui.words.labels import token_label

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
        unit = Unit("tokens", one="token")
        return Bars(labels, "", "Tokens of the word", unit, self.low, self.high)

    def truth(self, model: LanguageModel, prompt: str, bars: Bars) -> tuple[float, ...]:
        return tuple(float(len(model.vocabulary.encode(word))) for word in WORD.findall(prompt))
