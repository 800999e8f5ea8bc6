"""The tune page's results: the large heatmap, the chosen cell, and views of all cells."""

from __future__ import annotations

import html
import io
import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from engine.errors import DecodingError
from engine.study import SweepResult
from ui.charts.figure import show_figure
from ui.charts.tune import (
    Grid,
    Point,
    colours_of,
    front_figure,
    heatmap_figure,
    shades,
)
from ui.shell.csv_file import NOTE, spreadsheet_csv
from ui.shell.fields import bound
from ui.shell.tables import table, text_list
from ui.shell.theme import is_dark
from ui.step.for_others import open_in_step_page
from ui.texts.export import settings_as_code
from ui.texts.texts import Beginning, before_text
from ui.tune.metrics import TRADE_OFFS, Extreme, cell_label, extremes, value_text
from ui.tune.sweep_job import SweepJob
from ui.tune.tuning import VIEWS, Tuning
from ui.visits.handover import HandedOver
from ui.visits.tab import this_visit
from ui.words.catalogue import setting_name
from ui.words.errors import told
from ui.words.glossary import meaning
from ui.words.labels import counted, markdown_text, stop_name
from ui.words.language import localised, say, with_figures
from ui.words.metrics import METRICS, short_number

SHOWN_OF_PROMPT = 60  # last characters of the prompt, shown before a text


def texts_list(prompt: str, texts: pd.DataFrame) -> str:
    """Format the texts of one cell and one prompt, each with its seed and a few metrics.

    Args:
        prompt: the prompt of these texts; its end is shown.
        texts: rows of `SweepResult.texts`.
    """
    tail = prompt[-SHOWN_OF_PROMPT:]
    if tail != prompt:  # start at a word
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
    """Format one small table of coloured cells for each metric.

    The browser would take seconds to draw a Plotly figure for each.
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
    """Return a table of each metric's lowest and highest cells; a star marks the better end."""
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


MOST_SMALL_CELLS = 400  # of a grid that is shown for every metric


def results(tuning: Tuning) -> None:
    """Draw the results so far."""
    work = tuning.work
    if work is None or work.result is None or work.result.texts.empty:
        st.caption(
            say("The first texts are being written.")
            if tuning.is_running
            else say("No texts yet. Press Run sweep.")
        )
        return
    left, right = st.columns([1.15, 1], gap="medium")
    with left:
        _choice(
            tuning, say("Metric"), "metric", list(METRICS), lambda name: say(METRICS[name].name)
        )
        grid = _grid(work.result, tuning.metric)
        show_figure(
            heatmap_figure(grid, tuning.chosen, is_dark()),
            "tune_heatmap",
            say("Heatmap of {metric}", metric=grid.metric),
            on_point=lambda cell: tuning.choose(*cell),
        )
        st.caption(f"{say(METRICS[tuning.metric].about)} {_colours(grid)}")
    with right:
        _cell(tuning)
    st.segmented_control(
        say("View"),
        VIEWS,
        format_func=say,
        default=tuning.view,
        required=True,
        label_visibility="collapsed",
        **_held(tuning, "view"),
    )
    draw = (_all, _trade_off, _ends, _export)[VIEWS.index(tuning.view)]
    draw(tuning)


def _colours(grid: Grid) -> str:
    """Explain the colours of a grid in a sentence."""
    if grid.is_constant:
        return say("It is the same in every cell.")
    if grid.log:
        return (
            say("Brighter is higher, by powers of ten.")
            if is_dark()
            else say("Darker is higher, by powers of ten.")
        )
    return say("Brighter is higher.") if is_dark() else say("Darker is higher.")


def _held(tuning: Tuning, name: str) -> dict:
    """Return the key and callback of a field that selects what the page shows."""
    return bound(f"tune_{name}", getattr(tuning, name), partial(setattr, tuning, name))


def _choice(
    tuning: Tuning, label: str, name: str, options: Sequence, shown: Callable = str
) -> None:
    """Draw a list field that selects what the page shows."""
    at = list(options).index(getattr(tuning, name))
    st.selectbox(label, options, at, format_func=shown, **_held(tuning, name))


