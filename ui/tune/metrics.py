"""What a sweep's cells measure, for reading: labels, trade-offs, the least and the most."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

from engine.study.sweep import Sweep, SweepResult
from ui.words.catalogue import short_setting_name
from ui.words.labels import with_minus
from ui.words.language import marked
from ui.words.metrics import METRICS

TRADE_OFFS = {  # name: columns along x and y, as `SweepResult.pareto` takes them
    marked("diversity against likelihood"): ("mean_logprob", "sample_distinct_2"),
    marked("diversity against repetition"): ("-seq_rep_4", "sample_distinct_2"),
    marked("likelihood against repetition"): ("-seq_rep_4", "mean_logprob"),
}


def value_text(value: float) -> str:
    """A value of an axis."""
    return with_minus(f"{value:.10g}")


def cell_label(sweep: Sweep, x: float, y: float | None) -> str:
    """The settings of a cell in short: ``T 0.7, p 0.9``."""
    parts = []
    for axis, value in zip_longest((sweep.x, sweep.y), (x, y)):
        if axis is not None:
            parts.append(f"{short_setting_name(axis.setting)} {value_text(value)}")
    return ", ".join(parts)


@dataclass(frozen=True)
class Extreme:
    """The cell where a metric is lowest or highest.

    Attributes:
        value: of the metric.
        label: settings of the first such cell.
        others: how many more cells have the same value.
        is_best: whether this end is the better one, whatever other metrics say.
    """

    value: float
    label: str
    others: int
    is_best: bool


def extremes(result: SweepResult) -> dict[str, tuple[Extreme, ...]]:
    """Lowest and highest cell of every metric that any cell has; one alone where all are equal."""
    cells, found = result.cells, {}
    for name, metric in METRICS.items():
        values = cells[name].dropna()
        if values.empty:
            continue
        is_same = values.min() == values.max()
        ends = []
        for end, value in (("low", values.min()), ("high", values.max()))[: 1 if is_same else 2]:
            places = values.index[values == value]
            first = cells.loc[places[0]]
            label = cell_label(result.sweep, first["x"], first["y"])
            is_best = metric.better == end and not is_same
            ends.append(Extreme(float(value), label, len(places) - 1, is_best))
        found[name] = tuple(ends)
    return found
