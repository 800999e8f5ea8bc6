"""Paths: ways through the lessons for a given time, as data in `lessons/paths/`.

A stop is a lesson, or some of its steps; its words stand under a key of the two, such as
``greedy_truth_loops``, since the same lesson may be a stop of several paths.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from ui.learn.course import FOLDER as LESSONS
from ui.learn.course import Course, course
from ui.learn.lesson import Lesson, Step
from ui.learn.source import Table, wrong
from ui.learn.words import Words, read_words

FOLDER = LESSONS / "paths"
FILE = "paths.toml"


@dataclass(frozen=True)
class Stop:
    """A part of a path.

    Attributes:
        place: of its words.
        lesson: which it is.
        steps: of the lesson, those that belong to the path.
        minutes: how long they take.
    """

    place: str
    lesson: Lesson
    steps: tuple[Step, ...]
    minutes: int


@dataclass(frozen=True)
class Path:
    """A way through the lessons: a key, under which its words stand, and stops in order."""

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


@cache
def paths() -> Paths:
    """The paths of this app, read once; raises `LessonError`."""
    return read_paths(course())


def read_paths(lessons: Course) -> Paths:
    """The paths through a course; raises `LessonError`."""
    table = Table.of_file(FOLDER / FILE)
    keys = [lesson.key for lesson in lessons.lessons]
    specialists = table.get("specialists", tuple[str, ...])
    for key in specialists:
        if key not in keys:
            table.wrong("specialists", f'names "{key}"', f"use some of {', '.join(keys)}")
    found = [_path(each, lessons, keys) for each in table.tables("paths")]
    table.end()
    words = read_words(FOLDER)
    for path in found:
        for place in (path.key, *(stop.place for stop in path.stops)):
            for each in words.values():
                if place not in each.entries:
                    wrong(each.file, place, "has no words", f"add a heading for {place}")
    return Paths({path.key: path for path in found}, frozenset(specialists), words)


def _path(table: Table, lessons: Course, keys: list[str]) -> Path:
    key = table.get("key", str)
    stops = tuple(_stop(each, key, lessons, keys) for each in table.tables("stops"))
    table.end()
    return Path(key, stops)


def _stop(table: Table, path: str, lessons: Course, keys: list[str]) -> Stop:
    lesson = lessons.lesson(table.chosen("lesson", keys))
    named = table.get("steps", tuple[str, ...], ())
    steps = {step.key: step for step in lesson.steps}
    for key in named:
        if key not in steps:
            table.wrong("steps", f'names "{key}"', f"use some of {', '.join(steps)}")
    minutes = table.get("minutes", int) if named else lesson.minutes
    table.end()
    place = "_".join([lesson.key, *named])
    chosen = tuple(steps[key] for key in named or steps)
    return Stop(f"{path}/{place}", lesson, chosen, minutes)
