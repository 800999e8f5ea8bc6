"""What may stand below the tasks of a step: a role that predictions and quizzes plug into.

A step of lesson.toml holds a list of tables for each kind, under the name of the kind:

    [[steps.predictions]]
    key = "first_token"

To add a kind: a subclass of `Extra` in a folder of its own, and one line in `KINDS`.
"""

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
        place: where its words are: the keys of the step and of its own, joined by ``/``.
        words_needed: the headings that the words of the lesson must have for it.
    """

    place: str
    words_needed: Sequence[str]

    @classmethod
    @abstractmethod
    def read(cls, table: Table, step: str) -> Self:
        """What a table of lesson.toml describes; raises `LessonError`.

        Args:
            table: the table; what is not read of it is refused.
            step: key of the step.
        """

    @abstractmethod
    def draw(self, lesson: str, words: Words, learning: Learning) -> None:
        """Draw it.

        Args:
            lesson: key of the lesson.
            words: of the lesson, in the person's language.
            learning: what the person has done so far.
        """


KINDS: dict[str, type[Extra]] = {}  # by the name of the list in a step


def read_extras(table: Table, step: str) -> tuple[Extra, ...]:
    """All that a step has, in the order of `KINDS`."""
    found: list[Extra] = []
    for name, kind in KINDS.items():
        for each in table.tables(name, []):
            found.append(kind.read(each, step))
            each.end()
    return tuple(found)
