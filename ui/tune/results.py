"""The tune page's results: the large heatmap, the chosen cell, and views of all cells."""

from __future__ import annotations

import io

import numpy as np
import streamlit as st

from engine.errors import DecodingError
from engine.sweep import SweepResult
from ui.charts.template import CONFIG
from ui.charts.tune import (
    Grid,
    Point,
    figure_text,
    front_figure,
    heatmap_figure,
)
from ui.skeleton.csv_file import NOTE, spreadsheet_csv
from ui.skeleton.fields import is_dark
from ui.texts.answers import settings_as_code
from ui.texts.texts import Beginning
from ui.tune.inputs import on_field
from ui.tune.metrics import METRICS, TRADE_OFFS, cell_label, extremes, value_text
from ui.tune.tuning import VIEWS, Tuning, tuning_here
from ui.tune.view import extremes_table, small_heatmaps, texts_list
from ui.visits.handover import HandedOver, open_in_step_page
from ui.visits.tab import this_visit
from ui.words.labels import markdown_text, setting_name

MOST_SMALL_CELLS = 400  # of a grid that is shown once for every metric


def results(tuning: Tuning) -> None:
    """Draw all that there is so far."""
    work = tuning.work
    if work is None or work.result is None or work.result.texts.empty:
        st.caption("The first texts are on their way." if tuning.is_running else "No texts yet.")
        return
    left, right = st.columns([1.15, 1], gap="medium")
    with left:
        st.selectbox(
            "Metric",
            list(METRICS),
            list(METRICS).index(tuning.metric),
            format_func=lambda name: METRICS[name].name,
            key="tune_metric",
            on_change=on_field,
            args=("metric", "tune_metric"),
        )
        grid = _grid(work.result, tuning.metric)
        st.plotly_chart(
            heatmap_figure(grid, tuning.chosen, is_dark()),
            theme=None,
            key="tune_heatmap",
            on_select=_on_cell,
            selection_mode="points",
            config=CONFIG,
            alt=f"Heatmap of {grid.metric}",
        )
        st.caption(METRICS[tuning.metric].about)
    with right:
        _cell(tuning)
    st.segmented_control(
        "View",
        VIEWS,
        default=tuning.view,
        key="tune_view",
        required=True,
        on_change=on_field,
        args=("view", "tune_view"),
        label_visibility="collapsed",
    )
    {"All metrics": _all, "Trade-off": _trade_off, "Best cells": _best, "Export": _export}[
        tuning.view
    ](tuning)


def _grid(result: SweepResult, metric: str) -> Grid:
    sweep = result.sweep
    return Grid(
        metric=METRICS[metric].name,
        x_name=setting_name(sweep.x.setting),
        y_name=setting_name(sweep.y.setting) if sweep.y else "",
        x_values=[value_text(value) for value in sweep.x.values],
        y_values=[value_text(value) for value in sweep.y.values] if sweep.y else [""],
        values=result.pivot(metric).to_numpy().tolist(),
        log=METRICS[metric].log,
    )


def _on_cell() -> None:
    """A click in the heatmap; one beside all cells, or on the chosen one again, changes nothing."""
    for point in st.session_state["tune_heatmap"].selection.points:
        tuning_here().choose(*point["customdata"], clicked=True)


def _on_point() -> None:
    for point in st.session_state["tune_front"].selection.points:
        tuning_here().choose_number(point["customdata"][0])


def _cell(tuning: Tuning) -> None:
    """The chosen cell: which it is, its texts, what to do with its settings."""
    work = tuning.work
    sweep = work.sweep
    pickers = [("x", sweep.x)] + ([("y", sweep.y)] if sweep.y else [])
    with st.container(key="tune_cell"):
        boxes = st.columns(len(pickers) + (len(work.prompts) > 1))
    for place, (name, axis) in enumerate(pickers):
        key = f"tune_cell_{name}_{tuning.clicks}"
        with boxes[place]:
            st.selectbox(
                f"Cell: {setting_name(axis.setting)}",
                range(len(axis.values)),
                tuning.chosen[place],
                format_func=lambda at, axis=axis: value_text(axis.values[at]),
                key=key,
                on_change=_on_picker,
                args=(place, key),
            )
    if len(work.prompts) > 1:
        with boxes[-1]:
            st.selectbox(
                "Prompt",
                range(len(work.prompts)),
                tuning.prompt_shown,
                format_func=lambda at: f"{at + 1}: {work.prompts[at][:40]}",
                key=f"tune_prompt_shown_{tuning.clicks}",
                on_change=on_field,
                args=("prompt_shown", f"tune_prompt_shown_{tuning.clicks}"),
            )
    st.markdown(_cell_metrics(tuning))
    texts = tuning.chosen_texts()
    if texts.empty:
        st.caption("No text of this cell has begun.")
    else:
        st.html(texts_list(work.prompts[tuning.prompt_shown], texts))
    with st.container(horizontal=True, vertical_alignment="center"):
        use = st.button(
            "Use these settings",
            key="tune_use",
            help="Goes to the step page and begins a new text there with the same prompt, settings "
            "and seed as the first of these texts, and the same stop string; in bfloat16 its text "
            "may part from this one.",
        )
        with st.popover("Take-away code"), st.container(width=520):
            _code(tuning)
    if use:
        open_in_step_page(
            this_visit(),
            HandedOver(
                work.model,
                Beginning(work.prompts[tuning.prompt_shown], work.chat),
                tuning.chosen_settings,
                sweep.max_tokens,
                sweep.stop_strings,
            ),
        )


