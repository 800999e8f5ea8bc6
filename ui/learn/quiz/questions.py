"""Questions as data: the structure is in quiz.toml, the words in one Markdown file per language.

Every answer has its reason, the right one too. `try` names the page on which a person can test it,
and the state that the page is to have.

`page` is the name of a file in `pages/`. The other fields depend on the page: see `PLACES`. A
decoder page takes its inputs by name. Inputs that are not named stay as they are.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, fields
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar, NoReturn, get_args, get_type_hints

import streamlit as st
from msgspec import UNSET, Meta, UnsetType, field

from engine.decoding import UNGUIDED, checked_alpha
from ui.labs.beam.inputs import BeamInputs
from ui.labs.constrained.lab import ConstrainedInputs
from ui.labs.diffusion.lab import DiffusionInputs
from ui.labs.inputs import PlainInputs
from ui.labs.one_clock.clock import ClockInputs
from ui.labs.speculative.lab import SpeculativeInputs
from ui.learn.source import WithSettings, Written, check_known, check_once, read_file, refusing
from ui.learn.words import ENGLISH, Words, check_words, read_words
from ui.shell.navigation import PAGES
from ui.step.for_others import model_of
from ui.texts.texts import Beginning, Contrastive, checked_scale
from ui.tokens.state import TokensInputs
from ui.visit_page import VisitPage
from ui.visits.handover import STEP, HandedOver
from ui.visits.visits import Visit
from ui.words.language import say

MOST_TOKENS = 64  # of a text on the step page, if the question names no other number


class Place(Written, kw_only=True, tag_field="page"):
    """A page and the state that it is to have; the tag is the name of its file in `pages/`."""

    @property
    def page(self) -> str:
        """The name of its file."""
        return self.__struct_config__.tag

    @property
    def file(self) -> str:
        """The path of the page's file."""
        return f"pages/{self.page}.py"

    @property
    def title(self) -> str:
        """The name of the page in the navigation."""
        return say(PAGES[self.file])

    @abstractmethod
    def prepare(self, visit: Visit) -> None:
        """Bring the page into its state; raises `DecodingError`."""

    def open(self, visit: Visit) -> NoReturn:
        """Go to the page.

        Raises:
            DecodingError: the page cannot be brought into its state; nothing is lost.
        """
        self.prepare(visit)
        st.switch_page(self.file)


class _Search(Written):
    top_k: int = Contrastive().top_k
    penalty_alpha: float = Contrastive().penalty_alpha

    def __post_init__(self) -> None:
        with refusing("penalty_alpha"):
            checked_alpha(self.penalty_alpha)


class _Step(WithSettings, Place, kw_only=True, tag="step"):
    prompt: str
    named: dict[str, Any] = field(name="settings", default_factory=dict)
    negative_prompt: str | None = None
    guidance_scale: float = UNGUIDED
    search: _Search | None = None
    max_tokens: int = MOST_TOKENS

    def __post_init__(self) -> None:
        _ = self.settings, self.beginning  # refuses wrong values at once

    @cached_property
    def beginning(self) -> Beginning:
        search = self.search and Contrastive(self.search.top_k, self.search.penalty_alpha)
        with refusing("guidance_scale"):
            scale = checked_scale(self.guidance_scale)
        return Beginning(
            self.prompt, negative_prompt=self.negative_prompt, scale=scale, strategy=search
        )

    def prepare(self, visit: Visit) -> None:
        model, _ = model_of(visit)
        visit.handed[STEP] = HandedOver(
            model, beginning=self.beginning, settings=self.settings, max_tokens=self.max_tokens
        )


class _Visited(Place, kw_only=True):
    """A page whose state is in the visit.

    Class attributes:
        module: the module that has the page as `PAGE`; imported when the page is opened.
    """

    module: ClassVar[str]

    @classmethod
    def visit_page(cls) -> VisitPage:
        """Return the page."""
        page = import_module(cls.module).PAGE
        return page if isinstance(page, VisitPage) else page.visit_page

    def prepare(self, visit: Visit) -> None:
        self.visit_page().of(visit)


class _Tune(_Visited, tag="tune"):
    module: ClassVar[str] = "ui.tune.tuning"


class _Compare(_Visited, tag="compare"):
    module: ClassVar[str] = "ui.compare.page"
    prompt: str

    def prepare(self, visit: Visit) -> None:
        self.visit_page().of(visit).change(prompt=self.prompt, chat=False)


class _Measuring(_Visited):
    section: str

    def __post_init__(self) -> None:
        sections = import_module(self.module).PAGE.sections
        check_known("section", [self.section], [each.key for each in sections])

    def prepare(self, visit: Visit) -> None:
        self.visit_page().of(visit).choose(self.section)


class _Cache(_Measuring, tag="cache"):
    module: ClassVar[str] = "ui.cache.page"


class _Claims(_Measuring, tag="claims"):
    module: ClassVar[str] = "ui.claims.page"


