"""Section of a measuring page: its inputs, its measurement, and the display of its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from engine.measure import Pace
from engine.model import LanguageModel
from ui.labs.inputs import PlainInputs
from ui.labs.state import InputsState
from ui.measurements.job import SectionJob
from ui.words.language import marked

AnyInputs = TypeVar("AnyInputs", bound=PlainInputs)
AnyResult = TypeVar("AnyResult")


class Drawn(InputsState[Any]):
    """The part of a visitor's section that fields and pictures may use, see `SectionState`.

    Attributes, besides those of `InputsState`:
        work: the last work; None before the first, and if nothing is measured.
    """

    work: SectionJob | None = None

    @property
    def is_running(self) -> bool:
        """True if the section is being measured, or waits for its turn."""
        return self.work is not None and self.work.is_running

    @property
    def measured(self) -> Any | None:
        """The inputs of the last work, None before the first."""
        return self.work and self.work.inputs

    def result(self) -> Any | None:
        """Results to show; None before there are any."""
        return self.work and self.work.result


@dataclass(frozen=True)
class Table:
    """A section's table, in the language spoken at its creation.

    Attributes:
        name: its caption, and its file's name; a sentence without figures for a file.
        head: column names with units.
        rows: the cells; numbers stay numbers, None is an empty cell.
    """

    name: str
    head: Sequence[str]
    rows: Sequence[Sequence[str | int | float | None]]


@dataclass(frozen=True)
class Laid(Generic[AnyResult]):
    """A result of another machine, to show next to ours.

    Attributes:
        name: name of its machine; it comes from a file, so escape it.
        result: the other machine's result.
    """

    name: str
    result: AnyResult


@dataclass(frozen=True)
class Shown(Generic[AnyInputs, AnyResult]):
    """Everything, apart from the result, from which a picture is drawn.

    Attributes:
        name: unique name of the drawing within the session, for example a chart's key.
        held: the visitor's section: model, inputs, fields that change them; None for another
            machine's result drawn on its own.
        dark: whether charts are dark.
        is_running: whether more results are to come. Drawing charts takes time from the
            measurement, so changing content is better a table.
        other: the result of another machine, None without one.
    """

    name: str
    held: Drawn | None
    dark: bool
    is_running: bool
    other: Laid[AnyResult] | None = None


@dataclass(frozen=True)
class Section(Generic[AnyInputs, AnyResult]):
    """The properties of one section.

    A section is either measured, by `begin`, or computed at each drawing, by `computed`.

    Attributes:
        key: its identifier in keys, records and files.
        name: its name on the page. This, `about`, `heading`, `start` and `topic` are marked
            sentences, or sentences of a file (`ui.words.update_translations`), and translated when
            shown.
        about: one line: what it shows, and what to notice.
        heading: title above `about`, if the name alone says too little.
        inputs: the class of its inputs.
        result: the dataclass of its result; its fields describe their valid values
            (`engine.values`), so that a file can keep it.
        fields: draws the fields of its inputs (see `ui.labs.fields`).
        picture: draws a result.
        notice: one or two sentences about a result, computed from it; empty if the picture speaks
            for itself.
        tables: a result's tables for the CSV files, always in English.
        begin: work that measures, not started yet; raises `DecodingError` to refuse the inputs.
        start: label of the button that starts it.
        seconds: estimated duration, None if unknown. Every drawing asks for it.
        computed: the result of inputs that need no measuring; raises `DecodingError` to refuse.
        first: a new visitor's inputs for a model; None for the defaults.
        is_timed: whether it measures times, which a busy machine lengthens.
        begins_alone: whether its first inputs are measured without a press, on a bundled model and
            for the local user.
        follows: whether its prompt is the one typed last, on whatever page.
        overlays: whether the picture draws another machine's result over ours; otherwise each gets
            its own picture.
        topic: its heading in a list of sections; empty on a page without such a list.
        mark: a sign after its name in that list, for its outcome.
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
    begin: Callable[[LanguageModel, AnyInputs], SectionJob[AnyResult]] | None = None
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
        """Return a new visitor's inputs for a model."""
        return self.inputs() if self.first is None else self.first(model)