def _on_picker(place: int, key: str) -> None:
    chosen = list(tuning_here().chosen)
    chosen[place] = st.session_state[key]
    tuning_here().choose(*chosen)


def _cell_metrics(tuning: Tuning) -> str:
    """The means of the chosen cell in a line."""
    result = tuning.work.result
    cell = result.sweep.cells[tuning.chosen_number]
    label = cell_label(result.sweep, cell.x, cell.y)
    cells = result.cells
    row = cells[(cells["x"] == cell.x) & ((cells["y"] == cell.y) | (cell.y is None))]
    if row.empty:
        return f"**{markdown_text(label)}**: no text has ended yet"
    names = dict.fromkeys(
        [tuning.metric, "perplexity", "sample_distinct_2", "seq_rep_4", "mean_logprob"]
    )
    figures = [f"{METRICS[name].name} {figure_text(row.iloc[0][name])}" for name in names]
    count = int(row.iloc[0]["texts"])
    texts = "1 text" if count == 1 else f"{count} texts"
    return f"**{markdown_text(label)}**, mean of {texts}: {' · '.join(figures)}"


def _code(tuning: Tuning) -> None:
    work = tuning.work
    try:
        found = settings_as_code(
            work.model,
            tuning.chosen_settings,
            work.prompts[tuning.prompt_shown],
            chat=work.chat,
            max_tokens=work.sweep.max_tokens,
            stop_strings=work.sweep.stop_strings,
        )
    except DecodingError as error:
        st.error(markdown_text(str(error)))
        return
    snippets = {snippet.target: snippet for snippet in found}
    target = tuning.target if tuning.target in snippets else next(iter(snippets))
    st.selectbox(
        "Code for",
        list(snippets),
        list(snippets).index(target),
        key="tune_target",
        on_change=on_field,
        args=("target", "tune_target"),
    )
    snippet = snippets[target]
    st.code(snippet.code, language=snippet.language)
    for name, why in snippet.lacking:
        st.caption(markdown_text(f"Lacking there: {name}. {why}"))
    for name, why in snippet.differs:
        st.caption(markdown_text(f"Different there: {name}. {why}"))


# --- views ----------------------------------------------------------------------------------------


def _all(tuning: Tuning) -> None:
    result = tuning.work.result
    if len(result.sweep.cells) > MOST_SMALL_CELLS:
        st.caption("The grid is too large to show all metrics at once; choose one under Metric.")
        return
    names = [name for name in METRICS if result.cells[name].notna().any()]
    st.html(small_heatmaps([_grid(result, name) for name in names], is_dark()))


def _trade_off(tuning: Tuning) -> None:
    st.selectbox(
        "Trade-off",
        list(TRADE_OFFS),
        list(TRADE_OFFS).index(tuning.trade_off),
        key="tune_trade_off",
        on_change=on_field,
        args=("trade_off", "tune_trade_off"),
        width=320,
    )
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
    st.plotly_chart(
        figure,
        theme=None,
        key="tune_front",
        on_select=_on_point,
        selection_mode="points",
        config=CONFIG,
        alt=f"Trade-off: {tuning.trade_off}",
    )
    st.caption(
        "Up and to the right is better in both. A cell off the dotted front gives something away "
        "for nothing; which place on it is right is for you to say, by reading the texts."
    )


def _axis_title(name: str) -> str:
    if name.startswith("-"):
        return f"minus {METRICS[name[1:]].name}"
    return METRICS[name].name


def _best(tuning: Tuning) -> None:
    st.html(extremes_table(extremes(tuning.work.result)))


def _export(tuning: Tuning) -> None:
    frame = tuning.export()
    st.caption(f"{len(frame):,} texts: settings by name, prompt, seed, text, metrics.")

    def parquet() -> bytes:
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        return buffer.getvalue()

    with st.container(horizontal=True):
        st.download_button(
            "Download CSV",
            lambda: spreadsheet_csv(frame),
            "sweep.csv",
            "text/csv",
            key="tune_csv",
            on_click="ignore",
            help=NOTE,
        )
        st.download_button(
            "Download Parquet",
            parquet,
            "sweep.parquet",
            "application/vnd.apache.parquet",
            key="tune_parquet",
            on_click="ignore",
        )
