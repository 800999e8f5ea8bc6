"""The engine's errors and messages in the visitor's language.

told(error)        "Top-p muss über 0 und höchstens 1 sein, gegeben: 1,4; …"
in_words(error)    "top_p muss …", with each setting by its name in code
"""

from __future__ import annotations

from engine.errors import DecodingError, Message, SettingError, shown_value
from engine.sampling import STAGES
from ui.words.language import say


def told(error: Exception | str) -> str:
    """Return an error or a message in the current language, with samplers by their labels."""
    if isinstance(error, SettingError) and error.setting in STAGES:
        return in_words(error, setting=say(STAGES[error.setting].info.label))
    return in_words(error)


def in_words(error: Exception | str, **values: str) -> str:
    """Return an error or a message in the current language, with settings as in code: ``top_p``."""
    if isinstance(error, SettingError) and isinstance(error.value, Message):
        values["value"] = shown_value(say(error.value))
    if isinstance(error, DecodingError):
        error = error.message
    return say(error if isinstance(error, str) else str(error), **values)
