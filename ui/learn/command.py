"""`make lesson`: check a lesson and try its tasks, show it; or list what lessons may name.

python -m ui.learn.command lessons/the_loop [--serve] [--port 8501]
python -m ui.learn.command --list
"""

from __future__ import annotations

import argparse
import inspect
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from ui.learn.checks import COMPARISONS
from ui.learn.course import FOLDER, PREVIEW
from ui.learn.functions import Functions, result_type
from ui.learn.lesson import Lesson, read_lesson, words_missing
from ui.learn.model import lesson_model
from ui.learn.panels import PANELS
from ui.learn.source import LessonError
from ui.learn.trial import trials

MOST_WORDS = 120  # of a step's text, after which a person no longer reads it


def main(arguments: list[str] | None = None) -> int:
    """Run the command; gives its exit status."""
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
    """Try a lesson and print what was found; whether all of it holds."""
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
    """Serve the app with this lesson in its list, until it is ended."""
    print(f"http://127.0.0.1:{port}/learn?lesson={folder.name}  (Ctrl-C stops it)")
    environment = os.environ | {PREVIEW: str(folder.resolve())}
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", port]
    return subprocess.run(command, env=environment, cwd=FOLDER.parent, check=False).returncode


# --- what lessons may name ------------------------------------------------------------------------


def listed() -> str:
    """The measures and the actions of every panel, as Markdown tables."""
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
    """Functions by the panels that have them, each function once."""
    kinds: dict[Callable, list[str]] = {}
    for name, functions in of_panels.items():
        for function in functions.values():
            kinds.setdefault(function, []).append(name)
    for group in dict.fromkeys(map(tuple, kinds.values())):
        named = ", ".join(f"`{name}`" for name in group)
        yield named, [function for function, names in kinds.items() if tuple(names) == group]


def _signature(function: Callable) -> str:
    parameters = list(inspect.signature(function).parameters.values())[1:]
    named = [f"{each.name}=" for each in parameters if each.kind is not each.VAR_KEYWORD]
    return f"`{' '.join([function.__name__, *named])}`"


def _gives(function: Callable) -> str:
    kinds = {"int": "a number", "float": "a number", "str": "a text", "bool": "yes or no"}
    return kinds[result_type(function)]


def _about(function: Callable) -> str:
    return " ".join((inspect.getdoc(function) or "").split())


if __name__ == "__main__":
    sys.exit(main())
