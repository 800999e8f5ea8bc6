"""Charts of the diffusion page: pure functions from plain results to a Plotly figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from engine.study import JointError, Order, Spread, StepCount, StepsSummary
from ui.charts.template import DASHES, PATTERNS, SYMBOLS, literal, palette, template
from ui.words.labels import counted
from ui.words.language import marked, say, with_figures

COMMITTED_MARK, REMASKED_MARK = "●", "↺"
_DID = {COMMITTED_MARK: marked("committed here"), REMASKED_MARK: marked("masked again here")}
MOST_CELLS = 6_000  # of a clickable heat map, as the browser draws a point for each cell
MOST_MARKS = 60  # positions up to which the cells of a heat map have room for a mark


@dataclass(frozen=True)
class ConfidenceMap:
    """The model's confidence at every position, before every step.

    Attributes:
        positions: initially masked positions, ascending.
        names: by step and position, the predicted or present token; empty if the map cannot be
            clicked.
        values: (positions, steps) 0 to 1; NaN where unknown.
        marks: by step and position, the step's action there: `COMMITTED_MARK` or `REMASKED_MARK`.
        rows: number of steps at the end, so that the map keeps its size.
    """

    positions: Sequence[int]
    names: Sequence[dict[int, str]]
    values: np.ndarray
    marks: Sequence[dict[int, str]]
    rows: int


def can_be_clicked(positions: int, steps: int) -> bool:
    """Return whether the map is small enough for a clickable point in every cell."""
    return positions * steps <= MOST_CELLS


def confidence_figure(
    shown: ConfidenceMap, chosen: tuple[int, int] | None = None, dark: bool = False
) -> go.Figure:
    """Draw a heat map of positions by steps; the tokens that a step committed are marked.

    Each point's `customdata` is its position on the canvas, and its step from 1.

    Args:
        shown: the confidences.
        chosen: position and step of the cell to frame.
        dark: whether the theme is dark.
    """
    look = palette(dark)
    columns, rows = shown.values.shape
    total = max(rows, shown.rows)
    figure = go.Figure()
    figure.add_heatmap(
        z=shown.values.T,
        zmin=0,
        zmax=1,
        colorscale=list(look.scale),
        xgap=1,
        ygap=1,
        colorbar={
            "orientation": "h",
            "tickformat": ".0%",
            "thickness": 8,
            "len": 0.6,
            "x": 1,
            "xanchor": "right",
            "y": 1,
            "yanchor": "bottom",
            "ypad": 0,
            "nticks": 5,
        },
        hovertemplate="%{z:.1%}<extra></extra>",
    )
    if can_be_clicked(columns, rows):
        _add_points(figure, shown, dark)
    if chosen is not None and chosen[0] in shown.positions:
        column, row = list(shown.positions).index(chosen[0]), chosen[1] - 1
        figure.add_shape(
            type="rect",
            x0=column - 0.5,
            x1=column + 0.5,
            y0=row - 0.5,
            y1=row + 0.5,
            line={"color": look.series[1], "width": 3},
        )
    places = range(0, columns, max(1, math.ceil(columns / 12)))
    figure.update_xaxes(
        title=say("position"),
        tickvals=list(places),
        ticktext=[str(shown.positions[place]) for place in places],
        range=[-0.5, columns - 0.5],
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    figure.update_yaxes(
        title=say("step"),
        tickvals=list(range(0, total, max(1, math.ceil(total / 12)))),
        ticktext=[str(row + 1) for row in range(0, total, max(1, math.ceil(total / 12)))],
        range=[total - 0.5, -0.5],
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    figure.update_layout(
        template=template(dark),
        height=min(560, 130 + 22 * max(4, total)),
        margin={"l": 10, "r": 10, "t": 30, "b": 10},
        hoverdistance=-1,
        dragmode=False,
    )
    return figure


def _add_points(figure: go.Figure, shown: ConfidenceMap, dark: bool) -> None:
    """Add an invisible point to every cell, which carries the mark and receives clicks."""
    columns, rows = shown.values.shape
    places = [(column, row) for row in range(rows) for column in range(columns)]
    marks = [shown.marks[row].get(shown.positions[column], "") for column, row in places]
    figure.add_scatter(
        x=[column for column, _ in places],
        y=[row for _, row in places],
        mode="markers+text" if columns <= MOST_MARKS else "markers",
        text=marks,
        customdata=[[int(shown.positions[column]), row + 1] for column, row in places],
        hovertext=[
            _cell(shown, column, row, mark)
            for (column, row), mark in zip(places, marks, strict=True)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        marker={"size": 14, "opacity": 0},
        textfont={"size": 11, "color": [_ink(shown.values[place], dark) for place in places]},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        showlegend=False,
    )


def _ink(value: float, dark: bool) -> str:
    """Return a readable text colour: cells range from the ground's colour to the text's."""
    look = palette(dark)
    if math.isnan(value) or value < 0.5:
        return look.text
    return look.ground


def _cell(shown: ConfidenceMap, column: int, row: int, mark: str) -> str:
    value = shown.values[column, row]
    place = shown.positions[column]
    said = say(
        "position {place}, step {step}: {token}, confidence {share}",
        place=place,
        step=row + 1,
        token=literal(shown.names[row][place]),
        share=say("unknown") if math.isnan(value) else f"{value:.1%}",
    )
    if mark not in _DID:
        return said
    did = say(_DID[mark])
    return f"{said}, {did}"


def order_figure(
    order: Order, names: Sequence[str], gaps: Sequence[int], dark: bool = False
) -> go.Figure:
    """Chart the step that committed each position's token; left-to-right order gives a rising line.

    Args:
        order: the order in which tokens were committed.
        names: the labels of those tokens.
        gaps: all initially masked positions.
        dark: whether the theme is dark.
    """
    look = palette(dark)
    figure = go.Figure()
    figure.add_scatter(
        x=list(order.positions),
        y=[step + 1 for step in order.steps],
        mode="markers",
        marker={"size": 9, "color": look.series[0], "symbol": SYMBOLS[0]},
        hovertext=[
            say(
                "{token}, position {place}: step {step}",
                token=literal(name),
                place=place,
                step=step + 1,
            )
            for name, place, step in zip(names, order.positions, order.steps, strict=True)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    figure.update_layout(
        template=template(dark),
        height=250,
        xaxis_title=say("position"),
        yaxis_title=say("committed in step"),
        dragmode=False,
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
    )
    figure.update_yaxes(rangemode="tozero", fixedrange=True)
    figure.update_xaxes(range=[min(gaps) - 1, max(gaps) + 1], fixedrange=True)
    return figure


def counts_figure(counts: Sequence[StepCount], dark: bool = False) -> go.Figure:
    """Chart how many positions each step committed and, below zero, how many it masked again."""
    look = palette(dark)
    steps = [count.index + 1 for count in counts]
    figure = go.Figure()
    for number, (name, values) in enumerate(
        (
            (say("committed"), [count.committed for count in counts]),
            (say("masked again"), [-count.remasked for count in counts]),
        )
    ):
        figure.add_bar(
            x=steps,
            y=values,
            name=name,
            marker={"color": look.series[number], "pattern": {"shape": PATTERNS[number]}},
            customdata=[abs(value) for value in values],
            hovertemplate=say("step {step}: {count}", step="%{x}", count="%{customdata}")
            + f" {name}<extra></extra>",
        )
    figure.update_layout(
        template=template(dark),
        height=250,
        barmode="relative",
        xaxis_title=say("step"),
        yaxis_title=say("positions"),
        dragmode=False,
        margin={"l": 10, "r": 10, "t": 30, "b": 10},
    )
    figure.update_xaxes(fixedrange=True, dtick=max(1, math.ceil(len(counts) / 12)))
    figure.update_yaxes(fixedrange=True)
    return figure


@dataclass(frozen=True)
class Bars:
    """The leading tokens of a distribution, and all others as one.

    Attributes:
        names: labels of the tokens, likeliest first.
        shares: their probabilities.
        rest: total probability of all other tokens.
        others: number of other tokens.
        chosen: index of the drawn or present token in `names`; None if it is not there.
    """

    names: Sequence[str]
    shares: Sequence[float]
    rest: float
    others: int
    chosen: int | None


def distribution_figure(bars: Bars, dark: bool = False) -> go.Figure:
    """Draw a bar per token; the drawn or present one has a different colour and pattern."""
    look = palette(dark)
    names = [*map(literal, bars.names), counted(bars.others, "other")]
    shares = [*bars.shares, bars.rest]
    place = list(range(len(shares)))
    is_chosen = [number == bars.chosen for number in place]
    figure = go.Figure()
    figure.add_bar(
        x=shares,
        y=place,
        orientation="h",
        marker={
            "color": [
                look.series[1] if one else look.muted if number == place[-1] else look.series[0]
                for number, one in zip(place, is_chosen, strict=True)
            ],
            "pattern": {"shape": [PATTERNS[1] if one else "" for one in is_chosen]},
        },
        text=[with_figures(f"{share:.1%}") for share in shares],
        textposition="outside",
        cliponaxis=False,
        hoverinfo="skip",
    )
    figure.update_layout(
        template=template(dark),
        height=40 + 24 * len(shares),
        dragmode=False,
        margin={"l": 10, "r": 50, "t": 10, "b": 10},
    )
    figure.update_yaxes(
        tickvals=place,
        ticktext=[f"◆ {name}" if one else name for name, one in zip(names, is_chosen, strict=True)],
        range=[len(shares) - 0.5, -0.5],
        fixedrange=True,
    )
    figure.update_xaxes(tickformat=".0%", rangemode="tozero", fixedrange=True, nticks=5)
    return figure


def joint_figure(errors: Sequence[JointError], dark: bool = False) -> go.Figure:
    """Chart each order's total variation: the computed part, and an upper bound on the rest."""
    look = palette(dark)
    names = [say("{place} first", place=error.first) for error in errors]
    figure = go.Figure()
    for number, (name, values) in enumerate(
        (
            (say("computed"), [error.lowest for error in errors]),
            (say("may be higher by"), [error.highest - error.lowest for error in errors]),
        )
    ):
        figure.add_bar(
            x=values,
            y=names,
            orientation="h",
            name=name,
            marker={"color": look.series[number], "pattern": {"shape": PATTERNS[number]}},
            hovertemplate=f"{name} %{{x:.3f}}<extra></extra>",
        )
    figure.update_layout(
        template=template(dark),
        height=170,
        barmode="stack",
        xaxis_title=say("total variation"),
        dragmode=False,
        margin={"l": 10, "r": 10, "t": 30, "b": 10},
    )
    figure.update_xaxes(range=[0, 1], fixedrange=True)
    figure.update_yaxes(autorange="reversed", fixedrange=True)
    return figure


