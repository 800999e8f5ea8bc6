"""What a person chooses on a page: plain values, checked where the text begins."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from ui.texts.limits import LONGEST_PROMPT
from ui.visits.records import BrokenRecord, Fields

LONGEST_TEXT = LONGEST_PROMPT  # of any input that is a text


@dataclass(frozen=True)
class PlainInputs:
    """Inputs of a page: a frozen dataclass, each field with a default.

    A field is a text, a whole number, a number or a truth value, or one of them or None. Its
    annotation says which, and a record is read by it. Ranges are checked where the work begins.
    """

    def record(self) -> dict[str, Any]:
        """Plain values by name."""
        return asdict(self)

    @classmethod
    def restored(cls, data: Fields) -> Self:
        """The inverse of `record`.

        Raises:
            BrokenRecord: a field that is missing or of another type.
        """
        values = {}
        for item in fields(cls):
            kind, _, none = item.type.partition(" | ")
            if none == "None" and data.plain(item.name) is None:
                values[item.name] = None
            else:
                values[item.name] = _read(data, item.name, kind)
        return cls(**values)


@dataclass(frozen=True)
class Inputs(PlainInputs):
    """What a text begins with; a lab adds fields of its own.

    Attributes:
        prompt: the text to go on from.
    """

    prompt: str


def _read(data: Fields, name: str, kind: str) -> Any:
    if kind == "str":
        return data.text(name, LONGEST_TEXT)
    if kind == "int":
        return data.whole(name, -(2**53), 2**53)
    if kind == "float":
        return float(data.number(name))
    if kind == "bool":
        return data.truth(name)
    raise BrokenRecord(f"Its {name} is of a kind that no record keeps.")
