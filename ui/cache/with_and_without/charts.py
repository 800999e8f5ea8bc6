"""Latency of every step against its position, with the cache and without."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from engine.measure import WithAndWithout
from ui.charts.template import SYMBOLS, Palette, literal, log_axis, palette, template
from ui.measurements.section import Laid
from ui.words.language import say

WIDE = 30.0  # times from the least to the most, from which powers of ten are shown


def latency_figure(
    result: WithAndWithout, dark: bool = False, other: Laid[WithAndWithout] | None = None
) -> go.Figure:
    """Milliseconds per step against tokens in the text; another machine's dashed."""
    colours = palette(dark)
    figure = go.Figure()
    _curves(figure, result, colours)
    if other is not None:
        _curves(figure, other.result, colours, literal(other.name, 40))
    every = [*result.cached_ms, *result.uncached_ms]
    is_wide = max(every) > WIDE * min(every)
    figure.update_layout(
        template=template(dark),
        height=380,
        xaxis={"title": say("tokens in the text"), "rangemode": "tozero"},
        yaxis={
            "title": say("milliseconds per step"),
            **(log_axis(every) if is_wide else {"rangemode": "tozero"}),
        },
    )
    return figure


def _curves(figure: go.Figure, result: WithAndWithout, colours: Palette, machine: str = "") -> None:
    curves = (
        (say("without the cache"), result.positions, result.uncached_ms, result.uncached_outliers),
        (say("with the cache"), result.cached_positions, result.cached_ms, result.cached_outliers),
    )
    for place, (name, positions, times, far) in enumerate(curves):
        colour = colours.series[1 - place]
        figure.add_scatter(
            x=list(positions),
            y=list(times),
            name=f"{name}, {machine}" if machine else name,
            mode="lines" if len(positions) > 64 else "lines+markers",
            line={"color": colour, "dash": "dash" if machine else "solid", "width": 1.8},
            marker={"symbol": SYMBOLS[place], "size": 5},
            hovertemplate=say("%{x:,} tokens: %{y:.2f} ms<extra></extra>"),
        )
        _marks(figure, [positions[i] for i in far], [times[i] for i in far], colour)


def _marks(
    figure: go.Figure, positions: Sequence[int], times: Sequence[float], colour: str
) -> None:
    if not positions:
        return
    figure.add_scatter(
        x=list(positions),
        y=list(times),
        mode="markers",
        marker={"symbol": "x-thin", "size": 8, "line": {"color": colour, "width": 2}},
        showlegend=False,
        hovertemplate=say("stands out: %{x:,} tokens, %{y:.2f} ms<extra></extra>"),
    )
