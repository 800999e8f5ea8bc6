"""The lessons in teaching order, from `lessons/course.toml`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ui.learn.lesson import Lesson, read_lesson
from ui.learn.source import Written, read_file

FOLDER = Path(__file__).resolve().parents[2] / "lessons"
PREVIEW = "DECODING_LESSON"  # in the environment: the folder of one more lesson, last in the list


@dataclass(frozen=True)
class Course:
    """Lessons in order."""

    lessons: tuple[Lesson, ...]

    def lesson(self, key: str) -> Lesson | None:
        """Return the lesson with this key; None if there is none."""
        return next((lesson for lesson in self.lessons if lesson.key == key), None)

    def after(self, lesson: Lesson) -> Lesson | None:
        """Return the next lesson; None after the last."""
        place = self.lessons.index(lesson)
        return self.lessons[place + 1] if place + 1 < len(self.lessons) else None


class _Order(Written):
    lessons: tuple[str, ...]


def read_course(folder: Path = FOLDER) -> Course:
    """Read the course in a folder; raises `LessonError`."""
    order = read_file(folder / "course.toml", _Order)
    lessons = [read_lesson(folder / key) for key in order.lessons]
    preview = os.environ.get(PREVIEW, "")
    if preview and Path(preview).name not in [lesson.key for lesson in lessons]:
        lessons.append(read_lesson(Path(preview)))
    return Course(tuple(lessons))


@cache
def course() -> Course:
    """Return the app's course, read once."""
    return read_course()
