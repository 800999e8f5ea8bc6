"""The model that the app loads first, for tests that compute with it."""

from functools import cache

from engine.model import LanguageModel, load_model


@cache
def bundled() -> LanguageModel:
    """Load the model once for all files of a process; reading changes nothing in it."""
    return load_model()


CHAT_TEMPLATE = "{% for m in messages %}{{ m.role }}\n{{ m.content }}\n{% endfor %}assistant\n"


@cache
def chatting() -> LanguageModel:
    """Load the model once more, with a chat template."""
    model = load_model()
    model.vocabulary.tokenizer.chat_template = CHAT_TEMPLATE
    return model
