"""Concepts as data: the structure in map.toml, the words beside it, one Markdown file a language.

    [[topics]]                                          ## one_step: One step of generation
    key = "one_step"
    [[topics.concepts]]
    key = "draw"                                        ### draw: A random number draws a token
    lesson = "the_loop/round"                           the stage Draw in the loop band
    try = { page = "step", prompt = "Once upon a" }
    question = "the_loop/draw"

`lesson` is a lesson and one of its steps, `question` a lesson and a question of its quiz. `try` is
the experiment, a page and its state as in a quiz (`ui.learn.quiz.places`); the text below the
heading says what to use there. Nothing of this may be missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ui.learn.course import FOLDER as LESSONS
from ui.learn.course import Course, course
from ui.learn.lesson import Lesson, Step
from ui.learn.quiz.places import Place, read_place
from ui.learn.quiz.questions import Question, quiz_of
from ui.learn.source import Table, wrong
from ui.learn.words import ENGLISH, Words, read_words

FOLDER, FILE = LESSONS / "map", "map.toml"


@dataclass(frozen=True)
class Concept:
    """Something to learn, and where.

    Attributes:
        key: names it in the file and in addresses.
        name: what there is to learn, in one language.
        use: what to use on the page of the experiment.
        lesson, step: where it is taught.
        place: the experiment: a page and its state.
        asked_in: the lesson whose quiz asks for it.
        question: that question.
    """

    key: str
    name: str
    use: str
    lesson: Lesson
    step: Step
    place: Place
    asked_in: Lesson
    question: Question


@dataclass(frozen=True)
class Topic:
    """Concepts that belong together, under a title."""

    key: str
    title: str
    concepts: tuple[Concept, ...]


@cache
def concept_map(language: str = ENGLISH) -> tuple[Topic, ...]:
    """The map of the course, read once a language; raises `LessonError`."""
    return read_map(course(), language=language)


def concepts() -> Iterator[Concept]:
    """All concepts of the course, in order."""
    for topic in concept_map():
        yield from topic.concepts


def concept_of(key: str) -> Concept | None:
    """The concept of a key; None where there is none, as in an address that was typed."""
    return next((one for one in concepts() if one.key == key), None)


def read_map(lessons: Course, folder: Path = FOLDER, language: str = ENGLISH) -> tuple[Topic, ...]:
    """The map in a folder, with words in a language, in English where that lacks them.

    Raises:
        LessonError: a mistake in its files, or something named that is not there; the sentence
            says where and what to do.
    """
    table = Table.of_file(folder / FILE)
    languages = read_words(folder)
    words = languages.get(language, languages[ENGLISH])
    known: set[str] = {""}
    topics = []
    for each in table.tables("topics"):
        key = _own_key(each, known, "")
        concepts = tuple(
            _concept(one, _own_key(one, known, key), key, lessons, words, language)
            for one in each.tables("concepts")
        )
        each.end()
        topics.append(Topic(key, _entry(words, key)[0], concepts))
    table.end()
    for other in languages.values():
        for place in other.entries.keys() - known:
            wrong(other.file, place, f"is no key of {FILE}", "remove it, or mend the key")
    return tuple(topics)


def _own_key(table: Table, known: set[str], topic: str) -> str:
    """The key of a table, which no other may have."""
    key = table.text("key")
    place = f"{topic}/{key}" if topic else key
    if any(other.rpartition("/")[2] == key for other in known):
        table.wrong("key", f'is "{key}", which another has too', "rename one of them")
    known.add(place)
    return key


def _concept(
    table: Table, key: str, topic: str, lessons: Course, words: Words, language: str
) -> Concept:
    lesson, wanted = _named(table, "lesson", lessons)
    steps = {step.key: step for step in lesson.steps}
    step = steps[_one_of(table, "lesson", wanted, steps)]
    asked_in, wanted = _named(table, "question", lessons)
    quiz = asked_in.quiz
    questions = {one.key: one for one in quiz_of(quiz, language).questions} if quiz else {}
    question = questions[_one_of(table, "question", wanted, questions)]
    place = read_place(table.table("try"))
    table.end()
    name, use = _entry(words, f"{topic}/{key}")
    if not use:
        wrong(words.file, key, "says nothing to use", "write what to use on the page of its try")
    return Concept(key, name, use, lesson, step, place, asked_in, question)


def _named(table: Table, field: str, lessons: Course) -> tuple[Lesson, str]:
    """The lesson before the ``/`` of a field, and what stands behind it."""
    key, _, rest = table.text(field).partition("/")
    known = {lesson.key: lesson for lesson in lessons.lessons}
    return known[_one_of(table, field, key, known)], rest


def _one_of(table: Table, field: str, found: str, known: dict[str, object]) -> str:
    if found not in known:
        listed = ", ".join(known) or "none, as there is no quiz"
        table.wrong(field, f'names "{found}", which is not there', f"use one of {listed}")
    return found


def _entry(words: Words, key: str) -> tuple[str, str]:
    entry = words.entry(key) if words.has(key) else None
    if entry is None or not entry.title:
        file = (words.others or words).file
        wrong(file, key, "has no words", f"add a heading: {key}: its name")
    return entry.title, entry.text