QUALITIES = {  # field of `StepsSummary`: name of its axis
    "bits_per_byte": marked("bits per byte"),
    "repeated_2": marked("repeated pairs"),
    "ms": marked("milliseconds per passage"),
}


def quality_figure(rows: Sequence[StepsSummary], field: str, dark: bool = False) -> go.Figure:
    """Chart one metric against the number of steps, with the spread over the seeds.

    Args:
        rows: summaries, one for each number of steps, and one for the autoregressive model.
        field: a key of `QUALITIES`.
        dark: whether the theme is dark.
    """
    look = palette(dark)
    diffusion = [row for row in rows if row.steps is not None]
    others = [row for row in rows if row.steps is None]
    figure = go.Figure()
    for number, (name, some) in enumerate(
        ((say("diffusion"), diffusion), (say("autoregressive"), others))
    ):
        spreads: list[Spread] = [getattr(row, field) for row in some]
        # The autoregressive model has one figure, drawn over the whole width.
        wide = number == 1 and diffusion and spreads
        at = [row.steps for row in some]
        if wide:
            at = [diffusion[0].steps, diffusion[-1].steps]
            spreads *= 2
        figure.add_scatter(
            x=at,
            y=[spread.mean for spread in spreads],
            name=name,
            mode="lines+markers",
            line={"color": look.series[number], "dash": DASHES[number]},
            marker={"symbol": SYMBOLS[number], "size": 9},
            error_y={
                "type": "data",
                "array": [0 if math.isnan(spread.sd) else spread.sd for spread in spreads],
                "thickness": 1.2,
                "width": 4,
            },
            hovertemplate="%{y:.3g} ± %{error_y.array:.2g}<extra>" + name + "</extra>",
        )
    counts = [row.steps for row in diffusion]
    figure.update_layout(
        template=template(dark),
        height=270,
        yaxis_title=say(QUALITIES[field]),
        xaxis_title=say("steps"),
        dragmode=False,
        margin={"l": 10, "r": 10, "t": 30, "b": 10},
    )
    figure.update_xaxes(
        type="log", tickvals=counts, ticktext=[str(count) for count in counts], fixedrange=True
    )
    figure.update_yaxes(rangemode="tozero", fixedrange=True)
    return figure
