"""Reading of visit records, which are plain values from a file and not trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from engine.errors import DecodingError
from engine.values import Name, Wrong, convert

if TYPE_CHECKING:
    from engine.model import LanguageModel


class BrokenRecord(DecodingError):
    """A record that cannot be used; the message gives the reason."""


def read(data: Any, kind: Any) -> Any:
    """Convert a value from a record to a type; raises `BrokenRecord` if it does not fit."""
    try:
        return convert(data, kind)
    except Wrong as wrong:
        raise BrokenRecord(f"Its {wrong}." if wrong.place else f"It {wrong}.") from wrong


class Choice(Struct, frozen=True):
    """The source and revision that a model was loaded from."""

    source: Name
    revision: Name | None = None


def choice_record(model: LanguageModel) -> dict[str, Any]:
    """Return the name, source and revision of a model as plain values."""
    return {"name": model.name, "source": model.source, "revision": model.revision}


def choice_of(choice: Choice) -> tuple[str, str | None]:
    """Return source and revision; the inverse of `choice_record`."""
    return choice.source, choice.revision
