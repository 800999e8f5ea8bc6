"""The limit on a prompt's length, on every page."""

import pytest

from engine.errors import PromptError
from engine.model.vocabulary import Vocabulary
from engine.sampling import SamplingSettings
from ui.texts.limits import LONGEST_PROMPT
from ui.texts.texts import Beginning, new_text


@pytest.mark.parametrize(
    ("beginning", "said"),
    [
        (Beginning("w" * 3_900_000), "The prompt has 3,900,000 characters; use at most 20,000."),
        (
            Beginning("w1", negative_prompt="w" * 20_001, scale=2.0),
            "The negative prompt has 20,001 characters; use at most 20,000.",
        ),
        (Beginning("w" * 20_001, chat=True), "The prompt has 20,001 characters; use at most 20,"),
    ],
)
def test_overlong_prompt_is_refused_before_tokenization(model, monkeypatch, beginning, said):
    def read(*_):
        pytest.fail("it was split into tokens")

    monkeypatch.setattr(Vocabulary, "chat_ids", read)
    monkeypatch.setattr("engine.decoding.prompt.encode_prompt", read)
    with pytest.raises(PromptError) as caught:
        new_text(model, beginning, SamplingSettings())
    assert str(caught.value).startswith(said)


def test_the_longest_prompt_goes_to_the_model(model):
    with pytest.raises(PromptError, match="shorten it to"):  # the tiny model's own limit
        new_text(model, Beginning("w1|" * (LONGEST_PROMPT // 3)), SamplingSettings())
