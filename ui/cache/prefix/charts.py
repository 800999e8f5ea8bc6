"""The time of a prompt against how much of it is shared."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import plotly.graph_objects as go

from engine.measure import PrefixResult, Reuse, outliers
from ui.charts.template import SYMBOLS, Palette, literal, palette, template
from ui.measurements.section import Laid
from ui.words.language import marked, say

SERIES: Sequence[tuple[str, Callable[[Reuse], Sequence[float]], Callable[[Reuse], float]]] = (
    (marked("full prefill"), lambda one: one.full_ms, lambda one: one.full),
    (marked("prefix reused"), lambda one: one.reused_ms, lambda one: one.reused),
)


def reuse_figure(
    result: PrefixResult, dark: bool = False, other: Laid[PrefixResult] | None = None
) -> go.Figure:
    """Milliseconds of both ways, medians with all repeats' range; another machine's dashed."""
    colours = palette(dark)
    figure = go.Figure()
    _lines(figure, result, colours)
    if other is not None:
        _lines(figure, other.result, colours, literal(other.name, 40))
    figure.update_layout(
        template=template(dark),
        height=380,
        xaxis={"title": say("shared tokens"), "rangemode": "tozero"},
        yaxis={"title": say("milliseconds"), "rangemode": "tozero"},
    )
    return figure


def _lines(figure: go.Figure, result: PrefixResult, colours: Palette, machine: str = "") -> None:
    shared = [one.shared for one in result.lengths]
    for place, (name, times, middle) in enumerate(SERIES):
        colour, name = colours.series[1 - place], say(name)
        medians = [middle(one) for one in result.lengths]
        figure.add_scatter(
            x=shared,
            y=medians,
            name=f"{name}, {machine}" if machine else name,
            mode="lines+markers",
            line={"color": colour, "dash": "dash" if machine else "solid", "width": 2},
            marker={"symbol": SYMBOLS[place], "size": 8},
            error_y={
                "type": "data",
                "symmetric": False,
                "array": [max(times(one)) - middle(one) for one in result.lengths],
                "arrayminus": [middle(one) - min(times(one)) for one in result.lengths],
                "thickness": 1.2,
            },
            hovertemplate=say("%{x:,} tokens shared: %{y:.1f} ms<extra></extra>"),
        )
        far = [
            (one.shared, times(one)[at]) for one in result.lengths for at in outliers(times(one))
        ]
        if far and not machine:
            figure.add_scatter(
                x=[x for x, _ in far],
                y=[y for _, y in far],
                mode="markers",
                showlegend=False,
                marker={"symbol": "x-thin", "size": 8, "line": {"color": colour, "width": 2}},
                hovertemplate=say("stands out: %{y:.1f} ms<extra></extra>"),
            )
