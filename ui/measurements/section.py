"""A section of a measuring page: its inputs, its measurement, and how its results are shown."""

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
    """The part of `SectionState` that fields and pictures may use.

    Attributes in addition to those of `InputsState`:
        work: the last measurement's job; None before the first, or if the section is computed.
    """

    work: SectionJob | None = None

    @property
    def is_running(self) -> bool:
        """True if the section is being measured or is waiting for its turn."""
        return self.work is not None and self.work.is_running

    @property
    def measured(self) -> Any | None:
        """The inputs of the last measurement; None before the first."""
        return self.work and self.work.inputs

    def result(self) -> Any | None:
        """Return the results to show; None before there are any."""
        return self.work and self.work.result


@dataclass(frozen=True)
class Table:
    """A section's table, in the visitor's language, or in English for a file.

    Attributes:
        name: its caption, which also names its file; for a file, it contains no figures.
        head: column names with units.
        rows: the cells; numbers are not formatted, None is an empty cell.
    """

    name: str
    head: Sequence[str]
    rows: Sequence[Sequence[str | int | float | None]]


@dataclass(frozen=True)
class Laid(Generic[AnyResult]):
    """A result from another machine, to show next to this machine's.

    Attributes:
        name: name of the machine; it comes from a file, so escape it.
        result: the other machine's result.
    """

    name: str
    result: AnyResult


@dataclass(frozen=True)
class Shown(Generic[AnyInputs, AnyResult]):
    """Everything that a picture needs apart from the result.

    Attributes:
        name: unique name of the picture within the session, for example as a chart's key.
        held: the state of the visitor's section; None for another machine's result drawn on its
            own.
        dark: whether charts are dark.
        is_running: whether more results are to come. Drawing charts slows down the measurement, so
            show results that are still changing in a table.
        other: another machine's result; None if there is none.
    """

    name: str
    held: Drawn | None
    dark: bool
    is_running: bool
    other: Laid[AnyResult] | None = None


@dataclass(frozen=True)
class Section(Generic[AnyInputs, AnyResult]):
    """The definition of one section.

    A section is either measured, by `begin`, or computed whenever it is drawn, by `computed`.

    Attributes:
        key: its identifier in keys, records and files.
        name: its name on the page. This, `about`, `heading`, `start` and `topic` are marked
            sentences, or sentences of a file (`ui.words.update_translations`), and translated when
            shown.
        about: one line on what it shows and what to notice.
        heading: title above `about`, if the name alone says too little.
        inputs: the class of its inputs.
        result: the dataclass of its result; its fields describe their valid values
            (`engine.values`), so that a file can keep it.
        fields: draws the fields of its inputs (see `ui.labs.fields`).
        picture: draws a result.
        notice: returns one or two sentences about a result; empty if the picture speaks for
            itself.
        tables: returns a result's tables for CSV files, always in English.
        begin: returns the job that measures, not yet started; raises `DecodingError` to refuse.
        start: label of the button that starts it.
        seconds: returns the estimated duration, None if unknown; called at every drawing.
        computed: returns the result without measuring; raises `DecodingError` to refuse the inputs.
        first: returns a new visitor's inputs for a model; None for the defaults.
        is_timed: whether it measures times, which a busy machine lengthens.
        begins_alone: whether the first inputs are measured without a button press, for a bundled
            model and the local user.
        follows: whether its prompt is the one that the visitor typed last, on any page.
        overlays: whether one picture shows both machines' results; otherwise each gets its own.
        topic: its heading in a list of sections; empty on a page without such a list.
        mark: returns a sign for its outcome, shown with its name in that list.
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
