"""A visitor's state on the lessons page: hints, the place in each lesson, and the live panels.

Solved tasks and other actions belong to the person's progress, which outlives the tab.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from msgspec import Meta, Struct

from engine.errors import DecodingError
from engine.values import Name
from ui.learn.checks import all_hold
from ui.learn.lesson import Lesson, Mistake, Step, Task, lesson_model
from ui.learn.progress.entries import StepRead, TaskSolved
from ui.learn.progress.mine import Done, MyDone
from ui.learn.progress.store import now
from ui.models.first_model import load_quietly
from ui.visits.records import BrokenRecord, read
from ui.visits.visits import PageState, Visit
from ui.words.labels import markdown_text
from ui.words.language import say

MOST_KEPT = 10_000  # entries of a record
LONGEST_PLACE = 200
HINTS_BEFORE_SHOWING = 2  # after which "Show me" becomes prominent

Place = Annotated[str, Meta(max_length=LONGEST_PLACE)]


class _Kept(Struct):
    hints: Annotated[list[tuple[Place, list[Name]]], Meta(max_length=MOST_KEPT)]
    reached: Annotated[list[tuple[Place, Name]], Meta(max_length=MOST_KEPT)]
    figures: Annotated[list[tuple[Place, dict[str, Name]]], Meta(max_length=MOST_KEPT)]


@dataclass
class Learning:
    """One visitor's state in the lessons.

    Attributes:
        hints: the hints that were given for a task, by lesson, step and task joined by ``/``.
        reached: by lesson, the key of the last step that was opened.
        figures: the values measured when a task was solved, by place and name; later states of the
            panel do not change them.
        done: the person's progress, in this tab or another.
    """

    name: ClassVar[str] = "learn"

    hints: dict[str, list[str]] = field(default_factory=dict)
    reached: dict[str, str] = field(default_factory=dict)
    figures: dict[str, dict[str, str]] = field(default_factory=dict)
    version: int = 0
    done: Done = field(default_factory=Done)

    # --- tasks ------------------------------------------------------------------------------------

    def is_solved(self, lesson: Lesson, task: Task) -> bool:
        """Return whether a task is solved, with or without help."""
        return self._solved(lesson, task) is not None

    def was_shown(self, lesson: Lesson, task: Task) -> bool:
        """Return whether a task is solved and its solution was shown."""
        solved = self._solved(lesson, task)
        return solved is not None and solved.helped

    def solve(self, lesson: Lesson, task: Task, *, shown: bool = False) -> None:
        """Note that a task is solved; the first time counts."""
        if not self.is_solved(lesson, task):
            self.done.note(TaskSolved(lesson.key, task.place, now(), shown))

    def _solved(self, lesson: Lesson, task: Task) -> TaskSolved | None:
        return self.done.progress.find(TaskSolved, lesson.key, task.place)

    def hints_of(self, lesson: Lesson, task: Task) -> list[str]:
        """Return the keys of the hints given; ``hint`` is the one that was asked for."""
        return self.hints.get(_place(lesson, task), [])

    def give_hint(self, lesson: Lesson, task: Task, key: str) -> None:
        """Note that a hint was given; each counts once."""
        given = self.hints.setdefault(_place(lesson, task), [])
        if key not in given:
            given.append(key)
            self.version += 1

    def look(self, lesson: Lesson, task: Task, live: object) -> Mistake | None:
        """Check a task: note that it is solved, with its figures, or find a mistake.

        Returns:
            The present mistake; None if there is none, or if the task is solved.
        """
        place = _place(lesson, task)
        if place not in self.figures and all_hold(task.solved, live):
            self.figures[place] = {each.name: each.shown(live) for each in task.solved}
            self.version += 1
            self.solve(lesson, task)
        if self.is_solved(lesson, task):
            return None
        made = mistake_made(task, live)
        if made is not None:
            self.give_hint(lesson, task, made.key)
        return made

    def figures_of(self, lesson: Lesson, task: Task) -> dict[str, str] | None:
        """Return the values measured when a task was solved, safe for Markdown.

        None if it was solved in another tab.
        """
        found = self.figures.get(_place(lesson, task))
        return found and {name: markdown_text(shown) for name, shown in found.items()}

    def offers_solution(self, lesson: Lesson, task: Task) -> bool:
        """Return whether enough hints were given to offer the solution prominently."""
        return len(self.hints_of(lesson, task)) >= HINTS_BEFORE_SHOWING

    # --- lessons ----------------------------------------------------------------------------------

    def reach(self, lesson: Lesson, step: Step) -> None:
        """Note the step that is on screen."""
        if self.reached.get(lesson.key) != step.key:
            self.reached[lesson.key] = step.key
            self.version += 1
        if self.done.progress.find(StepRead, lesson.key, step.key) is None:
            self.done.note(StepRead(lesson.key, step.key, now()))

    def place_in(self, lesson: Lesson) -> str:
        """Return the key of the step to continue with; empty if the lesson was never opened.

        In a new tab, this is the last step that the person has read.
        """
        read = self.done.progress.all(StepRead, lesson.key)
        last = max(read, key=lambda entry: entry.when).key if read else ""
        return self.reached.get(lesson.key, last)

    def solved_in(self, lesson: Lesson) -> int:
        """Count the solved tasks of a lesson."""
        return sum(self.is_solved(lesson, task) for task in lesson.tasks())

    # --- to disk and back -------------------------------------------------------------------------

    def record(self) -> dict[str, Any]:
        """Return the state as plain values."""
        return {
            "hints": [[place, list(keys)] for place, keys in self.hints.items()],
            "reached": list(map(list, self.reached.items())),
            "figures": [[place, dict(found)] for place, found in self.figures.items()],
        }

    def release(self) -> None:
        """Release nothing: nothing here could be made again."""

    @classmethod
    def restored(cls, data: Any) -> Learning:
        """Restore the output of `record`; raises `BrokenRecord`."""
        kept = read(data, _Kept)
        return cls(dict(kept.hints), dict(kept.reached), dict(kept.figures))


def mistake_made(task: Task, live: object) -> Mistake | None:
    """Return the first of a task's mistakes that was made; None if none was."""
    return next((each for each in task.mistakes if all_hold(each.when, live)), None)


