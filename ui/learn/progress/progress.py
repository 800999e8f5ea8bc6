"""A person's whole progress, and its file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct

from engine.errors import DecodingError
from engine.values import Name, NoJson, Whole, Wrong, convert, decode
from ui.learn.progress.entries import (
    Answered,
    AnyKind,
    Calibration,
    Entry,
    Predicted,
    StepRead,
    TaskSolved,
    calibration,
)
from ui.words.language import say

FORMAT = "decoding-visualiser-progress"
VERSION = 1
MOST_ENTRIES = 2000

AnyEntry = TypeVar("AnyEntry", bound=Entry)


class ProgressError(DecodingError):
    """A file that is not progress, or more progress than is kept."""


class _Head(Struct):
    format: Name = ""
    version: Whole = 0


class _Kept(Struct):
    entries: Annotated[list[AnyKind], Meta(max_length=MOST_ENTRIES)]


@dataclass(frozen=True)
class Progress:
    """Everything that a person has done so far.

    Attributes:
        entries: by subject; of two about the same subject, the earlier one.
    """

    entries: dict[tuple[str, str, str], Entry]

    @classmethod
    def of(cls, entries: Iterable[Entry] = ()) -> Progress:
        """Build progress from entries in any order; several may be about the same subject."""
        found: dict[tuple[str, str, str], Entry] = {}
        for entry in entries:
            before = found.get(entry.about)
            if before is None or entry.when < before.when:
                found[entry.about] = entry
        return cls(found)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries.values())

    def __len__(self) -> int:
        return len(self.entries)

    def joined(self, other: Iterable[Entry]) -> Progress:
        """Return both merged; the order does not matter.

        Raises:
            ProgressError: the result is more than is kept.
        """
        joined = Progress.of([*self, *other])
        if len(joined) > MOST_ENTRIES:
            raise ProgressError(
                say(
                    "That is {count} entries of progress, more than the {most} that are kept; "
                    "your own progress stays. Forget it first to start over.",
                    count=f"{len(joined):,}",
                    most=f"{MOST_ENTRIES:,}",
                )
            )
        return joined

    def find(self, kind: type[AnyEntry], topic: str, key: str) -> AnyEntry | None:
        """Return the entry about a subject; None if there is none."""
        return self.entries.get((kind.kind(), topic, key))

    def all(self, kind: type[AnyEntry], topic: str | None = None) -> list[AnyEntry]:
        """Return all entries of a kind, about one topic or all topics."""
        return [
            entry
            for entry in self
            if isinstance(entry, kind) and (topic is None or entry.topic == topic)
        ]

    # --- by action --------------------------------------------------------------------------------

    @property
    def steps(self) -> list[StepRead]:
        """Steps that were shown."""
        return self.all(StepRead)

    @property
    def tasks(self) -> list[TaskSolved]:
        """Tasks that were solved."""
        return self.all(TaskSolved)

    @property
    def predictions(self) -> list[Predicted]:
        """Predictions that were revealed."""
        return self.all(Predicted)

    @property
    def answers(self) -> list[Answered]:
        """Questions that were answered."""
        return self.all(Answered)

    @property
    def calibration(self) -> Calibration | None:
        """Mean confidence and share of right answers; None before the first answer."""
        return calibration((answer.confidence, answer.right) for answer in self.answers)

    # --- files ------------------------------------------------------------------------------------

    def record(self) -> dict[str, Any]:
        """Return the progress as plain values."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "entries": [entry.record() for entry in self],
        }

    def exported(self) -> str:
        """Return the content of a file of the progress, as JSON."""
        return json.dumps(self.record(), indent=1, ensure_ascii=False)

    @classmethod
    def restored(cls, data: Any) -> Progress:
        """Restore the output of `record`; raises `ProgressError`."""
        return cls._read(partial(convert, data))

    @classmethod
    def imported(cls, text: str) -> Progress:
        """Read the output of `exported`; raises `ProgressError` for any other text."""
        try:
            return cls._read(partial(decode, text.encode("utf-8", "replace")))
        except NoJson:
            raise ProgressError(
                say("This file is not JSON; choose one written by Export progress.")
            ) from None

    @classmethod
    def _read(cls, read: Callable[[type], Any]) -> Progress:
        try:
            head = read(_Head)
            if head.format != FORMAT:
                raise ProgressError(
                    say(
                        "This file does not contain progress from this app; choose one "
                        "written by Export progress."
                    )
                )
            if head.version > VERSION:
                raise ProgressError(
                    say(
                        "This progress was written by a newer version of the app (format "
                        "{version}, this one reads {known}); update the app.",
                        version=head.version,
                        known=VERSION,
                    )
                )
            return cls.of(read(_Kept).entries)
        except Wrong as wrong:
            raise ProgressError(
                say("This progress cannot be read ({reason}). Export it again.", reason=wrong)
            ) from None


NOTHING = Progress({})
