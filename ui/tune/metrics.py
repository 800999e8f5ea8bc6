"""What a sweep's cells measure, for reading: labels, trade-offs, the least and the most."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest

from engine.study.sweep import Sweep, SweepResult
from ui.words.catalogue import short_setting_name
from ui.words.labels import with_minus
from ui.words.language import marked, with_figures
from ui.words.metrics import METRICS

Z_95 = 1.96  # standard errors on either side of a mean that hold 95 %
TRADE_OFFS = {  # name: columns along x and y, as `SweepResult.pareto` takes them
    marked("diversity against likelihood"): ("mean_logprob", "sample_distinct_2"),
    marked("diversity against repetition"): ("-seq_rep_4", "sample_distinct_2"),
    marked("likelihood against repetition"): ("-seq_rep_4", "mean_logprob"),
}


def value_text(value: float) -> str:
    """A value of an axis."""
    return with_figures(with_minus(f"{value:.10g}"))


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
        error: half of the 95 % interval of the mean over the cell's texts; NaN if no end is better.
    """

    value: float
    label: str
    others: int
    is_best: bool
    error: float = math.nan


def _half_interval(name: str, cell: Mapping[str, float]) -> float:
    """Return 1.96 standard errors of a cell's mean; NaN for what is not a mean over its texts."""
    deviation = cell.get(f"{name}_sd", math.nan)
    if name == "looped":
        deviation = math.sqrt(cell[name] * (1 - cell[name]))
    return Z_95 * float(deviation) / math.sqrt(cell["texts"])


def extremes(result: SweepResult) -> dict[str, tuple[Extreme, ...]]:
    """Lowest and highest cell of every metric that any cell has; one alone if all are equal.

    One end is the better one only if the intervals of the two do not overlap.
    """
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
            error = _half_interval(name, first) if metric.better else math.nan
            ends.append(Extreme(float(value), label, len(places) - 1, metric.better == end, error))
        low, high = ends[0], ends[-1]
        is_apart = low.value + low.error < high.value - high.error
        found[name] = tuple(replace(end, is_best=end.is_best and is_apart) for end in ends)
    return found
