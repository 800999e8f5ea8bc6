"""The figures that several claims share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from ui.charts.template import SYMBOLS, literal, palette, template

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
