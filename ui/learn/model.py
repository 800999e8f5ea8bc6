"""The model of all lessons, whose words tell of it."""

from __future__ import annotations

from engine.model import BUNDLED, LanguageModel
from ui.models.opening import load_quietly


def lesson_model() -> LanguageModel:
    """The bundled model, for everybody the same one; raises `DecodingError`."""
    return load_quietly(BUNDLED, None)
