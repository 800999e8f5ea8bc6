"""What the values of a file must be: each checked by type and range, refused in a short sentence.

A dataclass says it once, beside each field, and `read` makes one of plain values:

    rank: int = of(Whole(1))
    u: float | None = of(Real(0, 1, open_above=True), optional=True)

A field without `of` is checked by its annotation: any whole number, any finite one, any text. A
field with a default may be missing, as in files from before there was such a field.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import cache
from typing import Any, NamedTuple

from engine.errors import TraceError, msg, shown_value

LARGEST = 2**63 - 1  # of the whole numbers in a column of a table
LONGEST_TEXT = 16 * 2**20  # characters: a prompt that fills any context of today
LONGEST_TOKEN = 2**16
ROUNDING = 1e-6  # by which figures that were rounded may leave their range
REMEDY = msg("save the trace again or choose another file")


class Limits(NamedTuple):
    """What ranges depend on.

    Attributes:
        vocab_size: how many tokens the model scores.
        input_size: how many token ids it takes in.
    """

    vocab_size: int
    input_size: int


class Wrong(Exception):
    """A value that is refused; whoever knows the place puts it in front (see `refusal`).

    Attributes:
        problem: a `Message`, of a template and its values or of another message.
        place: names and numbers on the way to the value, outermost first.
    """

    def __init__(self, problem: str, values: object = (), *, remedy: str = REMEDY) -> None:
        self.problem = msg(problem, values)
        super().__init__(self.problem)
        self.place: list[str | int] = []
        self.remedy = remedy

    def within(self, name: str | int) -> Wrong:
        """The same one place further out."""
        self.place.insert(0, name)
        return self


def refusal(wrong: Wrong, place: str = "") -> TraceError:
    """What is wrong as a sentence, at most 500 characters."""
    inner = ""
    for name in wrong.place:
        if isinstance(name, int):
            inner += f"[{name}]"
        else:
            inner += f".{short(name)}" if inner else short(name)
    inner, problem = short(inner, 120), short(wrong.problem, 200)
    if place and inner:
        template = msg("The trace is damaged at {place}: {inner} {problem}; {remedy}.")
        return TraceError(template, (place, inner, problem, wrong.remedy))
    if place:
        template = msg("The trace is damaged at {place}: {problem}; {remedy}.")
        return TraceError(template, (place, problem, wrong.remedy))
    if inner:
        template = msg("The trace is damaged: {inner} {problem}; {remedy}.")
        return TraceError(template, (inner, problem, wrong.remedy))
    return TraceError("The trace is damaged: {problem}; {remedy}.", (problem, wrong.remedy))


def short(text: str, most: int = 60) -> str:
    """A text cut to so many characters, on one line."""
    text = text if len(text) <= most else text[: most - 3] + "..."
    return text if text.isprintable() else repr(text)[1 : most - 1]


def shown(value: object) -> str:
    """A value of a file in a sentence, whatever its size."""
    if isinstance(value, str):
        return short(repr(value[:60] + "..." if len(value) > 60 else value), 70)
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "nothing"}[value]
    if isinstance(value, int):
        return shown_value(value) if value.bit_length() > 96 else f"{value:,}"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return msg("a list of {value:,}", len(value))
    return msg("an object") if isinstance(value, dict) else f"a {short(type(value).__name__)}"


class Kind:
    """What a value must be; `read` returns it as the dataclass holds it, or raises `Wrong`."""

    def read(self, value: Any, limits: Limits) -> Any:
        raise NotImplementedError

    def plain(self, value: Any) -> Any:
        """The value as it stands in a file."""
        return value


def _refuse(wanted: str, value: object) -> Wrong:
    return Wrong("must be {wanted}, got {value}", (wanted, shown(value)))


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number."""

    least: int = 0
    most: int = LARGEST

    def read(self, value: Any, limits: Limits) -> int:
        if type(value) is not int or not self.least <= value <= self.most:
            wanted = msg("a whole number from {least:,}", self.least)
            if self.most != LARGEST:
                wanted = msg("a whole number from {least:,} to {most:,}", (self.least, self.most))
            raise _refuse(wanted, value)
        return value


@dataclass(frozen=True)
class Token(Kind):
    """The id of a token that the model scores, or with `is_input` takes in."""

    is_input: bool = False

    def read(self, value: Any, limits: Limits) -> int:
        size = limits.input_size if self.is_input else limits.vocab_size
        if type(value) is not int or not 0 <= value < size:
            raise _refuse(msg("a token id from 0 to {size:,}", size - 1), value)
        return value


@dataclass(frozen=True)
class Count(Kind):
    """A number of tokens of the vocabulary, or a rank in it."""

    least: int = 1

    def read(self, value: Any, limits: Limits) -> int:
        return Whole(self.least, limits.vocab_size).read(value, limits)


@dataclass(frozen=True)
class Real(Kind):
    """A finite number.

    Attributes:
        least, most: the range.
        open_above: whether `most` is outside it.
        rounded: whether the figure may leave the range by the rounding of its computation.
    """

    least: float = -math.inf
    most: float = math.inf
    open_above: bool = False
    rounded: bool = False

    def read(self, value: Any, limits: Limits) -> float:
        if type(value) is int and abs(value) <= LARGEST:
            value = float(value)
        slack = ROUNDING if self.rounded else 0.0
        if (
            type(value) is not float
            or not self.least - slack <= value <= self.most + slack  # NaN fails this too
            or not math.isfinite(value)
            or (self.open_above and value == self.most)
        ):
            raise _refuse(self._wanted, value)
        return value

    @property
    def _wanted(self) -> str:
        below, above = math.isfinite(self.least), math.isfinite(self.most)
        if below and above and self.open_above:
            return msg("a number from {least:g} to below {most:g}", (self.least, self.most))
        if below and above:
            return msg("a number from {least:g} to {most:g}", (self.least, self.most))
        if below:
            return msg("a finite number of at least {least:g}", self.least)
        return (
            msg("a finite number of at most {most:g}", self.most)
            if above
            else msg("a finite number")
        )


