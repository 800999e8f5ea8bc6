"""What a person did, one thing each.

    StepRead     a step of a lesson was shown
    TaskSolved   a task was solved, with or without help
    Predicted    a prediction was revealed
    Answered     a question of a quiz was answered

An entry is never changed. Of two about the same thing the earlier one counts: whoever has seen the
reason knows the answer.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

from ui.learn.progress.score import points
from ui.visits.records import BrokenRecord, Fields

LONGEST_NAME = 200
LONGEST_PROMPT = 2000
MOST_VALUES = 200
LATEST = 2**40  # seconds since 1970


@dataclass(frozen=True)
class Entry:
    """Something that a person did.

    Attributes:
        topic: key of the lesson, or of another page that asks.
        key: what it is about, within the topic.
        when: seconds since 1970.
    """

    kind: ClassVar[str]

    topic: str
    key: str
    when: int

    @property
    def about(self) -> tuple[str, str, str]:
        """What it is about; of two entries that are about the same, one counts."""
        return self.kind, self.topic, self.key

    def record(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": self.kind, **asdict(self)}

    @classmethod
    def restored(cls, data: Fields) -> Self:
        """The inverse of `record`.

        Raises:
            BrokenRecord: a field is missing, of another type, or beyond its bounds.
        """
        values = {field.name: _READ[field.type](data, field.name) for field in fields(cls)}
        entry = cls(**values)
        entry._check()
        return entry

    def _check(self) -> None:
        """Raise `BrokenRecord` for values that no person can have come by."""


@dataclass(frozen=True)
class StepRead(Entry):
    """A step of a lesson was shown."""

    kind: ClassVar[str] = "step"


@dataclass(frozen=True)
class TaskSolved(Entry):
    """A task was solved.

    Attributes, besides those of `Entry`:
        helped: whether the solution was shown before.
    """

    kind: ClassVar[str] = "task"

    helped: bool


@dataclass(frozen=True)
class Predicted(Entry):
    """A prediction was revealed.

    Attributes, besides those of `Entry`:
        prompt: the text that it was about.
        drawn, truth: the person's values and the model's, one for each bar.
        gap: how far apart they are, by the measure of the prediction.
        largest: the largest gap that there can be.
    """

    kind: ClassVar[str] = "prediction"

    prompt: str
    drawn: tuple[float, ...]
    truth: tuple[float, ...]
    gap: float
    largest: float

    @property
    def closeness(self) -> float:
        """From 0, as far off as can be, to 1, the model's own values."""
        return 1.0 - self.gap / self.largest

    def _check(self) -> None:
        if len(self.drawn) != len(self.truth) or not self.drawn:
            raise BrokenRecord("Its drawn and truth are not of the same length.")
        if not 0.0 <= self.gap <= self.largest or self.largest <= 0:
            raise BrokenRecord("Its gap is not from 0 to its largest.")


@dataclass(frozen=True)
class Answered(Entry):
    """A question of a quiz was answered.

    Attributes, besides those of `Entry`:
        answer: key of the chosen answer.
        right: whether it is the right one.
        confidence: the probability that the person gave it, from 1 / answers to 1.
        answers: how many there were to choose from.
    """

    kind: ClassVar[str] = "answer"

    answer: str
    right: bool
    confidence: float
    answers: int

    @property
    def points(self) -> float:
        """Points by Brier's rule."""
        return points(self.confidence, self.right, self.answers)

    def _check(self) -> None:
        if not 2 <= self.answers <= 9:
            raise BrokenRecord("Its answers is not from 2 to 9.")
        if not 1 / self.answers - 1e-9 <= self.confidence <= 1:
            raise BrokenRecord("Its confidence is not from that of a guess to 1.")


KINDS: dict[str, type[Entry]] = {
    kind.kind: kind for kind in (StepRead, TaskSolved, Predicted, Answered)
}
_READ = {  # by the annotation of a field
    "str": lambda data, name: data.text(name, LONGEST_PROMPT if name == "prompt" else LONGEST_NAME),
    "int": lambda data, name: data.whole(name, 0, LATEST),
    "float": lambda data, name: float(data.number(name)),
    "bool": lambda data, name: data.truth(name),
    "tuple[float, ...]": lambda data, name: tuple(map(float, data.numbers(name, MOST_VALUES))),
}


def entry_of(data: Fields) -> Entry:
    """An entry of any kind, by its record; raises `BrokenRecord`."""
    kind = data.text("kind", LONGEST_NAME)
    if kind not in KINDS:
        raise BrokenRecord(f"Its kind {kind!r} is none of {', '.join(KINDS)}.")
    return KINDS[kind].restored(data)
