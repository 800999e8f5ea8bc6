"""A lesson's files, read as msgspec Structs; each mistake in them becomes one sentence."""

from __future__ import annotations

import difflib
import re
import tomllib
from abc import ABCMeta
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from msgspec import Struct, StructMeta, inspect

from engine.errors import DecodingError
from engine.sampling import SamplingSettings
from engine.values import Wrong, convert
from ui.texts.settings import named_settings

Kind = TypeVar("Kind")
_NAME = re.compile(r"[^.\[\]]+")  # one step of the path to a value: ``steps[0].panel``


class LessonError(DecodingError):
    """A mistake in a lesson's files; the message names the file, the key and the remedy."""


class Refused(ValueError):
    """Error for a value that does not fit; callers add its place in the file as it propagates."""


class _AbstractStruct(StructMeta, ABCMeta):
    """The metaclass of Structs that may have abstract methods."""


class Written(
    Struct, metaclass=_AbstractStruct, frozen=True, forbid_unknown_fields=True, dict=True
):
    """A table of a lesson's file; its `__post_init__` checks what its types cannot express."""


class WithSettings:
    """A table whose field `named` contains settings by name."""

    __slots__ = ()
    named: dict[str, Any]

    @cached_property
    def settings(self) -> SamplingSettings:
        """The settings; raises `Refused`."""
        with refusing("settings"):
            return named_settings(self.named)


def refuse(field: str, problem: str, remedy: str) -> NoReturn:
    """Refuse a field.

    Args:
        field: its name; empty for the table itself.
        problem: a verb phrase: ``is empty``.
        remedy: the way to correct it.
    """
    raise Refused(f"{field and f'.{field}'} {problem}; {remedy}")


@contextmanager
def within(field: str) -> Iterator[None]:
    """Add a field to the place of any refusal raised inside the `with` block."""
    try:
        yield
    except Refused as refused:
        raise Refused(f".{field}{refused}") from refused


@contextmanager
def refusing(field: str) -> Iterator[None]:
    """Refuse a field if the `with` block raises an error of another part of the app."""
    try:
        yield
    except DecodingError as error:
        refuse(field, f"is refused: {str(error).rstrip('.')}", "mend that value")


def check_known(field: str, found: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a field with a name that is not among the known ones."""
    names = list(known)
    for name in found:
        if name not in names:
            refuse(field, f'names "{name}", which is not known', _nearest(name, names))


def check_once(field: str, keys: Iterable[str]) -> None:
    """Refuse a field in which a key occurs twice."""
    before: set[str] = set()
    for key in keys:
        if key in before:
            refuse(field, f'has the key "{key}" twice', "give each a key of its own")
        before.add(key)


def fitted(data: Any, kind: type[Kind], hook: Callable[[type, Any], Any] | None = None) -> Kind:
    """Convert plain values to a type; raises `Refused` if they do not fit.

    Args:
        data: the plain values.
        kind: a type, such as a `Written`.
        hook: makes values of types that msgspec does not know.
    """
    try:
        return convert(data, kind, hook)
    except Wrong as wrong:
        place = "".join(f".{name}" for name in _by_keys(data, wrong.place))
        if wrong.problem.startswith((".", " ")):  # a `Refused` of a part
            raise Refused(f"{place}{wrong.problem}") from None
        raise Refused(f"{place} {wrong.problem}; {_remedy(data, kind, wrong.place)}") from None


@contextmanager
def reading(file: Path, key: str = "") -> Iterator[None]:
    """Add file and key to a refusal inside the `with` block, and raise it as `LessonError`."""
    try:
        yield
    except Refused as refused:
        place = f"{key}{refused}".lstrip(".")
        raise LessonError(f"{_named(file)}: {place}.") from refused


def read_file(file: Path, kind: type[Kind]) -> Kind:
    """Read a TOML file as a value of a kind; raises `LessonError`."""
    try:
        data = tomllib.loads(file.read_text("utf-8"))
    except OSError:
        wrong(file, "", "is missing", "copy lessons/template")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        wrong(file, "", f"is no TOML ({error})", "mend that line")
    with reading(file):
        return fitted(data, kind)


def wrong(file: Path, key: str, problem: str, remedy: str) -> NoReturn:
    """Refuse a file.

    Args:
        file: the path of the file.
        key: the wrong part, such as ``press/three``; empty for the whole file.
        problem: a verb phrase: ``has no words``.
        remedy: the way to correct it.
    """
    place = f"{_named(file)}: {key}" if key else _named(file)
    raise LessonError(f"{place} {problem}; {remedy}.")


def _named(file: Path) -> str:
    """Return a file's path for its author: from the folder of lessons, if it is in there."""
    folders = file.parts[:-1]
    start = folders.index("lessons") + 1 if "lessons" in folders else len(folders) - 1
    return "/".join(file.parts[start:])


def _by_keys(data: Any, place: str) -> Iterator[str]:
    """Yield the path to a place; a table in a list goes by its key, else by its number from 1."""
    for name in _NAME.findall(place):
        if isinstance(data, (list, tuple)):
            data = data[int(name)]
            yield str(data.get("key", int(name) + 1) if isinstance(data, dict) else int(name) + 1)
        else:
            data = data.get(name) if isinstance(data, dict) else None
            yield name


def _remedy(data: Any, kind: Any, place: str) -> str:
    """Return the remedy for a place, from the values that its kind allows there."""
    types = _alternatives([inspect.type_info(kind)])
    for name in _NAME.findall(place):
        if isinstance(data, (list, tuple)):
            data, types = data[int(name)], _alternatives(each.item_type for each in types)
            continue
        if name not in data:
            return "add it"
        tables = [each for each in types if isinstance(each, inspect.StructType)]
        meant = [each for each in tables if each.tag in (None, data.get(each.tag_field))]
        if not meant:
            return _nearest(data[name], [each.tag for each in tables])
        fields = {field.encode_name: field.type for each in meant for field in each.fields}
        if name not in fields:
            return _nearest(name, list(fields))
        data, types = data[name], _alternatives([fields[name]])
    known = [value for each in types for value in getattr(each, "values", ())]
    return _nearest(data, known) if known else "mend that value"


def _alternatives(types: Iterable[inspect.Type]) -> list[inspect.Type]:
    bare = [each.type if isinstance(each, inspect.Metadata) else each for each in types]
    return [one for each in bare for one in getattr(each, "types", (each,))]


def _nearest(found: Any, known: list[str]) -> str:
    near = difflib.get_close_matches(str(found), known, n=1) or known
    return f"use {'one of ' if len(near) > 1 else ''}{', '.join(near)}" if near else "remove it"
