"""A claim as a plain value: its measurement, and the display of the results.

Its wording is data (`lessons/claims.toml`). `verdict` draws the conclusions from its figures.
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
    """A token's label in a table."""


class Stop(str):
    """The reason a text ended."""


Cell = str | int | float | tuple[Token, ...] | None
Columns = Mapping[str, Callable[..., Cell]]


@dataclass(frozen=True)
class Table(Generic[AnyResult]):
    """Measured figures and texts, row by row.

    A cell is a number, None if empty, a `Message`, a `Stop`, one or several `Token` labels, or any
    other text, which is shown unchanged.

    Attributes:
        name: its caption, and the name of its file.
        rows: returns the objects of a result, one per row; a tuple if a row needs several.
        columns: column names with units, mapped to the function for the cell; or a function that
            returns such a mapping for a result.
        texts: number of final columns that are texts to read; a row begins with their prompt.
        prompts: number of leading columns that form the prompt, one after the other.
        about: an explanation; empty for none.
        is_open: whether it is expanded at first.
    """

    name: str
    rows: Callable[[AnyResult], Iterable[Any]]
    columns: Columns | Callable[[AnyResult], Columns]
    texts: int = 0
    prompts: int = 1
    about: str = ""
    is_open: bool = False

    def of(self, result: AnyResult) -> tuple[list[str], list[tuple[Cell, ...]]]:
        """Return the column names, and the cells of each row."""
        columns = self.columns(result) if callable(self.columns) else self.columns
        rows = [one if isinstance(one, tuple) else (one,) for one in self.rows(result)]
        return list(columns), [tuple(cell(*row) for cell in columns.values()) for row in rows]


# Forms of a series; crosses have the colour of the preceding series, and no name.
LINE, DOTS, LINE_AND_DOTS, CROSSES = "lines", "markers", "lines+markers", "crosses"


@dataclass(frozen=True)
class Series:
    """Points of a chart.

    Attributes:
        name: name in the legend; empty for none.
        points: x and y of each; a figure has whiskers, None gives no point.
        labels: a text for each point, or none.
        form: one of the forms above.
    """

    name: str
    points: Sequence[tuple[float, float | Figure | None]]
    labels: Sequence[str] = ()
    form: str = LINE_AND_DOTS


@dataclass(frozen=True)
class Chart:
    """A chart of something that the verdict's figures cannot show, such as growth.

    Attributes:
        key: identifier of the chart.
        name, about: text above the chart.
        x, y: names of the axes.
        series: the series to draw.
        logs: the axes with a logarithmic scale, such as ``xy``.
        is_share: whether y is a share, from 0 to 1.
        edges: values of x marked by a line.
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
    """One claim: its inputs, its experiment, and how its results are shown.

    Attributes:
        key: its identifier in files.
        result: a frozen dataclass with `checks`, which can be saved to a file.
        inputs: the inputs that a visitor may change.
        make: creates the experiment for a model and a value of each input, without running it.
        table: the measurements; the verdict's figures have a separate table.
        charts: charts of the measurements; the default picture shows all of `checks`.
        more: further figures for that picture, without effect on the verdict.
        notice: a sentence about a result; empty for none.
        loads: whether `make` accepts `load`, which loads a model by name.
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
        """Create the experiment without running it.

        Args:
            model: the model to examine.
            load: loads another model by name.
            typed: inputs by name, as typed; all others keep their initial values.

        Raises:
            DecodingError: an input is invalid.
        """
        values = {one.name: one.value(typed.pop(one.name, one.first)) for one in self.inputs}
        if typed:
            raise TypeError(f"{self.key} has no input {', '.join(typed)}")
        return self.make(model, **values, **({"load": load} if self.loads else {}))


def claim_of(key: str) -> Claim:
    """Return the claim with this key, which is a section of `lessons/claims.toml`."""
    return import_module(f"engine.claims.experiments.{key}").CLAIM