def _grid(result: SweepResult, metric: str) -> Grid:
    sweep = result.sweep
    return Grid(
        metric=say(METRICS[metric].name),
        x_name=setting_name(sweep.x.setting),
        y_name=setting_name(sweep.y.setting) if sweep.y else "",
        x_values=[value_text(value) for value in sweep.x.values],
        y_values=[value_text(value) for value in sweep.y.values] if sweep.y else [""],
        values=result.pivot(metric).to_numpy().tolist(),
        log=METRICS[metric].log,
    )


def _cell(tuning: Tuning) -> None:
    """Draw the chosen cell: its settings, its texts, and actions on its settings."""
    work = tuning.work
    sweep = work.sweep
    pickers = [("x", sweep.x)] + ([("y", sweep.y)] if sweep.y else [])
    with st.container(key="tune_cell"):
        boxes = st.columns(len(pickers) + (len(work.prompts) > 1))
    for place, (name, axis) in enumerate(pickers):
        with boxes[place]:
            st.selectbox(
                say("Cell: {setting}", setting=setting_name(axis.setting)),
                range(len(axis.values)),
                tuning.chosen[place],
                format_func=lambda at, axis=axis: value_text(axis.values[at]),
                **bound(f"tune_cell_{name}", tuning.chosen[place], partial(_pick, tuning, place)),
            )
    if len(work.prompts) > 1:
        with boxes[-1]:
            numbers = range(len(work.prompts))
            _choice(
                tuning, say("Prompt"), "prompt_shown", numbers, lambda at: _prompt_label(work, at)
            )
    st.markdown(_cell_metrics(tuning))
    texts = tuning.chosen_texts()
    if texts.empty:
        st.caption(say("No text of this cell has begun."))
    else:
        prompt = before_text(work.prompts[tuning.prompt_shown], work.chat)
        st.html(texts_list(prompt, texts))
    with st.container(horizontal=True, vertical_alignment="center"):
        use = st.button(
            say("Use these settings"),
            key="tune_use",
            help=say(
                "Begins a new text on the step page, with the prompt, settings, seed and "
                "stop string of the first of these texts. In bfloat16 it may differ from "
                "this one."
            ),
        )
        with st.popover(say("Export code")), st.container(width=520):
            _code(tuning)
    if use:
        open_in_step_page(
            this_visit(),
            HandedOver(
                work.model,
                Beginning(work.prompts[tuning.prompt_shown], work.chat, before=work.before),
                tuning.chosen_settings,
                sweep.max_tokens,
                sweep.stop_strings,
            ),
        )


def _pick(tuning: Tuning, place: int, value: int) -> None:
    chosen = list(tuning.chosen)
    chosen[place] = value
    tuning.choose(*chosen)


def _prompt_label(work: SweepJob, place: int) -> str:
    return f"{place + 1}: {work.prompts[place][:40]}"


def _cell_metrics(tuning: Tuning) -> str:
    """Format the figures of the chosen cell on one line."""
    result = tuning.work.result
    cell = result.sweep.cells[tuning.chosen_number]
    label = cell_label(result.sweep, cell.x, cell.y)
    cells = result.cells
    row = cells[(cells["x"] == cell.x) & ((cells["y"] == cell.y) | (cell.y is None))]
    if row.empty:
        return say("**{label}**: no text has ended yet", label=markdown_text(label))
    names = dict.fromkeys(
        [tuning.metric, "perplexity", "sample_distinct_2", "seq_rep_4", "mean_logprob"]
    )
    figures = [
        with_figures(f"{say(METRICS[name].name)} {short_number(row.iloc[0][name])}")
        for name in names
    ]
    texts = counted(int(row.iloc[0]["texts"]), "text")
    return say(
        "**{label}**, over {texts}: {figures}",
        label=markdown_text(label),
        texts=texts,
        figures=" · ".join(figures),
    )


