"""Inputs of a page, given and checked by a lesson."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

from msgspec import field

from engine.errors import DecodingError
from ui.labs.inputs import PlainInputs
from ui.learn.functions import Functions
from ui.learn.panels.panel import Live, Panel
from ui.learn.source import check_known, refusing


class InputsPanel(Panel[Live], kw_only=True):
    """A panel that begins with given inputs of a page.

    Attributes in addition to those of `Panel`:
        given: the inputs that differ from the page's own, by name.
    """

    given: dict[str, Any] = field(name="inputs", default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.inputs  # refuses wrong inputs at once

    @abstractmethod
    def usual(self) -> PlainInputs:
        """Return the page's own inputs."""

    @cached_property
    def inputs(self) -> Any:
        """The inputs that the page begins with here."""
        usual = self.usual()
        known = usual.record()
        check_known("inputs", self.given, known)
        with refusing("inputs"):
            return type(usual).restored(known | self.given)


def input_measures(inputs_of: Callable[[Any], PlainInputs]) -> Functions:
    """Return the measures of a page's inputs, for checks.

    Args:
        inputs_of: returns the inputs of a live state.
    """
    measures = Functions()

    def found(live: Any, name: str, kind: type | tuple[type, ...]) -> Any:
        value = inputs_of(live).record().get(name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            known = ", ".join(inputs_of(live).record())
            raise DecodingError(f'"{name}" is not an input of that kind; the page has {known}.')
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
