"""The probabilities of some tokens as the next one, and of all others together.

kind = "next_token"
prompt = "The capital of France is"
tokens = [" Paris", " London", " the"]       # none: the model's own leading tokens
settings = { temperature = 1.0 }
negative_prompt = "There was a"              # with guidance away from it
guidance_scale = 2.0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from engine.decoding.guidance import OFF
from engine.errors import SettingError
from engine.model import LanguageModel
from engine.sampling import Distribution
from ui.learn.prediction.figures import SHARE
from ui.learn.prediction.prediction import (
    MOST,
    Bars,
    PredictionError,
    StepPrediction,
    read_beginning,
)
from ui.learn.source import Table
from ui.texts.texts import Beginning, checked_scale, new_text
from ui.words.labels import token_label
from ui.words.language import marked, say
from ui.words.token_labels import labels_of

OTHERS = marked("All other tokens")
LEADING = 4  # tokens of the model's own choice


@dataclass(frozen=True)
class NextToken(StepPrediction):
    """See the module.

    Attributes, besides those of `StepPrediction`:
        tokens: their texts; for the first prompt alone, as others have leading tokens of their own.
        negative_prompt: what guidance leads away from; None without guidance.
        guidance_scale: how strongly.
    """

    kind: ClassVar[str] = "next_token"

    tokens: tuple[str, ...] = ()
    negative_prompt: str | None = None
    guidance_scale: float = OFF

    @classmethod
    def read(cls, table: Table) -> Self:
        tokens = table.get("tokens", tuple[str, ...], ())
        if len(set(tokens)) < len(tokens) or len(tokens) > MOST - 1:
            table.wrong("tokens", "has a token twice, or too many", f"list at most {MOST - 1}")
        scale = table.get("guidance_scale", float, OFF)
        try:
            checked_scale(scale)
        except SettingError as error:
            table.wrong("guidance_scale", f"is refused: {str(error).rstrip('.')}", "mend it")
        negative = table.get("negative_prompt", str, None)
        return cls(
            **read_beginning(table), tokens=tokens, negative_prompt=negative, guidance_scale=scale
        )

    def bars(self, model: LanguageModel, prompt: str) -> Bars:
        labels = labels_of(model.vocabulary)
        named = tuple(labels[token_id] for token_id in self._ids(model, prompt))
        figure = marked("Probability as the next token")
        return Bars((*named, say(OTHERS)), "", figure, SHARE, is_distribution=True)

    def truth(self, model: LanguageModel, prompt: str, bars: Bars) -> tuple[float, ...]:
        row = self._row(model, prompt)
        named = [row.probability(token_id) for token_id in self._ids(model, prompt)]
        return (*named, max(0.0, 1.0 - sum(named)))

    def _row(self, model: LanguageModel, prompt: str) -> Distribution:
        beginning = Beginning(
            prompt, negative_prompt=self.negative_prompt, scale=self.guidance_scale
        )
        return new_text(model, beginning, self.settings).next_distribution()

    def _ids(self, model: LanguageModel, prompt: str) -> list[int]:
        if self.tokens and prompt == self.prompts[0]:
            return [_id(model, text) for text in self.tokens]
        found = self._row(model, prompt).candidates(LEADING)
        # By their letters, as their order would give their probabilities away.
        return sorted((one.token_id for one in found), key=model.vocabulary.label)


def _id(model: LanguageModel, text: str) -> int:
    ids = model.vocabulary.encode(text)
    if len(ids) != 1:
        raise PredictionError(
            say(
                "{token} is {count} tokens in {model}, and this prediction needs one; "
                "predict with the bundled model, or with another prompt.",
                token=token_label(text),
                count=len(ids),
                model=model.name,
            )
        )
    return ids[0]
