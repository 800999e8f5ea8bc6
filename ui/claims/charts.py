"""The figures that several claims share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from engine.claims.uncertainty import Figure
from ui.charts.template import PATTERNS, SYMBOLS, literal, palette, template

ROW = 30  # pixels of a row


def dots_figure(
    series: Mapping[str, Sequence[tuple[str, float]]],
    title: str,
    dark: bool = False,
    *,
    shares: bool = True,
) -> go.Figure:
    """Values by row: each series has a symbol and a colour, and may have several dots in a row.

    Args:
        series: by name, its dots: the label of the row, and the value.
        title: of the axis.
        dark: the theme.
        shares: whether the values are shares, from 0 to 1.
    """
    colours = palette(dark)
    labels = list(dict.fromkeys(label for dots in series.values() for label, _ in dots))
    names = {label: f"{n}. {literal(label, 30)}" for n, label in enumerate(labels, start=1)}
    figure = go.Figure()
    for place, (name, dots) in enumerate(series.items()):
        figure.add_scatter(
            x=[value for _, value in dots],
            y=[names[label] for label, _ in dots],
            name=name,
            mode="markers",
            marker={"symbol": SYMBOLS[place], "size": 10, "color": colours.series[place]},
            hovertemplate=f"%{{y}}: %{{x{':.0%' if shares else ''}}}<extra>{name}</extra>",
        )
    figure.update_layout(
        template=template(dark),
        height=110 + ROW * len(labels),
        xaxis={"title": title, "rangemode": "tozero", **({"tickformat": ".0%"} if shares else {})},
        yaxis={"autorange": "reversed", "type": "category"},
    )
    return figure


def intervals_figure(
    series: Mapping[str, Sequence[tuple[str, Figure]]],
    title: str,
    dark: bool = False,
    *,
    bound: float | None = None,
) -> go.Figure:
    """Shares with their intervals as bars side by side.

    Args:
        series: by name, its bars: the label of the place, and the share.
        title: of the axis.
        dark: the theme.
        bound: where a line is drawn, None for no line.
    """
    colours = palette(dark)
    figure = go.Figure()
    for place, (name, bars) in enumerate(series.items()):
        figures = [one for _, one in bars]
        figure.add_bar(
            x=[literal(label, 30) for label, _ in bars],
            y=[one.value for one in figures],
            error_y=whiskers(figures),
            name=name,
            marker={"color": colours.series[place], "pattern": {"shape": PATTERNS[place]}},
            hovertemplate="%{x}: %{y:.0%}<extra>%{fullData.name}</extra>",
        )
    if bound is not None:
        figure.add_hline(bound, line={"color": colours.text, "dash": "dot", "width": 2})
    figure.update_layout(
        template=template(dark),
        barmode="group",
        height=300,
        xaxis={"type": "category"},
        yaxis={"title": title, "range": [0, 1.05], "tickformat": ".0%"},
    )
    return figure


def whiskers(figures: Sequence[Figure]) -> dict[str, Any]:
    """The intervals of some figures, for `error_y`; none where there is too little for one."""
    pairs = [
        (one.high - one.value, one.value - one.low) if math.isfinite(one.high - one.low) else (0, 0)
        for one in figures
    ]
    return {
        "symmetric": False,
        "array": [above for above, _ in pairs],
        "arrayminus": [below for _, below in pairs],
        "thickness": 1.5,
    }
