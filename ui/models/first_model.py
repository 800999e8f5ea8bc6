"""Loading the first model of a visit or a record, with progress for the waiting visitor."""

from __future__ import annotations

from collections.abc import Callable

from engine.errors import DecodingError, ModelNotFoundError
from engine.model import BUNDLED, LanguageModel, is_here
from ui.models.choice import Choice
from ui.models.chooser import Load, check_allowed, first_choice
from ui.models.servers import is_address
from ui.visits.visits import Abandoned
from ui.words.errors import in_words
from ui.words.language import say

LOOK_SECONDS = 0.1

Told = Callable[[str, int, int | None], None]


def first_model(told: Told, should_stop: Callable[[], bool]) -> tuple[LanguageModel, str]:
    """Return the model that a visit begins with, and a message if it replaces the configured one.

    Args:
        told: called with the stage, the amount done and the total amount.
        should_stop: returns True once the model is no longer wanted.

    Raises:
        Abandoned: the model is no longer wanted.
        DecodingError: not even the bundled model can be loaded.
    """
    choice = first_choice()
    try:
        return _loaded(choice, told, should_stop), ""
    except DecodingError as error:
        if choice == Choice(BUNDLED):
            raise
        model = _loaded(Choice(BUNDLED), told, should_stop)
        problem = f"DECODING_MODEL={choice}: {in_words(error)}"
        instead = say("The bundled model is in use instead.")
        return model, f"{problem} {instead}"


def load(
    source: str, revision: str | None, told: Told, should_stop: Callable[[], bool]
) -> LanguageModel:
    """Return the model that a record names, without a download, as anyone may have written it.

    Raises:
        Abandoned: the model is no longer wanted.
        DecodingError: it may not or cannot be loaded here.
    """
    choice = Choice(source, revision, local_files_only=True)
    check_allowed(choice)
    if not is_address(source) and not is_here(source, revision):
        raise ModelNotFoundError(
            say(
                "The model {choice} is not on this computer; load it or another copy of it first, "
                "then open the text again.",
                choice=choice,
            )
        )
    return _loaded(choice, told, should_stop)


def load_quietly(source: str, revision: str | None) -> LanguageModel:
    """Return the model that a record names, without reporting progress."""
    return load(source, revision, lambda what, done, total: None, lambda: False)


def _loaded(choice: Choice, told: Told, should_stop: Callable[[], bool]) -> LanguageModel:
    waited = Load.join(choice)
    try:
        while not waited.wait(LOOK_SECONDS):
            told(*waited.stage)
            if should_stop():
                raise Abandoned
    finally:
        waited.leave()
    if waited.failure is not None:
        raise waited.failure
    return waited.result
