"""Inputs of a page as a lesson gives them and asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from engine.errors import DecodingError
from ui.labs.inputs import PlainInputs
from ui.learn.functions import Functions
from ui.learn.source import Table
from ui.visits.records import BrokenRecord

AnyInputs = TypeVar("AnyInputs", bound=PlainInputs)


def read_inputs(table: Table, usual: AnyInputs) -> AnyInputs:
    """The page's own inputs, with those of the table `inputs` in their place.

    Raises:
        LessonError: an input that the page does not have, or of another type.
    """
    known = usual.record()
    given = table.get("inputs", dict, {})
    for name in given:
        if name not in known:
            table.wrong(f"inputs.{name}", "is no input of this page", f"use {', '.join(known)}")
    try:
        return type(usual).restored(known | given)
    except BrokenRecord as error:
        table.wrong("inputs", f"are refused ({error})", "give that one a value of its own type")


def input_measures(inputs_of: Callable[[Any], PlainInputs]) -> Functions:
    """What checks may ask of a page's inputs.

    Args:
        inputs_of: the inputs of a live state.
    """
    measures = Functions()

    def found(live: Any, name: str, kind: type | tuple[type, ...]) -> Any:
        value = inputs_of(live).record().get(name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            known = ", ".join(inputs_of(live).record())
            raise DecodingError(f'"{name}" is no input of that kind; the page has {known}.')
        return value

    @measures.add
    def number(live: Any, name: str) -> float:
        """An input of the page that is a number, by its name in `inputs`."""
        return found(live, name, (int, float))

    @measures.add
    def chosen(live: Any, name: str) -> str:
        """An input of the page that is a text or a choice, by its name in `inputs`."""
        return found(live, name, str)

    @measures.add
    def switched_on(live: Any, name: str) -> bool:
        """An input of the page that is on or off, by its name in `inputs`."""
        return found(live, name, bool)

    return measures
