"""All kinds of what may stand below the tasks of a step.

A step of lesson.toml holds a list of tables for each kind, under the name of the kind:

    [[steps.predictions]]
    key = "first_token"

To add a kind: a subclass of `DeclaredExtra` in a folder of its own, and one line in `KINDS`. The
quiz of a lesson needs no table: where the lesson has a folder `quiz`, its last step ends with it.
"""

from __future__ import annotations

from pathlib import Path

from ui.learn.extra import DeclaredExtra, Extra
from ui.learn.prediction.extra import PredictionExtra
from ui.learn.quiz.extra import quiz_in
from ui.learn.source import Table

KINDS: dict[str, type[DeclaredExtra]] = {"predictions": PredictionExtra}  # by the name of the list


def read_extras(table: Table, step: str) -> tuple[Extra, ...]:
    """All that a step has, in the order of `KINDS`."""
    found: list[Extra] = []
    for name, kind in KINDS.items():
        for each in table.tables(name, []):
            found.append(kind.read(each, step))
            each.end()
    return tuple(found)


def last_extras(folder: Path) -> tuple[Extra, ...]:
    """What ends the lesson in a folder; raises `LessonError`."""
    quiz = quiz_in(folder)
    return () if quiz is None else (quiz,)
