"""A lesson tried as a program is: its solutions and its typical mistakes, without a browser.

A task must not be solved before anything was done, nor show a hint. Its solution solves it. Each of
its mistakes leaves it unsolved and brings its own hint. What the model gives for a prediction lies
on the scale that a person draws on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from engine.errors import DecodingError
from engine.model import LanguageModel
from ui.learn.checks import Check, all_hold
from ui.learn.figures import Figure
from ui.learn.functions import Call
from ui.learn.learning import mistake_made
from ui.learn.lesson import Lesson, Mistake, Step, Task
from ui.learn.prediction.prediction import Prediction

Judge = Callable[[], str]  # what is wrong with the state, empty where nothing is


@dataclass(frozen=True)
class Trial:
    """One thing that was tried.

    Attributes:
        place: the task, with the mistake where it is one: ``press/three/ran``; or the prediction,
            or the figure.
        what: what was tried, as a sentence.
        problem: what is wrong with the lesson; empty where it is as it should be.
    """

    place: str
    what: str
    problem: str


def trials(lesson: Lesson, model: LanguageModel) -> Iterator[Trial]:
    """Try all tasks, predictions and figures of a lesson."""
    for step in lesson.steps:
        for task in step.tasks:
            yield from _trials_of(lesson, step, task, model)
        for asked, prediction in step.predictions.items():
            for prompt in prediction.prompts:
                yield _revealed(asked, prediction, prompt, model)
        for figure in step.figures:
            yield _measured(step, figure, model)


def _trials_of(lesson: Lesson, step: Step, task: Task, model: LanguageModel) -> Iterator[Trial]:
    way = lesson.way_to(task)
    before = way[: len(way) - len(task.solution)]
    live = step.panel.begun(model)

    def tried(place: str, what: str, actions: Sequence[Call], judge: Judge) -> Trial:
        try:
            step.panel.begin_anew(live, actions)
            return Trial(place, what, judge())
        except DecodingError as error:
            return Trial(place, what, f"It is refused: {error}")

    what = "Before it is begun it is open, without a hint."
    yield tried(task.place, what, before, partial(_too_early, task, live))
    for mistake in task.mistakes:
        what, place = "The mistake brings its own hint.", task.words_of(mistake.key)
        made = (*before, *mistake.actions)
        yield tried(place, what, made, partial(_not_caught, task, mistake, live))
    yield tried(task.place, "The solution solves it.", way, partial(_not_solved, task, live))
    live.release()


def _revealed(place: str, prediction: Prediction, prompt: str, model: LanguageModel) -> Trial:
    """The truth of a prediction, which its bars can show."""
    what = f'After "{prompt}" the truth lies on the scale.'
    try:
        bars = prediction.bars(model, prompt)
        truth = prediction.truth(model, prompt, bars)
    except DecodingError as error:
        return Trial(place, what, f"It is refused: {error}")
    # A time is that of this machine; every other value is to be within reach of a person's bars.
    is_timed = bars.unit.name == "ms"
    off = [value for value in truth if not is_timed and not bars.low <= value <= bars.high]
    problem = f"The truth is {off}, and the scale {bars.low:g} to {bars.high:g}." if off else ""
    return Trial(place, what, problem)


def _measured(step: Step, figure: Figure, model: LanguageModel) -> Trial:
    """A figure that the words of a step show: there must be something to measure."""
    place, what = f"{step.key}/{figure.name}", "There is something to measure."
    try:
        found = figure.value(model)
    except DecodingError as error:
        return Trial(place, what, f"It is refused: {error}")
    return Trial(place, what, "There is nothing to measure." if found is None else "")


def _too_early(task: Task, live: Any) -> str:
    if all_hold(task.solved, live):
        return f"It is solved before anything is done: {measured(task.solved, live)}."
    made = mistake_made(task, live)
    if made is not None:
        found = measured(made.when, live)
        return f"The hint {made.key} comes before anything is done: {found}."
    return ""


def _not_caught(task: Task, mistake: Mistake, live: Any) -> str:
    if all_hold(task.solved, live):
        return f"The mistake solves the task: {measured(task.solved, live)}."
    made = mistake_made(task, live)
    if made is None:
        return f"No hint comes: {measured(mistake.when, live)}."
    if made is not mistake:
        return f"The hint {made.key} comes instead; put the more special mistake first."
    return ""


def _not_solved(task: Task, live: Any) -> str:
    if all_hold(task.solved, live):
        return ""
    return f"The solution does not solve it: {measured(task.solved, live)}."


def measured(checks: tuple[Check, ...], live: Any) -> str:
    """What checks ask for and what is there: ``generated at_least 3 (2)``."""
    return ", ".join(
        " ".join(
            [
                check.measure.name,
                *(f"{name} {wanted!r}" for name, wanted in check.comparisons.items()),
                f"({check.shown(live)})",
            ]
        )
        for check in checks
    )
