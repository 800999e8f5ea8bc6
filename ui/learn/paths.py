"""Paths: ways through the lessons for a given time, as data in `lessons/paths/`.

A stop is a lesson, or some of its steps. Its words have a key made of both, such as
``greedy_truth_loops``, since the same lesson may be a stop of several paths.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from ui.learn.course import FOLDER as LESSONS
from ui.learn.course import Course, course
from ui.learn.lesson import Lesson, Step
from ui.learn.source import Written, check_known, read_file, reading, refuse
from ui.learn.words import Words, check_words, read_words

FOLDER = LESSONS / "paths"
FILE = "paths.toml"


@dataclass(frozen=True)
class Stop:
    """A stop on a path: a lesson, or some of its steps.

    Attributes:
        place: the place of its words.
        lesson: the lesson.
        steps: the steps of the lesson that belong to the path.
        minutes: the time that they take.
    """

    place: str
    lesson: Lesson
    steps: tuple[Step, ...]
    minutes: int


@dataclass(frozen=True)
class Path:
    """A way through the lessons: a key, also of its words, and stops in order."""

    key: str
    stops: tuple[Stop, ...]

    @property
    def minutes(self) -> int:
        """The time that all stops take together."""
        return sum(stop.minutes for stop in self.stops)

    @property
    def places(self) -> tuple[tuple[Lesson, Step], ...]:
        """All steps in order, each with its lesson."""
        return tuple((stop.lesson, step) for stop in self.stops for step in stop.steps)


@dataclass(frozen=True)
class Paths:
    """All paths by key, the keys of lessons for specialists, and the words by language."""

    paths: dict[str, Path]
    specialists: frozenset[str]
    words: dict[str, Words]


class _Stop(Written):
    lesson: str
    steps: tuple[str, ...] = ()
    minutes: int | None = None

    def __post_init__(self) -> None:
        if bool(self.steps) == (self.minutes is None):
            refuse("minutes", "is that of some steps", "name both, or neither of them")


class _Path(Written):
    key: str
    stops: tuple[_Stop, ...]


class _Paths(Written):
    specialists: tuple[str, ...]
    paths: tuple[_Path, ...]


@cache
def paths() -> Paths:
    """Return the paths through the course, read once; raises `LessonError`."""
    lessons = course()
    file = FOLDER / FILE
    named = read_file(file, _Paths)
    with reading(file):
        check_known("specialists", named.specialists, [each.key for each in lessons.lessons])
    found = {each.key: _path(each, lessons, file) for each in named.paths}
    words = read_words(FOLDER)
    places = ["", *found, *(stop.place for path in found.values() for stop in path.stops)]
    check_words(words, dict.fromkeys(places, frozenset()), FILE)
    return Paths(found, frozenset(named.specialists), words)


def _path(path: _Path, lessons: Course, file: Path) -> Path:
    with reading(file, f"paths.{path.key}.stops"):
        return Path(path.key, tuple(_stop(each, path.key, lessons) for each in path.stops))


def _stop(stop: _Stop, path: str, lessons: Course) -> Stop:
    check_known("lesson", [stop.lesson], [each.key for each in lessons.lessons])
    lesson = lessons.lesson(stop.lesson)
    steps = {step.key: step for step in lesson.steps}
    check_known("steps", stop.steps, steps)
    place = "_".join([lesson.key, *stop.steps])
    chosen = tuple(steps[key] for key in stop.steps or steps)
    return Stop(f"{path}/{place}", lesson, chosen, stop.minutes or lesson.minutes)
