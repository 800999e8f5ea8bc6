"""`make lesson`: check a lesson and try its tasks, show it, or list names for lessons.

python -m ui.learn.command lessons/the_loop [--serve] [--port 8501]
python -m ui.learn.command --list
"""

from __future__ import annotations

import argparse
import inspect
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from engine.errors import DecodingError
from engine.model import LanguageModel
from ui.learn.checks import COMPARISONS, Check, all_hold
from ui.learn.course import FOLDER, PREVIEW
from ui.learn.functions import Call, Functions, parameters, result_type
from ui.learn.learning import mistake_made
from ui.learn.lesson import (
    Figure,
    Lesson,
    Mistake,
    Step,
    Task,
    lesson_model,
    read_lesson,
    words_missing,
)
from ui.learn.panels import PANELS
from ui.learn.prediction.prediction import Prediction
from ui.learn.source import LessonError

Judge = Callable[[], str]  # returns the problem with the state, empty if there is none


@dataclass(frozen=True)
class Trial:
    """The outcome of one attempt.

    Attributes:
        place: the task, with the mistake that is tried, if any: ``press/three/ran``; or the
            prediction, or the figure.
        what: the attempt, as a sentence.
        problem: the problem with the lesson; empty if there is none.
    """

    place: str
    what: str
    problem: str


def trials(lesson: Lesson, model: LanguageModel) -> Iterator[Trial]:
    """Try all tasks, predictions and figures of a lesson.

    A task must not be solved, or show a hint, before any action. Its solution must solve it. Each
    of its mistakes must leave it unsolved and bring its own hint. The model's values for a
    prediction must lie on the scale that a person draws on.
    """
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
    """Check that a prediction's bars can show the model's values."""
    what = f'After "{prompt}" the truth lies on the scale.'
    try:
        bars = prediction.bars(model, prompt)
        truth = prediction.truth(model, prompt, bars)
    except DecodingError as error:
        return Trial(place, what, f"It is refused: {error}")
    # A time depends on this machine; every other value must be within reach of a person's bars.
    is_timed = bars.unit.name == "ms"
    off = [value for value in truth if not is_timed and not bars.low <= value <= bars.high]
    problem = f"The truth is {off}, and the scale {bars.low:g} to {bars.high:g}." if off else ""
    return Trial(place, what, problem)


def _measured(step: Step, figure: Figure, model: LanguageModel) -> Trial:
    """Check that a figure in a step's words can be measured."""
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
    """Describe the checks and the present values: ``generated at_least 3 (2)``."""
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


MOST_WORDS = 120  # in a step's text; people do not read more


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(prog="make lesson", description="Check a lesson.")
    parser.add_argument("folder", nargs="?", help="such as lessons/the_loop")
    parser.add_argument("--serve", action="store_true", help="then show it on the page of lessons")
    parser.add_argument("--port", default="8501", help="where, 8501 by default")
    parser.add_argument("--list", action="store_true", help="the checks and actions of each panel")
    chosen = parser.parse_args(arguments)
    if chosen.list or not chosen.folder:
        print(listed())
        return 0
    folder = Path(chosen.folder)
    try:
        lesson = read_lesson(folder)
    except LessonError as error:
        print(error)
        return 1
    if not checked(lesson):
        return 1
    return served(folder, chosen.port) if chosen.serve else 0


def checked(lesson: Lesson) -> bool:
    """Try a lesson and print the findings; return whether there was no problem."""
    print(f"{lesson.words().entry('').title}: {len(lesson.steps)} steps, {lesson.minutes} min")
    for step in lesson.steps:
        words = len(lesson.words().entry(step.key).text.split())
        if words > MOST_WORDS:
            print(f"  long     {step.key}: {words} words, and {MOST_WORDS} are read")
    for language, missing in words_missing(lesson).items():
        if missing:
            print(f"  English  {language}.md lacks {', '.join(missing)}")
    holds = True
    for trial in trials(lesson, lesson_model()):
        holds = holds and not trial.problem
        print(f"  {'WRONG' if trial.problem else 'holds'}    {trial.place}: {trial.what}")
        if trial.problem:
            print(f"           {trial.problem}")
    return holds


def served(folder: Path, port: str) -> int:
    """Serve the app with this lesson in its list, until it is stopped."""
    print(f"http://127.0.0.1:{port}/learn?lesson={folder.name}  (Ctrl-C stops it)")
    environment = os.environ | {PREVIEW: str(folder.resolve())}
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", port]
    return subprocess.run(command, env=environment, cwd=FOLDER.parent, check=False).returncode


# --- names that lessons may use -------------------------------------------------------------------


def listed() -> str:
    """Return the measures and the actions of every panel, as Markdown tables."""
    lines = []
    for kinds, functions in _shared({name: panel.measures for name, panel in PANELS.items()}):
        lines += [f"### Checks of {kinds}", "", "| check | gives | |", "|---|---|---|"]
        lines += [f"| {_signature(each)} | {_gives(each)} | {_about(each)} |" for each in functions]
        lines.append("")
    for kinds, functions in _shared({name: panel.actions for name, panel in PANELS.items()}):
        lines += [f"### Actions of {kinds}", "", "| do | |", "|---|---|"]
        lines += [f"| {_signature(each)} | {_about(each)} |" for each in functions]
        lines.append("")
    lines += ["### Comparisons", ""]
    kinds_of = {"a number": "float", "a text": "str", "yes or no": "bool"}
    lines += [
        f"- {kind}: {', '.join(f'`{name}`' for name in COMPARISONS[type_name])}"
        for kind, type_name in kinds_of.items()
    ]
    return "\n".join(lines)


def _shared(of_panels: dict[str, Functions]) -> Iterator[tuple[str, list[Callable]]]:
    """Group functions by the panels that have them, each function once."""
    kinds: dict[Callable, list[str]] = {}
    for name, functions in of_panels.items():
        for function in functions.values():
            kinds.setdefault(function, []).append(name)
    for group in dict.fromkeys(map(tuple, kinds.values())):
        named = ", ".join(f"`{name}`" for name in group)
        yield named, [function for function, names in kinds.items() if tuple(names) == group]


def _signature(function: Callable) -> str:
    named = [f"{each.name}=" for each in parameters(function) if each.kind is not each.VAR_KEYWORD]
    return f"`{' '.join([function.__name__, *named])}`"


def _gives(function: Callable) -> str:
    kinds = {"int": "a number", "float": "a number", "str": "a text", "bool": "yes or no"}
    return kinds[result_type(function)]


def _about(function: Callable) -> str:
    return " ".join((inspect.getdoc(function) or "").split())


if __name__ == "__main__":
    sys.exit(main())