def _place(lesson: Lesson, task: Task) -> str:
    return f"{lesson.key}/{task.place}"


# --- live panels ----------------------------------------------------------------------------------


def page_name(lesson: Lesson, step: Step) -> str:
    """Return the name under which a visit keeps the live state of a step's panel."""
    return f"{Learning.name}/{lesson.key}/{step.panel_key}"


def live_of(visit: Visit, lesson: Lesson, step: Step) -> PageState:
    """Return the live state of a step's panel: the visitor's own, else a new one.

    Raises:
        DecodingError: not even the bundled model can be loaded.
    """

    def make() -> PageState:
        return step.panel.begun(lesson_model())

    def restore(record: dict[str, Any]) -> PageState:
        try:
            return step.panel.restored(record, load_quietly)
        except DecodingError as error:
            visit.notices.append(
                say(
                    "Your state in this lesson could not be restored, so it starts over. {reason}",
                    reason=error,
                )
            )
            return make()

    return visit.page(page_name(lesson, step), make, restore)


def learning_of(visit: Visit) -> Learning:
    """Return a visitor's state in the lessons."""

    def restore(record: dict[str, Any]) -> Learning:
        try:
            return Learning.restored(record)
        except BrokenRecord as error:
            visit.notices.append(
                say("Your hints could not be read, so they start over. {reason}", reason=error)
            )
            return Learning()

    learning = visit.page(Learning.name, Learning, restore)
    if not isinstance(learning.done, MyDone):
        learning.done = MyDone()
    learning.done.look()
    return learning
