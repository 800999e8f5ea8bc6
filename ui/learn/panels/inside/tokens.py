"""Labels of the tokens of a text."""

from __future__ import annotations

from engine.decoding.inputs import prompt_ids
from engine.model import LanguageModel
from ui.words.labels import token_label


def labels(model: LanguageModel, text: str) -> tuple[str, ...]:
    """The tokens of a text as pages write them; raises `PromptError` if there are none."""
    return tuple(token_label(model.vocabulary.label(one)) for one in prompt_ids(model, text))
