"""A tiny model that writes text and can end it."""

import pytest

from engine.model import LanguageModel


@pytest.fixture(scope="session")
def ending_model(text_hf, tokenizer) -> LanguageModel:
    """The tiny text model with the tokenizer's end of text; no test may change it."""
    model = LanguageModel(text_hf, tokenizer, name="tiny text model")
    assert len(model.eos_ids) == 1
    return model
