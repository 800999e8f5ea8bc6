"""A table of a lesson's file, read field by field; whatever is wrong becomes one sentence."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from engine.errors import DecodingError
from engine.values import Number, Wrong, convert

REQUIRED = object()  # a field without a default
_GIVEN = {
    str: "a text in quotation marks",
    int: "a whole number",
    float: "a number",
    Number: "a number",
    bool: "true or false",
    dict: "a table",
}


class LessonError(DecodingError):
    """A mistake in a lesson's files; the message names the file, the key and the remedy."""


def wrong(file: Path, key: str, problem: str, remedy: str) -> NoReturn:
    """Refuse a file.

    Args:
        file: where it lies.
        key: what in it is wrong, such as ``steps.press.tasks.three``; empty for all of it.
        problem: a verb phrase: ``has no minutes``.
        remedy: what to do about it.
    """
    place = _named(file)
    if key:
        place = f"{place}: {key}"
    raise LessonError(f"{place} {problem}; {remedy}.")


def _named(file: Path) -> str:
    """A file as its author looks for it: from the folder of lessons, where it lies in there."""
    folders = file.parts[:-1]
    start = folders.index("lessons") + 1 if "lessons" in folders else len(folders) - 1
    return "/".join(file.parts[start:])


class Table:
    """One table of a TOML file.

    Args:
        data: the table.
        file: where it stands.
        key: its place in the file, for sentences.
    """

    def __init__(self, data: Any, file: Path, key: str = "") -> None:
        self.file, self.key = file, key
        if not isinstance(data, dict):
            wrong(file, key, "is no table", "write { name = value }")
        self._data: dict[str, Any] = data
        self._read: set[str] = set()

    @classmethod
    def of_file(cls, file: Path) -> Table:
        """All of a file; raises `LessonError` where it is missing or no TOML."""
        try:
            return cls(tomllib.loads(file.read_text("utf-8")), file)
        except OSError:
            wrong(file, "", "is missing", "copy lessons/template")
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            wrong(file, "", f"is no TOML ({error})", "mend that line")

    # --- fields -----------------------------------------------------------------------------------

    def get(self, name: str, kind: Any, default: Any = REQUIRED) -> Any:
        """The field of a kind, such as ``int`` or ``tuple[str, ...]``."""
        self._read.add(name)
        if name not in self._data:
            if default is REQUIRED:
                self.wrong(name, "is missing", f"give it {_GIVEN.get(kind, 'a list')}")
            return default
        try:
            return convert(self._data[name], kind)
        except Wrong as wrong:
            self.wrong(f"{name}{wrong.place}", wrong.problem, "mend that value")

    def table(self, name: str, default: Any = REQUIRED) -> Table:
        """A table within this one."""
        return Table(self.get(name, dict, default), self.file, self.place(name))

    def tables(self, name: str, default: Any = REQUIRED) -> list[Table]:
        """A list of tables; each is called by its `key`, else by its number."""
        found = self.get(name, list, default)
        made = []
        for number, data in enumerate(found, start=1):
            called = data.get("key", number) if isinstance(data, dict) else number
            made.append(Table(data, self.file, f"{self.place(name)}.{called}"))
        return made

    def has(self, name: str) -> bool:
        """Whether there is a field of this name."""
        return name in self._data

    def names(self) -> list[str]:
        """The fields that nobody has read yet."""
        return [name for name in self._data if name not in self._read]

    def value(self, name: str) -> Any:
        """A field of whatever type."""
        self._read.add(name)
        return self._data[name]

    # --- what is wrong ----------------------------------------------------------------------------

    def place(self, name: str) -> str:
        """A field by its place in the file."""
        return f"{self.key}.{name}" if self.key else name

    def wrong(self, name: str, problem: str, remedy: str) -> NoReturn:
        """Refuse a field; see the function of this name."""
        wrong(self.file, self.place(name) if name else self.key, problem, remedy)

    def chosen(self, name: str, known: Iterable[str], default: Any = REQUIRED) -> str:
        """A text that is one of several."""
        found = self.get(name, str, default)
        if found not in (names := list(known)):
            self.wrong(name, f'is "{found}", which is not known', _remedy(found, names))
        return found

    def end(self) -> None:
        """Refuse fields that nobody has read: a misspelt name would else be passed over."""
        for name in self.names():
            self.wrong(name, "is not known here", _remedy(name, sorted(self._read)))


def _remedy(found: str, known: list[str]) -> str:
    near = difflib.get_close_matches(found, known, n=1)
    return f"use {near[0]}" if near else f"use one of {', '.join(known)}"
