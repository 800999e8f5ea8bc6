"""A claim as a plain value: how it is measured, and what there is to see of what was measured.

Its words are data (`lessons/claims.toml`); what follows from the figures is `verdict`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Generic

from engine.claims.experiment import AnyResult, Experiment
from engine.claims.inputs import Input
from engine.claims.uncertainty import Figure
from engine.claims.verdict import Check
from engine.model import LanguageModel, load_model


class Token(str):
    """The label of a token, in a table."""


class Stop(str):
    """The reason for which a text has ended."""


Cell = str | int | float | tuple[Token, ...] | None
Columns = Mapping[str, Callable[..., Cell]]


@dataclass(frozen=True)
class Table(Generic[AnyResult]):
    """Measured figures and texts, row by row.

    A cell is a number, None for nothing, a `Message`, one of the texts above or some of them, or
    any other text, which is shown as it is.

    Attributes:
        name: its caption, and the name of its file.
        rows: of a result, the things that have a row; several in a tuple.
        columns: by their names, with units, the cell of each in a row; or a function that gives
            them for a result.
        texts: how many of the last columns are texts to read; a row begins with their prompt.
        prompts: how many of the first columns are that prompt, one after the other.
        about: what there is to know of it; empty for nothing.
        is_open: whether it can be seen without opening it.
    """

    name: str
    rows: Callable[[AnyResult], Iterable[Any]]
    columns: Columns | Callable[[AnyResult], Columns]
    texts: int = 0
    prompts: int = 1
    about: str = ""
    is_open: bool = False

    def of(self, result: AnyResult) -> tuple[list[str], list[tuple[Cell, ...]]]:
        """The names of the columns, and the cells of each row."""
        columns = self.columns(result) if callable(self.columns) else self.columns
        rows = [one if isinstance(one, tuple) else (one,) for one in self.rows(result)]
        return list(columns), [tuple(cell(*row) for cell in columns.values()) for row in rows]


# Forms of a series; crosses have the colour of the series before, and no name.
LINE, DOTS, LINE_AND_DOTS, CROSSES = "lines", "markers", "lines+markers", "crosses"


@dataclass(frozen=True)
class Series:
    """Points of a chart.

    Attributes:
        name: in the legend; empty for none there.
        points: x and y of each; a figure has whiskers, None has no point.
        labels: a text about each point, or nothing.
        form: one of the forms above.
    """

    name: str
    points: Sequence[tuple[float, float | Figure | None]]
    labels: Sequence[str] = ()
    form: str = LINE_AND_DOTS


@dataclass(frozen=True)
class Chart:
    """A chart of what the figures of a verdict cannot show, such as how something grows.

    Attributes:
        key: names it.
        name, about: stand above it.
        x, y: names of the axes.
        series: what is drawn.
        logs: the axes that show powers of ten: ``xy``.
        is_share: whether y is a share, from 0 to 1.
        edges: values of x that a line marks.
    """

    key: str
    name: str
    about: str
    x: str
    y: str
    series: Sequence[Series]
    logs: str = ""
    is_share: bool = False
    edges: Sequence[float] = ()


@dataclass(frozen=True)
class Claim(Generic[AnyResult]):
    """A claim by what is its own.

    Attributes:
        key: its name in files.
        result: a frozen dataclass with `checks`, which a file can keep.
        inputs: what a person may change of the experiment.
        make: the experiment for a model and a value of each input, not run yet.
        table: what was measured; the figures of the verdict are another table.
        charts: what was measured, as charts; the default picture shows all of `checks`.
        more: figures for that picture that no verdict rests on.
        notice: a sentence about a result; empty for none.
        loads: whether `make` takes `load`, which gives a model by its name.
    """

    key: str
    result: type[AnyResult]
    inputs: Sequence[Input]
    make: Callable[..., Experiment[AnyResult]]
    table: Table[AnyResult]
    charts: Callable[[AnyResult], Sequence[Chart]] = lambda result: ()
    more: Callable[[AnyResult], Sequence[Check]] = lambda result: ()
    notice: Callable[[AnyResult], str] = lambda result: ""
    loads: bool = False

    def experiment(
        self, model: LanguageModel, load: Callable[[str], LanguageModel] = load_model, **typed: Any
    ) -> Experiment[AnyResult]:
        """The experiment, not run yet.

        Args:
            model: what is looked at.
            load: gives another model by its name.
            typed: inputs by name, as a person types them; all others are as they begin.

        Raises:
            DecodingError: an input is refused.
        """
        values = {one.name: one.value(typed.pop(one.name, one.first)) for one in self.inputs}
        if typed:
            raise TypeError(f"{self.key} has no input {', '.join(typed)}")
        return self.make(model, **values, **({"load": load} if self.loads else {}))


def claim_of(key: str) -> Claim:
    """The claim of a section of `lessons/claims.toml`."""
    return import_module(f"engine.claims.experiments.{key}").CLAIM