def _code(tuning: Tuning) -> None:
    work = tuning.work
    try:
        found = settings_as_code(
            work.model,
            tuning.chosen_settings,
            work.prompts[tuning.prompt_shown],
            chat=work.chat,
            before=work.before,
            max_tokens=work.sweep.max_tokens,
            stop_strings=work.sweep.stop_strings,
        )
    except DecodingError as error:
        st.error(markdown_text(told(error)))
        return
    snippets = {snippet.target: snippet for snippet in found}
    target = tuning.target if tuning.target in snippets else next(iter(snippets))
    tuning.target = target
    _choice(tuning, say("Code for"), "target", list(snippets))
    snippet = snippets[target]
    st.code(snippet.code, language=snippet.language)
    for name, why in snippet.lacking:
        st.caption(markdown_text(say("Missing there: {name}. {why}", name=name, why=why)))
    for name, why in snippet.differs:
        st.caption(markdown_text(say("What differs there: {name}. {why}", name=name, why=why)))


# --- views ----------------------------------------------------------------------------------------


def _all(tuning: Tuning) -> None:
    result = tuning.work.result
    if len(result.sweep.cells) > MOST_SMALL_CELLS:
        st.caption(
            say("The grid is too large to show all metrics at once. Choose one under Metric.")
        )
        return
    grids = [_grid(result, name) for name in METRICS if result.cells[name].notna().any()]
    st.html(small_heatmaps([grid for grid in grids if not grid.is_constant], is_dark()))
    same = [grid.metric for grid in grids if grid.is_constant]
    if same:
        st.caption(say("The same in every cell: {same}.", same=" · ".join(same)))


def _trade_off(tuning: Tuning) -> None:
    _choice(tuning, say("Trade-off"), "trade_off", list(TRADE_OFFS), say)
    result, names = tuning.work.result, TRADE_OFFS[tuning.trade_off]
    cells = result.cells
    front = set(result.pareto(*names).index)
    places = {(cell.x, cell.y): number for number, cell in enumerate(result.sweep.cells)}
    points = []
    for index, (x, y) in enumerate(result.oriented(*names)):
        cell_x, cell_y = cells.loc[index, "x"], cells.loc[index, "y"]
        cell_y = None if np.isnan(cell_y) else cell_y
        label = cell_label(result.sweep, cell_x, cell_y)
        points.append(Point(label, x, y, places[cell_x, cell_y], index in front))
    shown = [_axis_title(name) for name in names]
    figure = front_figure(points, *shown, tuning.chosen_number, is_dark())
    show_figure(
        figure,
        "tune_front",
        say("Trade-off: {metrics}", metrics=say(tuning.trade_off)),
        on_point=lambda point: tuning.choose_number(point[0]),
    )
    st.caption(
        say(
            "For any cell off the Pareto front, another cell is as good on both metrics and "
            "better on one. Choose among those on the front by reading the texts."
        ),
        help=meaning("Pareto front"),
    )


def _axis_title(name: str) -> str:
    if name.startswith("-"):
        metric = METRICS[name[1:]]
        return say("minus {metric}", metric=say(metric.name))
    return say(METRICS[name].name)


def _ends(tuning: Tuning) -> None:
    st.caption(
        say(
            "★ marks the better end if the two 95 % intervals (in brackets, over the texts "
            "of a cell) do not overlap. A mean over texts that do not differ has no "
            "interval. Only repetition and loops have a better end: less. Any other metric "
            "can be too low or too high: read the texts."
        )
    )
    st.html(extremes_table(extremes(tuning.work.result)))


def _export(tuning: Tuning) -> None:
    frame = tuning.export()
    st.caption(
        say(
            "{texts}, each with its model, settings, prompt, seed, stop rules and metrics.",
            texts=counted(len(frame), "text"),
        )
    )

    def parquet() -> bytes:
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        return buffer.getvalue()

    with st.container(horizontal=True):
        st.download_button(
            say("Download CSV"),
            lambda: spreadsheet_csv(frame),
            "sweep.csv",
            "text/csv",
            key="tune_csv",
            on_click="ignore",
            help=say(NOTE),
        )
        st.download_button(
            say("Download Parquet"),
            parquet,
            "sweep.parquet",
            "application/vnd.apache.parquet",
            key="tune_parquet",
            on_click="ignore",
        )