class _Decoder(_Visited):
    """A page whose state has inputs; the inputs named in the table are changed."""

    inputs: ClassVar[type[PlainInputs]]

    def __post_init__(self) -> None:
        with refusing(""):
            self.inputs.restored(self.inputs().record() | self.changes)

    @property
    def changes(self) -> dict[str, Any]:
        """The named inputs, by name."""
        values = {each.name: getattr(self, each.name) for each in fields(self.inputs)}
        return {name: value for name, value in values.items() if value is not UNSET}

    def prepare(self, visit: Visit) -> None:
        self.visit_page().of(visit).change(**self.changes)


def _decoder(page: str, module: str, inputs: type[PlainInputs]) -> type[_Decoder]:
    """Create the `Place` class of a page, with a field for each of its inputs."""
    hints = get_type_hints(inputs, include_extras=True)
    given = {each.name: hints[each.name] | UnsetType for each in fields(inputs)}
    own = {"__annotations__": given, "module": module, "inputs": inputs}
    return type(_Decoder)(
        page, (_Decoder,), own | dict.fromkeys(given, UNSET), frozen=True, tag=page
    )


_Beam = _decoder("beam", "ui.labs.beam.page", BeamInputs)
_Speculative = _decoder("speculative", "ui.labs.speculative.page", SpeculativeInputs)
_Constrained = _decoder("constrained", "ui.labs.constrained.page", ConstrainedInputs)
_Diffusion = _decoder("diffusion", "ui.labs.diffusion.page", DiffusionInputs)
_Tokens = _decoder("tokens", "ui.tokens.page", TokensInputs)
_OneClock = _decoder("one_clock", "ui.labs.one_clock.page", ClockInputs)
_DECODERS = _Beam | _Speculative | _Constrained | _Diffusion | _Tokens | _OneClock
AnyPlace = _Step | _Compare | _Tune | _Cache | _Claims | _DECODERS
PLACES: dict[str, type[Place]] = {
    place.__struct_config__.tag: place for place in get_args(AnyPlace)
}


FOLDER, FILE = "quiz", "quiz.toml"  # in the folder of a lesson
FEWEST, MOST = 2, 5  # answers of a question


@dataclass(frozen=True)
class Answer:
    """One answer to choose from.

    Attributes:
        key: its name within its question.
        text: its words.
        reason: why it is right or wrong.
    """

    key: str
    text: str
    reason: str


@dataclass(frozen=True)
class Question:
    """A question, in one language.

    Attributes:
        key: its name within its quiz.
        text: the question.
        answers: the answers, in the order in which they are shown.
        right: key of the right answer.
        trying: how to find the answer by experiment.
        place: where to try.
    """

    key: str
    text: str
    answers: tuple[Answer, ...]
    right: str
    trying: str
    place: Place

    def answer(self, key: str) -> Answer | None:
        """Return the answer with this key; None if there is none, as after an edit of the file."""
        return next((answer for answer in self.answers if answer.key == key), None)

    @property
    def right_answer(self) -> Answer:
        """The right answer."""
        return next(answer for answer in self.answers if answer.key == self.right)


@dataclass(frozen=True)
class Quiz:
    """The questions of a lesson, in one language.

    Attributes:
        topic: key of the lesson.
        title: their subject.
        questions: in order.
    """

    topic: str
    title: str
    questions: tuple[Question, ...]


class _Question(Written):
    key: str
    answers: Annotated[tuple[str, ...], Meta(min_length=FEWEST, max_length=MOST)]
    right: str
    place: AnyPlace = field(name="try")

    def __post_init__(self) -> None:
        check_once("answers", self.answers)
        check_known("right", [self.right], self.answers)

    def places(self) -> list[str]:
        """Return the places of its words and of its answers' words."""
        return [self.key, *(f"{self.key}/{answer}" for answer in self.answers)]


class _Quiz(Written):
    questions: Annotated[tuple[_Question, ...], Meta(min_length=1)]

    def __post_init__(self) -> None:
        check_once("questions", [each.key for each in self.questions])


@cache
def quiz_of(folder: Path, language: str = ENGLISH) -> Quiz:
    """Return the quiz in a folder, read once, in a language, or in English if it lacks that.

    Raises:
        LessonError: a mistake in its files; the sentence gives its place and a remedy.
    """
    asked = read_file(folder / FILE, _Quiz).questions
    languages = read_words(folder)
    keys = ["", *(key for each in asked for key in each.places())]
    check_words(languages, dict.fromkeys(keys, frozenset()), FILE, with_text=True)
    words = languages.get(language, languages[ENGLISH])
    questions = tuple(_question(each, words) for each in asked)
    return Quiz(folder.parent.name, words.entry("").title, questions)


def _question(each: _Question, words: Words) -> Question:
    asked, *said = map(words.entry, each.places())
    answers = tuple(
        Answer(key, one.title, one.text) for key, one in zip(each.answers, said, strict=True)
    )
    return Question(each.key, asked.title, answers, each.right, asked.text, each.place)
