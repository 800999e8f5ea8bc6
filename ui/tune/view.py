"""The tune page's texts and tables as HTML: every text that is not ours is escaped here."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable

import pandas as pd

from ui.charts.tune import Grid, colours_of, shades
from ui.skeleton.tables import table, text_list
from ui.tune.metrics import Extreme
from ui.words.labels import counted, stop_name
from ui.words.language import localised, say
from ui.words.metrics import METRICS, short_number
from ui.words.refusals import told

SHOWN_OF_PROMPT = 60  # characters before a text


def texts_list(prompt: str, texts: pd.DataFrame) -> str:
    """The texts of one cell and one prompt, each with its seed and a few metrics.

    Args:
        prompt: what they go on from; its end is shown.
        texts: rows of `SweepResult.texts`.
    """
    tail = prompt[-SHOWN_OF_PROMPT:]
    if tail != prompt:  # from the next word on
        tail = "…" + (tail.partition(" ")[2] or tail)
    shown = []
    for row in texts.itertuples():
        about = [
            say("seed {seed}", seed=row.seed),
            f"{counted(row.length, 'token')}, {_ending(row)}",
            *(
                f"{say(METRICS[name].name)} {localised(short_number(getattr(row, name)))}"
                for name in ("perplexity", "distinct_2", "seq_rep_4")
            ),
        ]
        shown.append((about, row.text))
    return text_list(say("Texts of the chosen cell"), tail, shown)


def _ending(row: tuple) -> str:
    if isinstance(row.error, str):
        return say("failed: {error}", error=told(row.error))
    return stop_name(row.stop_reason) if row.ended else say("unfinished")


def small_heatmaps(grids: Iterable[Grid], dark: bool) -> str:
    """Many metrics over one grid, as tables whose cells are coloured.

    One Plotly figure for each would take the browser seconds to draw.
    """
    return f'<div class="tune-grids">{"".join(_small(grid, dark) for grid in grids)}</div>'


def _small(grid: Grid, dark: bool) -> str:
    rows = []
    for y_value, values, row in reversed(
        list(zip(grid.y_values, grid.values, shades(grid), strict=True))
    ):
        cells = []
        for value, shade in zip(values, row, strict=True):
            ground, ink = colours_of(shade, dark)
            text = localised(short_number(value))
            cells.append(f'<td style="background-color: {ground}; color: {ink}">{text}</td>')
        rows.append(f'<tr><th scope="row">{html.escape(y_value)}</th>{"".join(cells)}</tr>')
    head = "".join(f'<th scope="col">{html.escape(value)}</th>' for value in grid.x_values)
    if grid.y_name:
        axes = say("{y} down, {x} across", y=grid.y_name, x=grid.x_name)
    else:
        axes = say("{x} across", x=grid.x_name)
    return (
        f'<table title="{html.escape(axes)}"><caption>{html.escape(grid.metric)}</caption>'
        f"<tbody>{''.join(rows)}</tbody><tfoot><tr><td></td>{head}</tr></tfoot></table>"
    )


def extremes_table(found: dict[str, tuple[Extreme, ...]]) -> str:
    """Where each metric is lowest and where it is highest; the better end has a star."""
    rows = []
    for name, ends in found.items():
        shown = [_end_text(end) for end in ends]
        if len(ends) == 1:
            shown = [say("{value} in every cell", value=short_number(ends[0].value)), "–"]
        rows.append((say(METRICS[name].name), *shown, say(METRICS[name].about)))
    head = (say("metric"), say("lowest"), say("highest"), say("what it says"))
    return table(say("Lowest and highest cell of each metric"), head, rows)


def _end_text(end: Extreme) -> str:
    star = "★ " if end.is_best else ""
    value = localised(short_number(end.value))
    if not math.isnan(end.low):
        between = say("{low} to {high}", low=short_number(end.low), high=short_number(end.high))
        value = f"{value} ({between})"
    words = {"value": value, "cell": end.label}
    if end.others:
        said = say("{value} at {cell} and {others} more", **words, others=f"{end.others:,}")
    else:
        said = say("{value} at {cell}", **words)
    return f"{star}{said}"
