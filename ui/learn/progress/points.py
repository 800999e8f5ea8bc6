"""What everything that a person did is worth.

A step read counts little and a task solved alone counts most. A prediction counts by how near it
came, a quiz answer by Brier's rule (`ui.learn.quiz.score`), where it may take points away.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

from ui.learn.progress.entries import Answered, Entry, Predicted, StepRead, TaskSolved
from ui.learn.progress.progress import Progress

STEP = 1.0
TASK_ALONE = 10.0
TASK_HELPED = 4.0
PREDICTION = 10.0  # of the model's own values


@singledispatch
def points_of(entry: Entry) -> float:
    """What an entry is worth."""
    raise TypeError(type(entry).__name__)


@points_of.register
def _(entry: StepRead) -> float:
    return STEP


@points_of.register
def _(entry: TaskSolved) -> float:
    return TASK_HELPED if entry.helped else TASK_ALONE


@points_of.register
def _(entry: Predicted) -> float:
    return PREDICTION * entry.closeness


@points_of.register
def _(entry: Answered) -> float:
    return entry.points


@dataclass(frozen=True)
class Points:
    """Points by what they are for.

    Attributes:
        steps, tasks, predictions, answers: the sum of each; that of answers may be below 0.
    """

    steps: float
    tasks: float
    predictions: float
    answers: float

    @property
    def total(self) -> float:
        """All of them."""
        return self.steps + self.tasks + self.predictions + self.answers


def points(progress: Progress) -> Points:
    """What all of it is worth."""
    kinds = (progress.steps, progress.tasks, progress.predictions, progress.answers)
    return Points(*(sum(map(points_of, entries)) for entries in kinds))
