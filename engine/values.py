"""Values from outside the program: types describe them, msgspec parses and checks them in one pass.

The types are the annotations of a dataclass. `decode` makes an instance from JSON, `convert` from
plain values:

    rank: Positive
    u: Uniform | None

A name that the dataclass lacks is ignored, and a field with a default may be missing.
"""

from __future__ import annotations

import dataclasses
import re
import reprlib
import sys
from array import array
from collections.abc import Callable
from functools import cache, reduce
from typing import Annotated, Any, TypedDict, TypeVar

import msgspec
from msgspec import Meta

from engine.errors import msg

LARGEST = 2**63 - 1  # largest whole number in a column of a table
LONGEST_TEXT = 16 * 2**20  # characters: a prompt that fills any present-day context
LONGEST_TOKEN = 2**16
ROUNDING = 1e-6  # rounded figures may leave their range by this much

Entry = TypeVar("Entry")
Whole = Annotated[int, Meta(ge=0, le=LARGEST)]
Positive = Annotated[int, Meta(ge=1, le=LARGEST)]
Real = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)]  # finite
Single = Annotated[float, Meta(ge=-3.4e38, le=3.4e38)]  # in float32
Number = Annotated[int, Meta(ge=-LARGEST, le=LARGEST)] | Real  # an int if whole
Amount = Annotated[float, Meta(ge=-ROUNDING, le=sys.float_info.max)]
Share = Annotated[float, Meta(ge=-ROUNDING, le=1 + ROUNDING)]
Logprob = Annotated[float, Meta(ge=-sys.float_info.max, le=ROUNDING)]
Uniform = Annotated[float, Meta(ge=0, lt=1)]
Text = Annotated[str, Meta(max_length=LONGEST_TEXT)]
Name = Annotated[str, Meta(max_length=1000)]
Row = Annotated[tuple[Entry, ...], Meta(max_length=2**17)]
Cost = Annotated[Entry, "cost"]  # time or memory that a step took; a replay does not repeat it


class ChatMessage(TypedDict):
    """One message of a conversation: who speaks (``system``, ``user``, ``assistant``), and what."""

    role: Name
    content: Text


class TokenBytes(bytes):
    """Bytes of a token; a file has two hexadecimal digits for each."""


@cache
def costs(kind: type) -> frozenset[str]:
    """Return the names of a dataclass's fields of type `Cost`."""
    return frozenset(
        item.name for item in dataclasses.fields(kind) if item.type.startswith("Cost[")
    )


class Wrong(Exception):
    """A value does not fit its type.

    Attributes:
        place: path of the value, as in ``steps[3].rank``; empty for the whole document.
        problem: the problem, as in ``must be a whole number of at least 1, got 0``; a `Message`.
    """

    def __init__(self, place: str, problem: str) -> None:
        self.place, self.problem = short(place, 120), msg(problem)
        super().__init__(f"{self.place} {self.problem}".strip())


class NoJson(ValueError):
    """Text that is not JSON; the message gives the reason."""


def decode(data: bytes, kind: Any) -> Any:
    """Return a value of a type from JSON; raises `Wrong` for other values, `NoJson` if not JSON."""
    try:
        try:
            return _decoder(kind).decode(data)
        except msgspec.ValidationError as error:
            raise _wrong(error, msgspec.Raw(data)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NoJson(short(str(error), 150)) from None
    except RecursionError:
        raise NoJson("it is nested too deeply") from None


def convert(data: Any, kind: Any, hook: Callable[[type, Any], Any] | None = None) -> Any:
    """Return a value of a type from plain values, as in JSON; raises `Wrong` for other values.

    Args:
        data: the plain values.
        kind: a type.
        hook: makes values of types that msgspec does not support; None for `TokenBytes` alone.
    """
    try:
        return msgspec.convert(data, kind, dec_hook=hook or _from_plain)
    except msgspec.ValidationError as error:
        raise _wrong(error, data) from None


def plain(value: Any) -> Any:
    """Return a dataclass as plain JSON values; the inverse of `convert`."""
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, array):  # nine digits are enough for any float32
        return value.tolist() if value.typecode != "f" else [float(f"{x:.9g}") for x in value]
    names = _names(type(value))
    if names is None:
        return value
    return {
        name: item if type(item := getattr(value, name)) in _PLAIN else plain(item)
        for name in names
    }


