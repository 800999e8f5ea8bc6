"""Questions as data: the structure in quiz.toml, the words beside it, one Markdown file a language.

    [[questions]]                        # Two questions on the loop
    key = "passes"                       ## passes: What does one forward pass give?
    answers = ["one", "whole"]           How to try it out.
    right = "one"                        ### one: The scores of one next token.
    try = { page = "step" }              Why this is right.
                                         ### whole: The whole answer.
                                         Why this is wrong.

Every answer has its reason, the right one too. `try` names the page on which a person can test it,
and the state that the page is to be in:

    try = { page = "step", prompt = "The capital of France is", settings = { temperature = 0.5 } }
    try = { page = "step", prompt = "Once", negative_prompt = "A", guidance_scale = 2.0 }
    try = { page = "step", prompt = "Once", search = { top_k = 5, penalty_alpha = 0.4 } }
    try = { page = "compare", prompt = "Once upon a time" }
    try = { page = "cache", section = "with_and_without" }
    try = { page = "beam", width = 1 }

`page` is the name of a file in `pages/`; what stands next to it is the page's own: see `_PAGES`. A
decoder page takes its inputs by name. What is not named is left as the person has it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import streamlit as st

from engine.decoding import UNGUIDED, checked_alpha
from engine.errors import DecodingError
from ui.learn.source import LessonError, Table, wrong
from ui.learn.words import ENGLISH, Entry, Words, read_words
from ui.skeleton.page import PAGES
from ui.step.for_others import model_of
from ui.texts.settings import named_settings
from ui.texts.texts import Beginning, Contrastive, checked_scale
from ui.visit_page import VisitPage
from ui.visits.handover import STEP, HandedOver
from ui.visits.visits import Visit
from ui.words.language import say

MOST_TOKENS = 64  # of a text on the step page, where the question names no other number


class _Page(ABC):
    """A page by what it takes over; modules of pages are imported when they are opened."""

    @abstractmethod
    def read(self, table: Table) -> dict[str, Any]:
        """The state that a table names; raises `LessonError` or another `DecodingError`."""

    @abstractmethod
    def set(self, visit: Visit, state: Mapping[str, Any]) -> None:
        """Bring the page into that state; raises `DecodingError`."""


class _Step(_Page):
    def read(self, table: Table) -> dict[str, Any]:
        settings = named_settings(table.get("settings", dict, {}))
        beginning = Beginning(
            table.get("prompt", str),
            negative_prompt=table.get("negative_prompt", str, None),
            scale=checked_scale(table.get("guidance_scale", float, UNGUIDED)),
            strategy=_search(table.table("search")) if table.has("search") else None,
        )
        state = {"beginning": beginning, "settings": settings}
        return state | {"max_tokens": table.get("max_tokens", int, MOST_TOKENS)}

    def set(self, visit: Visit, state: Mapping[str, Any]) -> None:
        model, _ = model_of(visit)
        visit.handed[STEP] = HandedOver(model, **state)


def _search(table: Table) -> Contrastive:
    usual = Contrastive()
    top_k = table.get("top_k", int, usual.top_k)
    alpha = checked_alpha(table.get("penalty_alpha", float, usual.penalty_alpha))
    table.end()
    return Contrastive(top_k, alpha)


@dataclass(frozen=True)
class _Visited(_Page):
    """A page whose state lies in the visit.

    Attributes:
        module: has it as `PAGE`.
    """

    module: str

    @property
    def page(self) -> VisitPage:
        page = import_module(self.module).PAGE
        return page if isinstance(page, VisitPage) else page.visit_page

    def read(self, table: Table) -> dict[str, Any]:
        return {}

    def set(self, visit: Visit, state: Mapping[str, Any]) -> None:
        self.page.of(visit)


class _Compare(_Visited):
    def read(self, table: Table) -> dict[str, Any]:
        return {"prompt": table.get("prompt", str)}

    def set(self, visit: Visit, state: Mapping[str, Any]) -> None:
        self.page.of(visit).change(prompt=state["prompt"], chat=False)


class _Measuring(_Visited):
    def read(self, table: Table) -> dict[str, Any]:
        sections = import_module(self.module).PAGE.sections
        return {"section": table.chosen("section", [section.key for section in sections])}

    def set(self, visit: Visit, state: Mapping[str, Any]) -> None:
        self.page.of(visit).choose(state["section"])


@dataclass(frozen=True)
class _Decoder(_Visited):
    """A page whose state has inputs that may be changed by name.

    Attributes, besides the module:
        inputs: module and name of the class of its inputs.
    """

    inputs: tuple[str, str]

    def read(self, table: Table) -> dict[str, Any]:
        module, name = self.inputs
        kind = getattr(import_module(module), name)
        known = {field.name for field in fields(kind)}
        state = {key: table.value(key) for key in table.names() if key in known}
        kind.restored({**kind().record(), **state})
        return state

    def set(self, visit: Visit, state: Mapping[str, Any]) -> None:
        self.page.of(visit).change(**state)


_LABS = "ui.labs"
_PAGES: dict[str, _Page] = {
    "step": _Step(),
    "compare": _Compare("ui.compare.page"),
    "tune": _Visited("ui.tune.tuning"),
    "cache": _Measuring("ui.cache.page"),
    "claims": _Measuring("ui.claims.page"),
    "beam": _Decoder(f"{_LABS}.beam.page", (f"{_LABS}.beam.inputs", "BeamInputs")),
    "speculative": _Decoder(
        f"{_LABS}.speculative.page", (f"{_LABS}.speculative.lab", "SpeculativeInputs")
    ),
    "constrained": _Decoder(
        f"{_LABS}.constrained.page", (f"{_LABS}.constrained.lab", "ConstrainedInputs")
    ),
    "diffusion": _Decoder(f"{_LABS}.diffusion.page", (f"{_LABS}.diffusion.lab", "DiffusionInputs")),
    "tokens": _Decoder("ui.tokens.page", ("ui.tokens.state", "TokensInputs")),
    "one_clock": _Decoder(f"{_LABS}.one_clock.page", (f"{_LABS}.one_clock.clock", "ClockInputs")),
}


@dataclass(frozen=True)
class Place:
    """A page and its state.

    Attributes:
        page: the name of its file in `pages/`.
        state: by the names of the page's own.
    """

    page: str
    state: Mapping[str, Any]

    @property
    def file(self) -> str:
        """The page's file."""
        return f"pages/{self.page}.py"

    @property
    def title(self) -> str:
        """The name of the page in the band."""
        return say(PAGES[self.file])

    def open(self, visit: Visit) -> NoReturn:
        """Go there.

        Raises:
            DecodingError: the page cannot be brought into that state; nothing is lost.
        """
        _PAGES[self.page].set(visit, self.state)
        st.switch_page(self.file)


def read_place(table: Table) -> Place:
    """The place that a table describes; raises `LessonError`."""
    page = table.chosen("page", _PAGES)
    try:
        state = _PAGES[page].read(table)
    except LessonError:
        raise
    except DecodingError as error:
        table.wrong("", f"is refused: {str(error).rstrip('.')}", "mend that value")
    table.end()
    return Place(page, state)


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
