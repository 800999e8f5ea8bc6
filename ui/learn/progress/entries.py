"""What a person did, one thing each.

    StepRead     a step of a lesson was shown
    TaskSolved   a task was solved, with or without help
    Predicted    a prediction was revealed
    Answered     a question of a quiz was answered

An entry is never changed. Of two about the same thing the earlier one counts: whoever has seen the
reason knows the answer.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct, to_builtins

from engine.values import Real
from ui.learn.progress.score import points

LONGEST_NAME = 200
LONGEST_PROMPT = 2000
MOST_VALUES = 200
LATEST = 2**40  # seconds since 1970

ShortText = Annotated[str, Meta(max_length=LONGEST_NAME)]
Bars = Annotated[tuple[Real, ...], Meta(max_length=MOST_VALUES)]


class Entry(Struct, frozen=True, tag_field="kind"):
    """Something that a person did.

    Attributes:
        topic: key of the lesson, or of another page that asks.
        key: what it is about, within the topic.
        when: seconds since 1970.
    """

    topic: ShortText
    key: ShortText
    when: Annotated[int, Meta(ge=0, le=LATEST)]

    @property
    def about(self) -> tuple[str, str, str]:
        """What it is about; of two entries that are about the same, one counts."""
        return self.kind(), self.topic, self.key

    @classmethod
    def kind(cls) -> str:
        """The name of what was done, in records."""
        return cls.__struct_config__.tag

    def record(self) -> dict[str, Any]:
        """Plain values."""
        return to_builtins(self)


class StepRead(Entry, tag="step"):
    """A step of a lesson was shown."""


class TaskSolved(Entry, tag="task"):
    """A task was solved.

    Attributes, besides those of `Entry`:
        helped: whether the solution was shown before.
    """

    helped: bool


class Predicted(Entry, tag="prediction"):
    """A prediction was revealed.

    Attributes, besides those of `Entry`:
        prompt: the text that it was about.
        drawn, truth: the person's values and the model's, one for each bar.
        gap: how far apart they are, by the measure of the prediction.
        largest: the largest gap that there can be.
    """

    prompt: Annotated[str, Meta(max_length=LONGEST_PROMPT)]
    drawn: Bars
    truth: Bars
    gap: Real
    largest: Real

    @property
    def closeness(self) -> float:
        """From 0, as far off as can be, to 1, the model's own values."""
        return 1.0 - self.gap / self.largest

    def __post_init__(self) -> None:
        if len(self.drawn) != len(self.truth) or not self.drawn:
            raise ValueError("has drawn and truth of other lengths")
        if not 0.0 <= self.gap <= self.largest or self.largest <= 0:
            raise ValueError("has a gap that is not from 0 to its largest")


class Answered(Entry, tag="answer"):
    """A question of a quiz was answered.

    Attributes, besides those of `Entry`:
        answer: key of the chosen answer.
        right: whether it is the right one.
        confidence: the probability that the person gave it, from 1 / answers to 1.
        answers: how many there were to choose from.
    """

    answer: ShortText
    right: bool
    confidence: Real
    answers: Annotated[int, Meta(ge=2, le=9)]

    @property
    def points(self) -> float:
        """Points by Brier's rule."""
        return points(self.confidence, self.right, self.answers)

    def __post_init__(self) -> None:
        if not 1 / self.answers - 1e-9 <= self.confidence <= 1:
            raise ValueError("has a confidence that is not from that of a guess to 1")


AnyKind = StepRead | TaskSolved | Predicted | Answered