@dataclass(frozen=True)
class Text(Kind):
    """Text of at most so many characters, none of them half a surrogate pair."""

    most: int = LONGEST_TEXT

    def read(self, value: Any, limits: Limits) -> str:
        if type(value) is not str or len(value) > self.most:
            given = msg("{value:,} characters", len(value)) if type(value) is str else shown(value)
            raise Wrong(
                "must be text of at most {most:,} characters, got {given}", (self.most, given)
            )
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise _refuse(msg("text that UTF-8 can hold"), value) from error
        return value


@dataclass(frozen=True)
class OneOf(Kind):
    """One of a few texts."""

    values: tuple[str, ...]

    def read(self, value: Any, limits: Limits) -> str:
        if type(value) is not str or value not in self.values:
            raise _refuse(msg("one of {values}", ", ".join(self.values)), value)
        return value


class Flag(Kind):
    """True or false."""

    def read(self, value: Any, limits: Limits) -> bool:
        if type(value) is not bool:
            raise _refuse(msg("true or false"), value)
        return value


class Hexadecimal(Kind):
    """Bytes of a token, two digits each in a file."""

    def read(self, value: Any, limits: Limits) -> bytes:
        if type(value) is not str or len(value) > 2 * LONGEST_TOKEN:
            given = msg("{value:,} characters", len(value)) if type(value) is str else shown(value)
            raise Wrong(
                "must be at most {longest_token:,} bytes as hexadecimal text, got {given}",
                (LONGEST_TOKEN, given),
            )
        try:
            return bytes.fromhex(value)
        except ValueError as error:
            raise _refuse(msg("hexadecimal text"), value) from error

    def plain(self, value: bytes) -> str:
        return value.hex()


@dataclass(frozen=True)
class Optional(Kind):
    """Another kind, or nothing."""

    kind: Kind

    def read(self, value: Any, limits: Limits) -> Any:
        return None if value is None else self.kind.read(value, limits)

    def plain(self, value: Any) -> Any:
        return None if value is None else self.kind.plain(value)


@dataclass(frozen=True)
class Row(Kind):
    """A row of values of one kind."""

    kind: Kind
    most: int = LARGEST

    def read(self, value: Any, limits: Limits) -> tuple:
        if type(value) is not list:
            raise _refuse(msg("a list"), value)
        if len(value) > self.most:
            raise Wrong(
                "must hold at most {most:,} entries, got {value:,}", (self.most, len(value))
            )
        read, values = self.kind.read, []
        try:
            for item in value:
                values.append(read(item, limits))
        except Wrong as wrong:
            raise wrong.within(len(values)) from None
        return tuple(values)

    def plain(self, value: tuple) -> list:
        return [self.kind.plain(item) for item in value]


@dataclass(frozen=True)
class Record(Kind):
    """An instance of a dataclass, as an object by the names of its fields."""

    kind: type

    def read(self, value: Any, limits: Limits) -> Any:
        return read(self.kind, value, limits)

    def plain(self, value: Any) -> dict[str, Any]:
        return plain(value)


def of(kind: Kind, *, optional: bool = False, cost: bool = False, **default: Any) -> Any:
    """A field of a dataclass, with what its value must be.

    Args:
        kind: the range.
        optional: whether it may be None.
        cost: whether it tells what a step took, in time or memory; no replay repeats that.
        default: `default`, for a field that older files lack.
    """
    kind = Optional(kind) if optional else kind
    return field(metadata={"kind": kind, "cost": cost}, **default)


_BY_ANNOTATION: dict[str, Callable[[], Kind]] = {
    "int": lambda: Whole(-LARGEST),
    "float": Real,
    "str": Text,
    "bool": Flag,
    "bytes": Hexadecimal,
}


def _kind_of(item: Field) -> Kind:
    if "kind" in item.metadata:
        return item.metadata["kind"]
    declared = item.type.removesuffix(" | None")
    kind = _BY_ANNOTATION[declared]()
    return kind if declared == item.type else Optional(kind)


@cache
def _plan(kind: type) -> dict[str, tuple[Kind, bool]]:
    """By field: what it must be, and whether it may be missing."""
    return {item.name: (_kind_of(item), item.default is not MISSING) for item in fields(kind)}


def read(kind: type, data: Any, limits: Limits) -> Any:
    """An instance of a dataclass out of plain values; raises `Wrong` on anything else."""
    if type(data) is not dict:
        raise _refuse(msg("an object"), data)
    plan = _plan(kind)
    refuse_unknown(data, plan)
    values = {}
    for name, (wanted, may_be_missing) in plan.items():
        if name in data:
            try:
                values[name] = wanted.read(data[name], limits)
            except Wrong as wrong:
                raise wrong.within(name) from None
        elif not may_be_missing:
            raise Wrong("is missing").within(name)
    return kind(**values)


def refuse_unknown(data: dict[Any, Any], known: Iterable[str]) -> None:
    """Raise `Wrong` where an object has a name that this version does not know."""
    unknown = next((name for name in data if name not in known), None)
    if unknown is not None:
        remedy = msg("update the app, or save the trace with this version")
        raise Wrong("is not known to this version", remedy=remedy).within(str(unknown)[:100])


def plain(record: Any) -> dict[str, Any]:
    """The inverse of `read`."""
    if not is_dataclass(record):
        raise TypeError(f"{record!r:.80} is no record")
    return {
        name: kind.plain(getattr(record, name)) for name, (kind, _) in _plan(type(record)).items()
    }
