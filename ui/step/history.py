"""Texts that newer ones have replaced, kept as records from which they can be generated again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from engine.errors import DecodingError, SettingError
from ui.step.record import TextRecord, token_counts
from ui.words.language import say

MOST_EARLIER = 10
MOST_TOKENS = 150_000  # in all texts together: about a megabyte as a record


@dataclass(frozen=True)
class Earlier:
    """A replaced text.

    Attributes:
        number: its number, by which it is found.
        record: the record from which to generate it again.
    """

    number: int
    record: dict[str, Any]

    @cached_property
    def lengths(self) -> list[int]:
        """The number of generated tokens of each branch, the branch on screen first."""
        return token_counts(self.record)


class EarlierTexts:
    """The replaced texts, at most ten, oldest first; the oldest are dropped."""

    def __init__(self, texts: Iterable[Earlier] = ()) -> None:
        self._texts = list(texts)
        self._next_number = 1 + max((text.number for text in self._texts), default=0)

    def __iter__(self) -> Iterator[Earlier]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def keep(self, record: dict[str, Any]) -> None:
        """Add the record of a replaced text."""
        self._texts.append(Earlier(self._next_number, record))
        self._next_number += 1
        while len(self) > MOST_EARLIER or (
            len(self) > 1 and sum(sum(text.lengths) for text in self) > MOST_TOKENS
        ):
            del self._texts[0]

    def find(self, number: int | None) -> Earlier:
        """Return the text with this number; raises `SettingError` if it is gone."""
        found = next((text for text in self if text.number == number), None)
        if found is None:
            remedy = say("choose one of those that are listed")
            raise SettingError(say("earlier text"), number, say("is no longer here"), remedy)
        return found

    def remove(self, text: Earlier) -> None:
        """Remove a text that is on screen again."""
        self._texts.remove(text)

    def copy(self) -> EarlierTexts:
        """Return a copy with the same texts, for another session."""
        twin = EarlierTexts(self._texts)
        twin._next_number = self._next_number
        return twin

    def to_list(self) -> list:
        """Return the texts as plain values."""
        return [[text.number, text.record] for text in self]

    @classmethod
    def from_list(cls, values: object) -> EarlierTexts:
        """Rebuild the texts from the output of `to_list`; skip those that cannot be reopened."""
        found = []
        for entry in (values if isinstance(values, list) else [])[-MOST_EARLIER:]:
            try:
                number, record = entry
                TextRecord.parse(record)
            except (DecodingError, TypeError, ValueError):
                continue
            if isinstance(number, int):
                found.append(Earlier(number, record))
        return cls(found)
