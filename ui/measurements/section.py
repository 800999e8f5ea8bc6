"""Section of a measuring page: inputs, how it is measured, how results are shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from engine.measure import Pace
from engine.model import LanguageModel
from ui.labs.inputs import PlainInputs
from ui.labs.state import InputsState
from ui.measurements.work import SectionWork
from ui.words.language import marked

AnyInputs = TypeVar("AnyInputs", bound=PlainInputs)
AnyResult = TypeVar("AnyResult")


class Drawn(InputsState[Any]):
    """The part that fields and pictures may use of a section as a visitor has it, see `Held`.

    Attributes, besides those of `InputsState`:
        work: the last work; None before the first, and if nothing is measured.
    """

    work: SectionWork | None = None

    @property
    def is_running(self) -> bool:
        """True if it is being measured, or waits for its turn."""
        return self.work is not None and self.work.is_running

    @property
    def measured(self) -> Any | None:
        """The inputs that the last work was begun with, None before the first."""
        return self.work and self.work.inputs

    def result(self) -> Any | None:
        """Results to show; None before there are any."""
        return self.work and self.work.result


@dataclass(frozen=True)
class Table:
    """A table of a section, in the language that is spoken as it is made.

    Attributes:
        name: its caption, and the name of its file; of a file a sentence without figures.
        head: names of the columns, with their units.
        rows: the cells; numbers stay numbers, None is an empty cell.
    """

    name: str
    head: Sequence[str]
    rows: Sequence[Sequence[str | int | float | None]]


@dataclass(frozen=True)
class Laid(Generic[AnyResult]):
    """A result of another machine, to be shown beside ours.

    Attributes:
        name: of its machine; from a file, so to be escaped.
        result: what was measured there.
    """

    name: str
    result: AnyResult


@dataclass(frozen=True)
class Shown(Generic[AnyInputs, AnyResult]):
    """Everything that a picture is drawn from, besides the result.

    Attributes:
        name: names what is drawn within the session, such as a chart's key.
        held: the section as the visitor has it: model, inputs, fields that change them; None for
            another machine's result that is drawn on its own.
        dark: whether charts are dark.
        is_running: whether more results are to come. Drawing charts takes time from what is
            measured, so what changes meanwhile is better a table.
        other: the same measured on another machine, None without.
    """

    name: str
    held: Drawn | None
    dark: bool
    is_running: bool
    other: Laid[AnyResult] | None = None


@dataclass(frozen=True)
class Section(Generic[AnyInputs, AnyResult]):
    """A section by what is its own.

    A section is either measured, by `begin`, or computed at each drawing, by `computed`.

    Attributes:
        key: its name in keys, records and files.
        name: its name on the page; this, `about`, `heading`, `start` and `topic` are marked
            sentences, or such of a file (`ui.words.translations`), and said where they are shown.
        about: one line: what it shows, and what to notice.
        heading: stands above that, where the name alone says too little.
        inputs: the class of its inputs.
        result: the dataclass of its result; its fields say what their values must be
            (`engine.values`), so that a file can keep it.
        fields: draws the fields of its inputs (see `ui.labs.fields`).
        picture: draws a result.
        notice: one or two sentences computed from a result: what there is to see in it; empty where
            the picture itself says so.
        tables: the tables of a result, for the CSV files, which are made in English.
        begin: work that measures, not started yet; raises `DecodingError` to refuse the inputs.
        start: the label of the button that begins it.
        seconds: an estimate of how long that takes, None if unknown. It is asked for at every
            drawing.
        computed: the result of inputs that need no measuring; raises `DecodingError` to refuse.
        first: the inputs that a new visitor sees with a model; None for the defaults.
        is_timed: whether times are measured, which a busy machine lengthens.
        begins_alone: whether its first inputs are measured without a press, on a bundled model
            and for the one person at this computer.
        follows: whether its prompt is the one that a person typed last, on whatever page.
        overlays: whether the picture draws another machine's result over ours; else it is drawn
            once for each.
        topic: heading that a list of sections has it under; empty on a page without such a list.
        mark: a sign behind its name in that list, for what has come of it.
    """

    key: str
    name: str
    about: str
    inputs: type[AnyInputs]
    result: type[AnyResult]
    fields: Callable[[Drawn], None]
    picture: Callable[[AnyResult, Shown], None]
    notice: Callable[[AnyResult], str]
    tables: Callable[[AnyResult], Sequence[Table]] = lambda result: ()
    begin: Callable[[LanguageModel, AnyInputs], SectionWork[AnyResult]] | None = None
    start: str = marked("Measure")
    seconds: Callable[[LanguageModel, AnyInputs, Pace], float | None] = lambda *_: None
    computed: Callable[[LanguageModel, AnyInputs], AnyResult] | None = None
    first: Callable[[LanguageModel], AnyInputs] | None = None
    is_timed: bool = True
    begins_alone: bool = True
    follows: bool = False
    overlays: bool = True
    topic: str = ""
    heading: str = ""
    mark: Callable[[Drawn], str] = lambda held: ""

    def first_inputs(self, model: LanguageModel) -> AnyInputs:
        """Return the inputs that a new visitor sees with a model."""
        return self.inputs() if self.first is None else self.first(model)
