"""Inputs that a visitor chooses on a page: plain values, checked when the text begins."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Self, get_type_hints

from msgspec import Meta

from engine.grammar import MOST_BYTES
from engine.sampling import Constraint, SamplingSettings
from engine.values import plain
from ui.texts.constraints import NOTHING, constraint_of, typed_of
from ui.texts.limits import LONGEST_PROMPT, checked_whole
from ui.visits.records import BrokenRecord, read
from ui.words.language import say

LONGEST_TEXT = max(LONGEST_PROMPT, MOST_BYTES)  # characters of any text input
LARGEST = 2**53  # absolute value of any numeric input


@dataclass(frozen=True)
class PlainInputs:
    """Inputs of a page: a frozen dataclass, each field with a default.

    A field is a str, int, float or bool, optionally None. Its annotation gives the type with which
    a record is read. A `Meta` with a title in the annotation gives the range of a whole number.
    Other ranges are checked when the work begins.
    """

    def record(self) -> dict[str, Any]:
        """Return the inputs as plain values by name."""
        return plain(self)

    @classmethod
    def restored(cls, data: dict[str, Any]) -> Self:
        """Read the output of `record`; raises `BrokenRecord` for a field of the wrong type."""
        inputs = read(data, cls)
        for name, value in vars(inputs).items():
            is_number = isinstance(value, (int, float))
            size = abs(value) if is_number else len(value if isinstance(value, str) else str(value))
            if not size <= (LARGEST if is_number else LONGEST_TEXT):  # NaN also fails
                raise BrokenRecord(f"Its {name} is too large.")
        return inputs

    @classmethod
    def checked(cls, typed: dict[str, Any]) -> dict[str, Any]:
        """Convert typed whole numbers to int; raises `SettingError` if one is out of range."""
        titled = _titled(cls)
        return {
            name: checked_whole(say(one.title), value, one.ge, one.le)
            if (one := titled.get(name))
            else value
            for name, value in typed.items()
        }


@cache
def _titled(kind: type[PlainInputs]) -> dict[str, Meta]:
    hints = get_type_hints(kind, include_extras=True).items()
    metas = {name: getattr(hint, "__metadata__", (None,))[0] for name, hint in hints}
    return {name: meta for name, meta in metas.items() if isinstance(meta, Meta) and meta.title}


@dataclass(frozen=True)
class Inputs(PlainInputs):
    """Inputs that a text begins with; a lab adds its own fields.

    Attributes:
        prompt: the text to continue from.
    """

    prompt: str

    def following(self, prompt: str, settings: SamplingSettings | None) -> Self:
        """Return the inputs with a new prompt, and with any settings that they include."""
        changes: dict[str, Any] = {"prompt": prompt}
        if settings is not None:
            language, source = typed_of(settings)
            found = {
                "temperature": settings.temperature,
                "top_p": settings.top_p,
                "seed": settings.seed,
            }
            if language:
                found |= {"language": language, "source": source}
            names = {item.name for item in fields(self)}
            changes |= {name: value for name, value in found.items() if name in names}
        return replace(self, **changes)


@dataclass(frozen=True)
class ConstrainableInputs(Inputs):
    """Inputs of a text that may have a constraint.

    Attributes in addition to the prompt:
        language, source: of the constraint, as in `Constraint`; both empty for none.
    """

    language: str = NOTHING[0]
    source: str = NOTHING[1]

    @property
    def typed(self) -> tuple[str, str]:
        """Language and source that the constraint field shows."""
        return self.language, self.source

    @property
    def constraint(self) -> Constraint | None:
        """The constraint, or None; raises `SettingError` if it is refused."""
        return constraint_of(self.language, self.source)
