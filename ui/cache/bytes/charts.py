"""Bytes of a cache over positions: the formula, the tensors, what is held, what a block costs."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from engine.measure import CacheBytes
from ui.charts.template import DASHES, SYMBOLS, literal, palette, template
from ui.measurements.section import Laid
from ui.words.language import say


def bytes_figure(
    result: CacheBytes,
    paged: Sequence[int],
    dark: bool = False,
    other: Laid[CacheBytes] | None = None,
) -> go.Figure:
    """MiB over positions.

    Args:
        result: what was counted.
        paged: bytes that an engine with paged attention sets aside, by point; empty where the
            formula is not known.
        other: another machine's tensors, drawn beside.
    """
    colours = palette(dark)
    figure = go.Figure()
    positions = [point.positions for point in result.points]
    curves = [
        (say("held here, with room"), [point.held for point in result.points], "lines+markers"),
        (say("paged"), list(paged), "lines+markers"),
        (say("formula"), [point.computed for point in result.points] * result.is_known, "lines"),
        (say("tensors, counted"), [point.measured for point in result.points], "markers"),
    ]
    for place, (name, values, mode) in enumerate(curves):
        if not values:
            continue
        figure.add_scatter(
            x=positions,
            y=[value / 2**20 for value in values],
            name=name,
            mode=mode,
            line={"color": colours.series[place], "dash": DASHES[place], "width": 1.8},
            marker={"color": colours.series[place], "symbol": SYMBOLS[place], "size": 7},
            hovertemplate=say(
                "{name}: %{{x:,}} positions, %{{y:.3f}} MiB<extra></extra>", name=name
            ),
        )
    if other is not None:
        points = other.result.points
        figure.add_scatter(
            x=[point.positions for point in points],
            y=[point.measured / 2**20 for point in points],
            name=say("tensors, {name}", name=literal(other.name, 40)),
            mode="lines",
            line={"color": colours.muted, "dash": "dash"},
        )
    figure.update_layout(
        template=template(dark),
        height=360,
        xaxis={"title": say("positions"), "rangemode": "tozero"},
        yaxis={"title": "MiB", "rangemode": "tozero"},
    )
    return figure
