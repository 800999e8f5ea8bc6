"""Entries of progress: one for each action of a person.

    StepRead     a step of a lesson was shown
    TaskSolved   a task was solved, with or without help
    Predicted    a prediction was revealed
    Answered     a question of a quiz was answered

An entry is never changed. Of two entries about the same thing, the earlier one counts: a person who
has seen the reason knows the answer.

The rule for an answer with a confidence is the quadratic score of Brier (1950), "Verification of
forecasts expressed in terms of probability", Monthly Weather Review 78. The forecast is the
confidence for the chosen answer, and equal parts of the remaining probability for the others. The
score is the sum of the squared differences between forecast and outcome. It is proper: a person who
states their true confidence can expect the best score. The logarithmic score is proper too, but
takes away infinitely many points from a person who was certain and wrong. Points put that score on
a scale.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta, Struct, to_builtins

from engine.values import Real
from ui.words.labels import counted
from ui.words.language import say

MOST_POINTS = 10.0  # of an answer
FEW = 10  # answers; with fewer, luck and calibration look alike
NEAR = 0.1  # confidence and share of right answers fit each other within this difference


def brier(confidence: float, is_right: bool, answers: int) -> float:
    """Return the score of Brier (1950): from 0, certain and right, to 2, certain and wrong.

    Args:
        confidence: probability of the chosen answer.
        is_right: whether that is the right one.
        answers: number of answers to choose from.
    """
    rest = (1.0 - confidence) / (answers - 1)
    if is_right:
        return (1.0 - confidence) ** 2 + (answers - 1) * rest**2
    return confidence**2 + (1.0 - rest) ** 2 + (answers - 2) * rest**2


def points(confidence: float, is_right: bool, answers: int) -> float:
    """Brier's score as points: 10 if sure and right, 0 for a guess, below 0 if sure and wrong."""
    guess = 1.0 - 1.0 / answers  # the score of a guess, whichever answer is right
    return MOST_POINTS * (1.0 - brier(confidence, is_right, answers) / guess)


@dataclass(frozen=True)
class Calibration:
    """Mean confidence of a person's answers, and the share that was right.

    Attributes:
        answers: the number of answers.
        confidence: mean confidence, 0 to 1.
        right: share that was right, 0 to 1.
    """

    answers: int
    confidence: float
    right: float

    @property
    def excess(self) -> float:
        """Confidence minus the share that was right; below 0 if the confidence is too low."""
        return self.confidence - self.right

    @property
    def is_few(self) -> bool:
        """True if there are too few answers to judge by."""
        return self.answers < FEW


def calibration(answers: Iterable[tuple[float, bool]]) -> Calibration | None:
    """Summarise answers given as (confidence, whether right); None without answers."""
    given = list(answers)
    if not given:
        return None
    count = len(given)
    return Calibration(
        count,
        sum(confidence for confidence, _ in given) / count,
        sum(is_right for _, is_right in given) / count,
    )


def percent(share: float) -> str:
    """Format a confidence or a share of answers: ``80 %``."""
    return f"{100 * share:.0f} %"


def calibration_sentence(summary: Calibration) -> str:
    """Describe confidence and share of right answers; with enough answers, also how they agree."""
    sure, right = percent(summary.confidence), percent(summary.right)
    count = counted(summary.answers, "answer")
    said = say(
        "You were {sure} sure on average and right in {right} of {answers}.",
        sure=sure,
        right=right,
        answers=count,
    )
    if summary.is_few:
        fit = say("These are too few to tell luck from calibration.")
    elif summary.excess > NEAR:
        fit = say("You say more than you know: a lower confidence would have scored better.")
    elif summary.excess < -NEAR:
        fit = say("You know more than you say: a higher confidence would have scored better.")
    else:
        fit = say("You are well calibrated.")
    return f"{said} {fit}"


LONGEST_NAME = 200
LONGEST_PROMPT = 2000
MOST_VALUES = 200
LATEST = 2**40  # seconds since 1970

ShortText = Annotated[str, Meta(max_length=LONGEST_NAME)]
Bars = Annotated[tuple[Real, ...], Meta(max_length=MOST_VALUES)]


class Entry(Struct, frozen=True, tag_field="kind"):
    """A record of something that a person did.

    Attributes:
        topic: key of the lesson, or of the page that asks.
        key: its subject within the topic.
        when: seconds since 1970.
    """

    topic: ShortText
    key: ShortText
    when: Annotated[int, Meta(ge=0, le=LATEST)]

    @property
    def about(self) -> tuple[str, str, str]:
        """The subject of the entry; of two entries with the same subject, one counts."""
        return self.kind(), self.topic, self.key

    @classmethod
    def kind(cls) -> str:
        """Return the name of the action, as in records."""
        return cls.__struct_config__.tag

    def record(self) -> dict[str, Any]:
        """Return the entry as plain values."""
        return to_builtins(self)


class StepRead(Entry, tag="step"):
    """A step of a lesson was shown."""


class TaskSolved(Entry, tag="task"):
    """A task was solved.

    Attributes in addition to those of `Entry`:
        helped: whether the solution was shown before.
    """

    helped: bool


class Predicted(Entry, tag="prediction"):
    """A prediction was revealed.

    Attributes in addition to those of `Entry`:
        prompt: the text to predict from.
        drawn, truth: the person's values and the model's, one for each bar.
        gap: the distance between them, by the measure of the prediction.
        largest: the largest gap that there can be.
    """

    prompt: Annotated[str, Meta(max_length=LONGEST_PROMPT)]
    drawn: Bars
    truth: Bars
    gap: Real
    largest: Real

    @property
    def closeness(self) -> float:
        """The closeness from 0, the largest possible gap, to 1, the model's own values."""
        return 1.0 - self.gap / self.largest

    def __post_init__(self) -> None:
        if len(self.drawn) != len(self.truth) or not self.drawn:
            raise ValueError("has drawn and truth of other lengths")
        if not 0.0 <= self.gap <= self.largest or self.largest <= 0:
            raise ValueError("has a gap that is not from 0 to its largest")


class Answered(Entry, tag="answer"):
    """A question of a quiz was answered.

    Attributes in addition to those of `Entry`:
        answer: key of the chosen answer.
        right: whether it is the right one.
        confidence: the probability that the person gave it, from 1 / answers to 1.
        answers: number of answers to choose from.
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
