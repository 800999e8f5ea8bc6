"""The bundled model, over whose vocabulary the masks are checked."""

import pytest

from engine.model import LanguageModel
from tests.bundled import bundled


@pytest.fixture(scope="session", name="bundled")
def the_bundled_model() -> LanguageModel:
    return bundled()
