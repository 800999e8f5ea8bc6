"""What a person chooses on a page: plain values, checked where the text begins."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

from engine.grammar import MOST_BYTES
from engine.sampling import SamplingSettings
from engine.sampling.stages import Constraint
from ui.texts.constraints import NOTHING, constraint_of, typed_of
from ui.texts.limits import LONGEST_PROMPT
from ui.visits.records import BrokenRecord, Fields

LONGEST_TEXT = max(LONGEST_PROMPT, MOST_BYTES)  # of any input that is a text


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

    def following(self, prompt: str, settings: SamplingSettings | None) -> Self:
        """The same with another prompt, and with those of the settings that it has fields for."""
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
    """Inputs of a text that may be kept to a constraint.

    Attributes, besides the prompt:
        language, source: of the constraint, as `Constraint` has them; both empty for none.
    """

    language: str = NOTHING[0]
    source: str = NOTHING[1]

    @property
    def typed(self) -> tuple[str, str]:
        """What the field of the constraint shows."""
        return self.language, self.source

    @property
    def constraint(self) -> Constraint | None:
        """The constraint, None for none; raises `SettingError` where it is refused."""
        return constraint_of(self.language, self.source)


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
