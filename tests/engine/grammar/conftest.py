"""The bundled model, over whose vocabulary the masks are checked."""

import pytest

from engine.model import LanguageModel, load_model


@pytest.fixture(scope="session")
def bundled() -> LanguageModel:
    return load_model()
