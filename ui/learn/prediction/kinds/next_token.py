"""The probabilities of some tokens as the next one, and of all others together.

kind = "next_token"
prompt = "The capital of France is"
tokens = [" Paris", " London", " the"]       # none: the model's own leading tokens
settings = { temperature = 1.0 }
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from engine.decoder import Decoder
from engine.model import LanguageModel
from ui.learn.prediction.figures import SHARE
from ui.learn.prediction.prediction import (
    MOST,
    Bars,
    PredictionError,
    StepPrediction,
    read_beginning,
)
from ui.learn.source import Table
from ui.words.labels import token_label
from ui.words.token_labels import labels_of

OTHERS = "All other tokens"
LEADING = 4  # tokens of the model's own choice


@dataclass(frozen=True)
class NextToken(StepPrediction):
    """See the module.

    Attributes, besides those of `StepPrediction`:
        tokens: their texts; for the first prompt alone, as others have leading tokens of their own.
    """

    kind: ClassVar[str] = "next_token"

    tokens: tuple[str, ...] = ()

    @classmethod
    def read(cls, table: Table) -> Self:
        tokens = table.texts("tokens", ())
        if len(set(tokens)) < len(tokens) or len(tokens) > MOST - 1:
            table.wrong("tokens", "has a token twice, or too many", f"list at most {MOST - 1}")
        return cls(**read_beginning(table), tokens=tokens)

    def bars(self, model: LanguageModel, prompt: str) -> Bars:
        labels = labels_of(model.vocabulary)
        named = tuple(labels[token_id] for token_id in self._ids(model, prompt))
        figure = "Probability as the next token"
        return Bars((*named, OTHERS), "", figure, SHARE, is_distribution=True)

    def truth(self, model: LanguageModel, prompt: str, bars: Bars) -> tuple[float, ...]:
        decoder = Decoder(model, prompt, self.settings)
        decoder.step()
        row = decoder.distribution(0)
        named = [row.probability(token_id) for token_id in self._ids(model, prompt)]
        return (*named, max(0.0, 1.0 - sum(named)))

    def _ids(self, model: LanguageModel, prompt: str) -> list[int]:
        if self.tokens and prompt == self.prompts[0]:
            return [_id(model, text) for text in self.tokens]
        decoder = Decoder(model, prompt, self.settings)
        decoder.step()
        found = decoder.distribution(0).candidates(LEADING)
        # By their letters, as their order would give their probabilities away.
        return sorted((one.token_id for one in found), key=model.vocabulary.label)


def _id(model: LanguageModel, text: str) -> int:
    ids = model.vocabulary.encode(text)
    if len(ids) != 1:
        raise PredictionError(
            f"{token_label(text)} is {len(ids)} tokens in {model.name}, and this prediction needs "
            "one; predict with the bundled model, or with another prompt."
        )
    return ids[0]