_PLAIN = {bool, float, int, str, type(None)}  # by far the most values


@cache
def _names(kind: type) -> list[str] | None:
    is_record = dataclasses.is_dataclass(kind)
    return [item.name for item in dataclasses.fields(kind)] if is_record else None


def short(text: str, most: int = 60) -> str:
    """Return a text on one line, shortened to at most `most` characters."""
    text = text if len(text) <= most else text[: most - 3] + "..."
    return text if text.isprintable() else repr(text)[1 : most - 1]


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder:
    return msgspec.json.Decoder(kind, dec_hook=_from_plain)


def _from_plain(kind: type, value: Any) -> Any:
    if kind is not TokenBytes:
        raise TypeError(f"{kind} is not a kind of value")
    if type(value) is not str or len(value) > 2 * LONGEST_TOKEN:
        raise ValueError(f"must be at most {LONGEST_TOKEN:,} bytes as hexadecimal text")
    try:
        return TokenBytes.fromhex(value)
    except ValueError as error:
        raise ValueError("must be hexadecimal text") from error


# --- Messages of msgspec, as parts of a sentence --------------------------------------------------

_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]")
_KINDS = {
    "array": msg("a list"),
    "bool": msg("true or false"),
    "float": msg("a number"),
    "int": msg("a whole number"),
    "null": msg("nothing"),
    "object": msg("an object"),
    "str": msg("text"),
}
_BOUNDS = {
    "of length >= ": msg("{kind} of length {bound} or more"),
    "of length <= ": msg("{kind} of length {bound} or less"),
    "of length ": msg("{kind} of length {bound}"),
    ">= ": msg("{kind} of at least {bound}"),
    "<= ": msg("{kind} of at most {bound}"),
    "< ": msg("{kind} below {bound}"),
}


def _wrong(error: msgspec.ValidationError, data: Any) -> Wrong:
    said, _, path = str(error).removesuffix("`").partition(" - at `$")
    if field := re.fullmatch(r"Object (missing required|contains unknown) field `(.*?)`?", said):
        lacks = field[1] == "missing required"
        problem = msg("is missing") if lacks else msg("is not known to this version")
        return Wrong(f"{path}.{short(field[2])}".lstrip("."), problem)
    if expected := re.match(r"Expected `(.*?)` ?([^,]*)", said):
        wanted = _wanted(expected[1].split(" | "), expected[2])
    elif said.startswith("Invalid"):
        wanted = msg("one of those this version knows")
    elif said.endswith("out of range"):
        wanted = msg("a number within the supported range")
    else:
        return Wrong(path.lstrip("."), said)
    problem = msg("must be {wanted}, got {value}", (wanted, _found(data, path)))
    return Wrong(path.lstrip("."), problem)


def _wanted(kinds: list[str], bound: str) -> str:
    kinds = [_KINDS.get(kind, short(kind)) for kind in kinds]
    wanted = reduce(lambda one, other: msg("{one} or {other}", (one, other)), kinds)
    for sign, template in _BOUNDS.items():
        if bound.startswith(sign):
            return msg(template, (wanted, bound.removeprefix(sign)))
    return wanted


def _found(data: Any, path: str) -> str:
    """Return the value at a path, shortened; parses no more of the JSON than needed."""
    if "..." in path:  # an entry of an object, whose name msgspec does not give
        return msg("something else")
    for name, place in _STEP.findall(path):
        if isinstance(data, msgspec.Raw):
            entries = list[msgspec.Raw] if place else dict[str, msgspec.Raw]
            data = msgspec.json.decode(data, type=entries)
        data = data[int(place) if place else name]
    if isinstance(data, msgspec.Raw):
        return short(bytes(data)[:200].decode("utf-8", "replace"))
    return short(reprlib.repr(data))
