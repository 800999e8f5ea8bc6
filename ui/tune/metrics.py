"""The metrics of a sweep's cells for reading, and which cell has the least and the most of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import zip_longest

from engine.sweep import Sweep, SweepResult
from ui.words.labels import short_setting_name, with_minus


@dataclass(frozen=True)
class Metric:
    """A column of `SweepResult.cells`, for reading.

    Attributes:
        name: on the page.
        about: what it says, in one sentence.
        better: ``high`` or ``low``; empty where neither is better by itself.
        log: whether it spans powers of ten.
    """

    name: str
    about: str
    better: str = ""
    log: bool = False


METRICS = {
    "mean_logprob": Metric(
        "mean log-prob.", "Per token under the model itself, in nats: high is likely.", "high"
    ),
    "perplexity": Metric(
        "perplexity", "Among how many equal choices the model was torn, per token.", "low", True
    ),
    "seq_rep_4": Metric(
        "repeated 4-grams", "Share of runs of four tokens that came before in the text.", "low"
    ),
    "distinct_2": Metric(
        "distinct-2", "Different pairs of neighbours over all pairs, within a text.", "high"
    ),
    "sample_distinct_2": Metric(
        "distinct-2, together", "Different pairs over all, in all texts of a prompt.", "high"
    ),
    "self_bleu": Metric(
        "self-BLEU", "How alike the texts of a prompt are, 0 to 1; needs two seeds.", "low"
    ),
    "looped": Metric("looped", "Share of the texts that ended in a loop.", "low"),
    "length": Metric("tokens", "Generated tokens, an end-of-text token included."),
    "final_entropy_bits": Metric(
        "entropy, draw", "Mean over the distributions that were drawn from, in bits."
    ),
    "model_entropy_bits": Metric(
        "entropy, model", "Mean over the model's own distributions, in bits."
    ),
    "distinct_1": Metric("distinct-1", "Different tokens over all, within a text.", "high"),
    "distinct_3": Metric("distinct-3", "Different runs of three over all, within a text.", "high"),
    "sample_distinct_1": Metric(
        "distinct-1, together", "Different tokens over all, in all texts of a prompt.", "high"
    ),
    "sample_distinct_3": Metric(
        "distinct-3, together", "Different runs of three, in all texts of a prompt.", "high"
    ),
    "loop_tokens": Metric("in a loop", "Tokens of the loop that a text ended in.", "low"),
    "logprob": Metric("log-prob.", "Of the whole text, in nats: longer texts have less."),
}
TRADE_OFFS = {  # name: columns along x and y, as `SweepResult.pareto` takes them
    "diversity against likelihood": ("mean_logprob", "sample_distinct_2"),
    "diversity against repetition": ("-seq_rep_4", "sample_distinct_2"),
    "likelihood against repetition": ("-seq_rep_4", "mean_logprob"),
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
        is_best: whether this end is the better one.
    """

    value: float
    label: str
    others: int
    is_best: bool


def extremes(result: SweepResult) -> dict[str, tuple[Extreme, Extreme]]:
    """Lowest and highest cell of every metric that any cell has."""
    cells, found = result.cells, {}
    for name, metric in METRICS.items():
        values = cells[name].dropna()
        if values.empty:
            continue
        ends = []
        for end, value in (("low", values.min()), ("high", values.max())):
            places = values.index[values == value]
            first = cells.loc[places[0]]
            label = cell_label(result.sweep, first["x"], first["y"])
            ends.append(Extreme(float(value), label, len(places) - 1, metric.better == end))
        if ends[0].value == ends[1].value:  # the same everywhere: no end is better
            ends = [replace(end, is_best=False) for end in ends]
        found[name] = (ends[0], ends[1])
    return found
