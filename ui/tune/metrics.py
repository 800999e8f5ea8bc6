"""Metrics of a sweep's cells, for display: labels, trade-offs, extremes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from engine.claims import share
from engine.study import Sweep, SweepResult
from ui.words.catalogue import short_setting_name
from ui.words.labels import with_minus
from ui.words.language import marked, with_figures
from ui.words.metrics import METRICS

Z_95 = 1.96  # half-width of a 95 % interval, in standard errors
TRADE_OFFS = {  # name: columns along x and y, for `SweepResult.pareto`
    marked("diversity against likelihood"): ("mean_logprob", "sample_distinct_2"),
    marked("diversity against repetition"): ("-seq_rep_4", "sample_distinct_2"),
    marked("likelihood against repetition"): ("-seq_rep_4", "mean_logprob"),
}


def value_text(value: float) -> str:
    """Format a value of an axis."""
    return with_figures(with_minus(f"{value:.10g}"))


def cell_label(sweep: Sweep, x: float, y: float | None) -> str:
    """Describe a cell's settings in short form: ``T 0.7, p 0.9``."""
    parts = []
    for axis, value in zip_longest((sweep.x, sweep.y), (x, y)):
        if axis is not None:
            parts.append(f"{short_setting_name(axis.setting)} {value_text(value)}")
    return ", ".join(parts)


@dataclass(frozen=True)
class Extreme:
    """The cell where a metric is lowest or highest.

    Attributes:
        value: the metric's value.
        label: settings of the first cell with this value.
        others: number of further cells with the same value.
        is_best: whether this end is the better one, regardless of other metrics.
        low, high: the 95 % interval over the cell's texts. NaN if neither end is better, or if
            the texts are too alike to estimate it.
    """

    value: float
    label: str
    others: int
    is_best: bool
    low: float = math.nan
    high: float = math.nan


def _interval(name: str, cell: Mapping[str, float]) -> tuple[float, float]:
    """Return the 95 % interval of a share or mean, floored at 0; NaN if unknown."""
    count, value = int(cell["texts"]), float(cell[name])
    if name == "looped":
        found = share(np.arange(count) < round(value * count))
        return found.low, found.high
    half = Z_95 * float(cell.get(f"{name}_sd", math.nan)) / math.sqrt(count)
    # With a deviation of 0, a few equal texts would look like the only possible ones.
    return (max(0.0, value - half), value + half) if half > 0 else (math.nan, math.nan)


def extremes(result: SweepResult) -> dict[str, tuple[Extreme, ...]]:
    """Find each metric's lowest and highest cells; one entry if all its values are equal.

    One end counts as better only if the intervals of the two do not overlap.
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
            interval = _interval(name, first) if metric.better else (math.nan, math.nan)
            is_best, others = metric.better == end, len(places) - 1
            ends.append(Extreme(float(value), label, others, is_best, *interval))
        is_apart = ends[0].high < ends[-1].low
        found[name] = tuple(replace(end, is_best=end.is_best and is_apart) for end in ends)
    return found
