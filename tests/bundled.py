"""The model that the app loads first, for tests that compute with it."""

from functools import cache

from engine.model import LanguageModel, load_model


@cache
def bundled() -> LanguageModel:
    """Load the model once for all files of a process; reading changes nothing in it."""
    return load_model()
