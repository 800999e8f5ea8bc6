import pytest

from engine.model import LanguageModel
from tests.ui import hostile
from tests.ui.compare.comparing import PROMPT, settle
from ui.compare.comparison import Comparison


@pytest.fixture(scope="package")
def model() -> LanguageModel:
    """A model whose texts do not end on their own."""
    tokenizer = hostile.tokenizer()
    tokenizer.eos_token = None
    return LanguageModel(hostile.language_model(context=128), tokenizer, name="plain")


@pytest.fixture
def comparison(model) -> Comparison:
    made = Comparison(model)
    made.change(prompt=PROMPT)
    settle(made)
    assert made.error == ""
    return made
