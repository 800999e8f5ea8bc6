"""Functions that a lesson may name: a panel's measures and a person's actions in it.

A lesson writes the name and the arguments in a table of its file. A function's first parameter is
the live state of a panel. The table may contain the others, with their types and defaults.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Generic, TypeVar

from msgspec import Struct, defstruct

from engine.values import Number
from ui.learn.source import check_known, fitted, refuse

Live = TypeVar("Live")
Result = TypeVar("Result")
Hook = Callable[[type, Any], Any]
Fields = tuple[tuple[Any, ...], ...]  # name, type and perhaps default of each
KINDS = {"str": str, "int": int, "float": Number, "bool": bool}


class Call(Generic[Live, Result]):
    """A function bound to the arguments that a lesson gives it.

    Args:
        function: the function.
        arguments: the arguments by name.
    """

    def __init__(self, function: Callable[..., Result], arguments: Mapping[str, Any]) -> None:
        self.function, self.arguments = function, arguments
        self.name = function.__name__  # as written in lessons

    def __call__(self, live: Live) -> Result:
        return self.function(live, **self.arguments)


class Functions(dict[str, Callable]):
    """Functions by name, such as all measures of a panel."""

    def add(self, function: Callable[..., Result]) -> Callable[..., Result]:
        """Register a function for lessons; its docstring tells authors its value or effect."""
        self[function.__name__] = function
        return function

    def named(self, data: Any, field: str) -> Callable:
        """Return the function that a field of a table names; raises `Refused`."""
        table = fitted(data, dict[str, Any])
        if field not in table:
            refuse(field, "is missing", "add it")
        check_known(field, [table[field]], self)
        return self[table[field]]

    def call(self, data: Any, field: str = "do") -> Call:
        """Return the function that a field of a table names, with its arguments from that table.

        Raises:
            Refused: the function is unknown, or its arguments do not fit.
        """
        function = self.named(data, field)
        if any(each.kind is each.VAR_KEYWORD for each in parameters(function)):
            return Call(function, {name: value for name, value in data.items() if name != field})
        return call_with(function, data, ((field, str),))[0]


def call_with(
    function: Callable, data: Any, others: Fields, hook: Hook | None = None
) -> tuple[Call, Struct]:
    """Return a function with its arguments from a table, and the table; raises `Refused`.

    Args:
        function: the function.
        data: the table.
        others: the other fields of the table.
        hook: as for `fitted`.
    """
    table = fitted(data, _table_of(function, others), hook)
    arguments = {each.name: getattr(table, each.name) for each in parameters(function)}
    return Call(function, arguments), table


@cache
def _table_of(function: Callable, others: Fields) -> type[Struct]:
    fields = [
        (each.name, KINDS[each.annotation], *([] if each.default is each.empty else [each.default]))
        for each in parameters(function)
    ]
    name = function.__name__
    return defstruct(name, [*fields, *others], kw_only=True, forbid_unknown_fields=True)


@cache
def parameters(function: Callable) -> list[inspect.Parameter]:
    """Return the parameters of a function after the live state."""
    return list(inspect.signature(function).parameters.values())[1:]


def result_type(function: Callable) -> str:
    """Return a function's annotated result type: ``int``, ``float``, ``str`` or ``bool``."""
    return str(inspect.signature(function).return_annotation).removesuffix(" | None")
