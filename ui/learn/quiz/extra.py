"""The quiz of a lesson, below the tasks of its last step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ui.learn.extra import Extra
from ui.learn.progress.entries import Answered
from ui.learn.progress.store import now
from ui.learn.quiz.questions import FOLDER, quiz_of
from ui.learn.quiz.view import Given, draw_quiz
from ui.visits.tab import this_visit
from ui.words.language import language

if TYPE_CHECKING:
    from ui.learn.learning import Learning
    from ui.learn.words import Words


@dataclass(frozen=True)
class QuizExtra(Extra):
    """All questions of a lesson, one at a time; they have words of their own.

    Attributes:
        folder: of the quiz.
    """

    folder: Path

    def draw(self, lesson: str, words: Words, learning: Learning) -> None:
        """Draw the question that the person is at; each first answer becomes progress."""
        progress = learning.done.progress
        before = {
            one.key: Given(one.key, one.answer, one.right, one.confidence, one.answers)
            for one in progress.all(Answered, lesson)
        }

        def take(given: Given) -> None:
            learning.done.note(
                Answered(
                    lesson,
                    given.question,
                    now(),
                    given.answer,
                    given.right,
                    given.confidence,
                    given.answers,
                )
            )

        draw_quiz(
            quiz_of(self.folder, language()), before, take, progress.calibration, this_visit()
        )


def quiz_in(folder: Path) -> QuizExtra | None:
    """The quiz of the lesson in a folder, None where it has none; raises `LessonError`."""
    quiz = folder / FOLDER
    if not quiz.is_dir():
        return None
    quiz_of(quiz)  # a mistake is said at once
    return QuizExtra(quiz)
