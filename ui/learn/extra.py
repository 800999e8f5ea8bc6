"""What may stand below the tasks of a step: a role that predictions and quizzes plug into."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from ui.learn.source import Table

if TYPE_CHECKING:
    from ui.learn.learning import Learning
    from ui.learn.words import Words


class Extra(ABC):
    """One of them.

    Attributes:
        words_needed: the headings that the words of the lesson must have for it.
    """

    words_needed: Sequence[str] = ()

    @abstractmethod
    def draw(self, lesson: str, words: Words, learning: Learning) -> None:
        """Draw it.

        Args:
            lesson: key of the lesson.
            words: of the lesson, in the person's language.
            learning: what the person has done so far.
        """


class DeclaredExtra(Extra):
    """One that a table of lesson.toml describes."""

    @classmethod
    @abstractmethod
    def read(cls, table: Table, step: str) -> Self:
        """What the table describes; raises `LessonError`.

        Args:
            table: the table; what is not read of it is refused.
            step: key of the step.
        """
