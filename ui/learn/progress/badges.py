"""Badges: few, and each for something that was done and measured.

They stand in `lessons/badges/badges.toml`, each with a rule and its numbers; their words stand
beside it, under headings with their keys.

    tasks        tasks = ["greedy/loops/broken"]       all of these tasks are solved
    alone        count = 10                            so many tasks are solved without help
    close        count = 3, closeness = 0.9            so many predictions are at least so close
    calibrated   count = 20, within = 0.1              confidence and share of right answers differ
                                                       by no more, over at least so many answers
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar, Self

from ui.learn.progress.entries import TaskSolved
from ui.learn.progress.progress import Progress
from ui.learn.source import Table, wrong
from ui.learn.words import ENGLISH, read_words

FOLDER = Path(__file__).resolve().parents[3] / "lessons" / "badges"
MOST = 1000


class Rule(ABC):
    """What a badge asks for.

    Class attributes:
        kind: its name in the file.
    """

    kind: ClassVar[str]

    @classmethod
    @abstractmethod
    def read(cls, table: Table) -> Self:
        """The rule of a table; raises `LessonError`."""

    @abstractmethod
    def standing(self, progress: Progress) -> tuple[int, int]:
        """How much is there, of how much; the badge is earned where both are the same."""


@dataclass(frozen=True)
class Tasks(Rule):
    """All of these tasks are solved; each is (lesson, task)."""

    kind: ClassVar[str] = "tasks"

    tasks: tuple[tuple[str, str], ...]

    @classmethod
    def read(cls, table: Table) -> Self:
        tasks = []
        for name in table.texts("tasks"):
            lesson, slash, task = name.partition("/")
            if not (lesson and slash and task):
                table.wrong("tasks", f'holds "{name}"', "write lesson/step/task")
            tasks.append((lesson, task))
        return cls(tuple(tasks))

    def standing(self, progress: Progress) -> tuple[int, int]:
        solved = [task for task in self.tasks if progress.find(TaskSolved, *task)]
        return len(solved), len(self.tasks)


@dataclass(frozen=True)
class Alone(Rule):
    """So many tasks are solved without help."""

    kind: ClassVar[str] = "alone"

    count: int

    @classmethod
    def read(cls, table: Table) -> Self:
        return cls(_count(table))

    def standing(self, progress: Progress) -> tuple[int, int]:
        return min(sum(not task.helped for task in progress.tasks), self.count), self.count


@dataclass(frozen=True)
class Close(Rule):
    """So many predictions are at least so close."""

    kind: ClassVar[str] = "close"

    count: int
    closeness: float

    @classmethod
    def read(cls, table: Table) -> Self:
        return cls(_count(table), _share(table, "closeness"))

    def standing(self, progress: Progress) -> tuple[int, int]:
        close = sum(one.closeness >= self.closeness for one in progress.predictions)
        return min(close, self.count), self.count


@dataclass(frozen=True)
class Calibrated(Rule):
    """Confidence and share of right answers are near to each other, over enough answers."""

    kind: ClassVar[str] = "calibrated"

    count: int
    within: float

    @classmethod
    def read(cls, table: Table) -> Self:
        return cls(_count(table), _share(table, "within"))

    def standing(self, progress: Progress) -> tuple[int, int]:
        summary = progress.calibration
        answers = min(summary.answers, self.count) if summary else 0
        if answers == self.count and abs(summary.excess) > self.within:
            answers -= 1  # one more answer may do it
        return answers, self.count


RULES: dict[str, type[Rule]] = {rule.kind: rule for rule in (Tasks, Alone, Close, Calibrated)}


def _count(table: Table) -> int:
    value = table.whole("count")
    if not 1 <= value <= MOST:
        table.wrong("count", f"is {value:,}", f"use a whole number from 1 to {MOST:,}")
    return value


def _share(table: Table, key: str) -> float:
    value = table.number(key)
    if not 0 <= value <= 1:
        table.wrong(key, f"is {value:g}", "use a number from 0 to 1")
    return value


@dataclass(frozen=True)
class Badge:
    """A badge.

    Attributes:
        key: its name in the file.
        rule: what it asks for.
        name, text: words: its name, and what it is for.
    """

    key: str
    rule: Rule
    name: str
    text: str


@dataclass(frozen=True)
class Standing:
    """A badge, and how far a person is.

    Attributes:
        badge: the badge.
        have, need: how much is there, of how much.
    """

    badge: Badge
    have: int
    need: int

    @property
    def is_earned(self) -> bool:
        """Whether the person has it."""
        return self.have == self.need


@cache
def badges(folder: Path = FOLDER, language: str = ENGLISH) -> tuple[Badge, ...]:
    """All badges of a folder, with words in a language; raises `LessonError`."""
    table = Table.of_file(folder / "badges.toml")
    languages = read_words(folder)
    words = languages.get(language, languages[ENGLISH])
    found = []
    for one in table.tables("badges"):
        key = one.text("key")
        if not words.has(key):
            wrong(languages[ENGLISH].file, key, "has no words", f"add a heading: ## {key}: Name")
        rule = RULES[one.chosen("rule", RULES)].read(one)
        one.end()
        entry = words.entry(key)
        found.append(Badge(key, rule, entry.title, entry.text))
    table.end()
    return tuple(found)


def standings(progress: Progress, all_badges: tuple[Badge, ...]) -> list[Standing]:
    """Every badge with how far a person is; those that are earned first."""
    found = [Standing(badge, *badge.rule.standing(progress)) for badge in all_badges]
    return sorted(found, key=lambda standing: not standing.is_earned)
