"""Questions as data: the structure in quiz.toml, the words beside it, one Markdown file a language.

    [[questions]]                        # Two questions on the loop
    key = "passes"                       ## passes: What does one forward pass give?
    answers = ["one", "whole"]           How to try it out.
    right = "one"                        ### one: The scores of one next token.
    try = { page = "step" }              Why this is right.
                                         ### whole: The whole answer.
                                         Why this is wrong.

Every answer has its reason, the right one too. `try` names the page on which a person can test it,
and the state that the page is to be in (see `ui.learn.quiz.places`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ui.learn.quiz.places import Place, read_place
from ui.learn.source import Table, wrong
from ui.learn.words import ENGLISH, Entry, Words, read_words

LESSONS = Path(__file__).resolve().parents[3] / "lessons"
FOLDER, FILE = "quiz", "quiz.toml"  # within the folder of a lesson
FEWEST, MOST = 2, 5  # answers of a question


@dataclass(frozen=True)
class Answer:
    """One answer to choose.

    Attributes:
        key: names it within its question.
        text: what it says.
        reason: why it is right or wrong.
    """

    key: str
    text: str
    reason: str


@dataclass(frozen=True)
class Question:
    """A question, in one language.

    Attributes:
        key: names it within its quiz.
        text: what is asked.
        answers: in the order in which they are shown.
        right: key of the right one.
        trying: how a person can find the answer by trying.
        place: where.
    """

    key: str
    text: str
    answers: tuple[Answer, ...]
    right: str
    trying: str
    place: Place

    def answer(self, key: str) -> Answer | None:
        """The answer of a key; None where there is none, as after an edit of the file."""
        return next((answer for answer in self.answers if answer.key == key), None)

    @property
    def right_answer(self) -> Answer:
        """The right one."""
        return next(answer for answer in self.answers if answer.key == self.right)


@dataclass(frozen=True)
class Quiz:
    """The questions of a lesson, in one language.

    Attributes:
        topic: key of the lesson.
        title: what they are about.
        questions: in order.
    """

    topic: str
    title: str
    questions: tuple[Question, ...]


@cache
def quiz_of(folder: Path, language: str = ENGLISH) -> Quiz:
    """The same as `read_quiz`, read once."""
    return read_quiz(folder, language)


def read_quiz(folder: Path, language: str = ENGLISH) -> Quiz:
    """The quiz in a folder, with words in a language, in English where that lacks them.

    Raises:
        LessonError: a mistake in its files; the sentence says where and what to do.
    """
    table = Table.of_file(folder / FILE)
    languages = read_words(folder)
    words = languages.get(language, languages[ENGLISH])
    questions: list[Question] = []
    for each in table.tables("questions"):
        key = each.get("key", str)
        if any(other.key == key for other in questions):
            table.wrong("questions", f'has the key "{key}" twice', "rename one of them")
        questions.append(_question(each, key, words))
    table.end()
    if not questions:
        table.wrong("questions", "is empty", "add [[questions]] with a key")
    _refuse_unknown(languages, questions)
    return Quiz(folder.parent.name, words.entry("").title, tuple(questions))


def _question(table: Table, key: str, words: Words) -> Question:
    keys = table.get("answers", tuple[str, ...])
    if not FEWEST <= len(set(keys)) == len(keys) <= MOST:
        remedy = f"list {FEWEST} to {MOST} different keys"
        table.wrong("answers", f"has {len(keys)} keys, {len(set(keys))} of them different", remedy)
    right = table.chosen("right", keys)
    place = read_place(table.table("try"))
    table.end()
    asked = _entry(words, key, "the question in the heading, below it how to try it out")
    answers = []
    for name in keys:
        entry = _entry(words, f"{key}/{name}", "the answer in the heading, its reason below")
        answers.append(Answer(name, entry.title, entry.text))
    return Question(key, asked.title, tuple(answers), right, asked.text, place)


def _entry(words: Words, key: str, what: str) -> Entry:
    entry = words.entry(key) if words.has(key) else None
    if entry is None or not entry.title or not entry.text:
        file = (words.others or words).file
        wrong(file, key, "lacks words", f"write {what}")
    return entry


def _refuse_unknown(languages: dict[str, Words], questions: list[Question]) -> None:
    """Words that no question shows, as after a key was renamed in one file alone."""
    known = {""} | {question.key for question in questions}
    known |= {f"{one.key}/{answer.key}" for one in questions for answer in one.answers}
    for words in languages.values():
        for key in words.entries:
            if key not in known:
                wrong(words.file, key, "is no key of quiz.toml", "remove it, or mend the key")


def quizzes(lessons: Path = LESSONS) -> Iterator[Quiz]:
    """All quizzes that there are."""
    for file in sorted(lessons.glob(f"*/{FOLDER}/{FILE}")):
        yield read_quiz(file.parent)
