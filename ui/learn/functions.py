"""Functions that a lesson may name: what a panel measures, and what a person does in it.

A lesson writes the name and the arguments in a table of its file. A function's first parameter is
the live state of a panel; the others, with their types and defaults, are what the table may hold.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from engine.values import Number
from ui.learn.source import REQUIRED, Table

Live = TypeVar("Live")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Call(Generic[Live, Result]):
    """A function with the arguments that a lesson gives it.

    Attributes:
        name: the function's, as lessons write it.
        arguments: by name.
        function: the function.
    """

    name: str
    arguments: Mapping[str, Any]
    function: Callable[..., Result]

    def __call__(self, live: Live) -> Result:
        return self.function(live, **self.arguments)


class Functions(Mapping[str, Callable]):
    """Functions by name, such as everything that a panel measures.

    Args:
        others: whose functions these are too.
    """

    def __init__(self, *others: Functions) -> None:
        self._functions: dict[str, Callable] = {}
        for other in others:
            self._functions |= other._functions

    def add(self, function: Callable[..., Result]) -> Callable[..., Result]:
        """Let lessons name a function; its docstring says what it gives or does."""
        self._functions[function.__name__] = function
        return function

    def __getitem__(self, name: str) -> Callable:
        return self._functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def read(self, table: Table, field: str) -> Call:
        """The function that a field of a table names, with its arguments from the same table.

        Raises:
            LessonError: no such function, or arguments that do not fit it.
        """
        name = table.chosen(field, self)
        function = self[name]
        arguments = {}
        for parameter in list(inspect.signature(function).parameters.values())[1:]:
            if parameter.kind is parameter.VAR_KEYWORD:
                arguments |= {key: table.value(key) for key in table.names()}
            else:
                arguments[parameter.name] = _argument(table, parameter)
        return Call(name, arguments, function)


def _argument(table: Table, parameter: inspect.Parameter) -> Any:
    default = REQUIRED if parameter.default is parameter.empty else parameter.default
    kinds = {"str": str, "int": int, "float": Number, "bool": bool}
    return table.get(parameter.name, kinds[parameter.annotation], default)


def result_type(function: Callable) -> str:
    """What a function gives, as its annotation says: ``int``, ``float``, ``str`` or ``bool``."""
    return str(inspect.signature(function).return_annotation).removesuffix(" | None")
