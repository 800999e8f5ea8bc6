"""Records of visits, as they come back from a file: plain values, of which none is trusted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from engine.errors import DecodingError

if TYPE_CHECKING:
    from engine.model import LanguageModel


class BrokenRecord(DecodingError):
    """A record that cannot be used; the message says what is wrong with it."""


class Fields:
    """The fields of an object by type; whatever is missing or of another type is refused."""

    def __init__(self, data: Any) -> None:
        if not isinstance(data, dict):
            raise BrokenRecord(f"It holds {type(data).__name__} where an object belongs.")
        self._data = data

    def plain(self, name: str) -> Any:
        """The value as it stands, None where there is none."""
        return self._data.get(name)

    def inner(self, name: str) -> Fields:
        """An object."""
        return Fields(self._data.get(name))

    def optional(self, name: str) -> Fields | None:
        """An object, or None."""
        value = self._data.get(name)
        return None if value is None else Fields(value)

    def inners(self, name: str, most: int) -> list[Fields]:
        """A list of objects."""
        return [Fields(item) for item in self.items(name, most)]

    def items(self, name: str, most: int) -> list[Any]:
        """A list of anything, not longer than `most`."""
        value = self._data.get(name)
        if not isinstance(value, list) or len(value) > most:
            raise BrokenRecord(f"Its {name} is no list, or has more than {most:,} entries.")
        return value

    def pairs(self, name: str, most: int) -> list[tuple[int, Any]]:
        """A list of [whole number, anything]."""
        pairs = self.items(name, most)
        if not all(isinstance(p, list) and len(p) == 2 and _is_whole(p[0]) for p in pairs):
            raise BrokenRecord(f"Its {name} is no list of pairs.")
        return [(first, value) for first, value in pairs]

    def text(self, name: str, longest: int) -> str:
        """A text of at most so many characters."""
        value = self._data.get(name)
        if not isinstance(value, str) or len(value) > longest:
            raise BrokenRecord(f"Its {name} is no text of at most {longest:,} characters.")
        return value

    def texts(self, name: str, most: int, longest: int = 1000) -> list[str]:
        """A list of texts."""
        return [Fields({name: item}).text(name, longest) for item in self.items(name, most)]

    def whole(self, name: str, low: int = 0, high: int = 2**63 - 1) -> int:
        """A whole number from `low` to `high`."""
        value = self._data.get(name)
        if not _is_whole(value) or not low <= value <= high:
            raise BrokenRecord(f"Its {name} is no whole number from {low:,} to {high:,}.")
        return value

    def wholes(self, name: str, most: int) -> list[int]:
        """A list of whole numbers from 0."""
        values = self.items(name, most)
        if not all(_is_whole(value) and value >= 0 for value in values):
            raise BrokenRecord(f"Its {name} is no list of whole numbers.")
        return values

    def number(self, name: str) -> float:
        """A finite number."""
        value = self._data.get(name)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value):
            raise BrokenRecord(f"Its {name} is no number.")
        return value

    def numbers(self, name: str, most: int) -> list[float]:
        """A list of finite numbers."""
        return [Fields({name: item}).number(name) for item in self.items(name, most)]

    def truth(self, name: str) -> bool:
        """True or false."""
        value = self._data.get(name)
        if not isinstance(value, bool):
            raise BrokenRecord(f"Its {name} is neither true nor false.")
        return value


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


# --- models ---------------------------------------------------------------------------------------


def choice_record(model: LanguageModel) -> dict[str, Any]:
    """What a model was loaded from."""
    return {"name": model.name, "source": model.source, "revision": model.revision}


def choice_of(data: Fields) -> tuple[str, str | None]:
    """Source and revision; the inverse of `choice_record`."""
    revision = None if data.plain("revision") is None else data.text("revision", 200)
    return data.text("source", 1000), revision
