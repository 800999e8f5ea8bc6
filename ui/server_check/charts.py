"""The chart of a greedy text: how close each choice was, and how far the values moved."""

from __future__ import annotations

import plotly.graph_objects as go

from engine.server_check import Crowd, Engines
from ui.charts.template import DASHES, SYMBOLS, palette, template
from ui.words.language import say

LEAST = 1e-6  # nats: what a logarithmic axis shows for 0


def closeness_figure(crowd: Crowd | None, engines: Engines | None, dark: bool = False) -> go.Figure:
    """Draw the gap of the two best tokens at every step, and the differences beside it."""
    ink, figure = palette(dark), go.Figure()
    lines: list[tuple[str, list[float], str]] = []
    gaps = [each.gap for each in crowd.steps] if crowd else [each.gap for each in engines.pairs]
    lines.append((say("gap of the two best"), gaps, "markers"))
    if crowd:
        lines.append((say("moved by other texts"), [s.moved for s in crowd.steps], "lines"))
    if engines:
        lines.append((say("two engines apart"), [p.apart for p in engines.pairs], "lines"))
    unit = say("nats")
    for place, (name, values, mode) in enumerate(lines):
        figure.add_scatter(
            x=list(range(1, len(values) + 1)),
            y=[max(LEAST, each) for each in values],
            customdata=values,
            name=name,
            mode=mode,
            marker={"symbol": SYMBOLS[place], "size": 8, "color": ink.series[place]},
            line={"dash": DASHES[place], "color": ink.series[place]},
            hovertemplate=f"%{{x}}: %{{customdata:.4f}} {unit}<extra>{name}</extra>",
        )
    figure.update_layout(
        template=template(dark),
        height=300,
        xaxis={"title": say("token")},
        yaxis={"title": unit, "type": "log", "dtick": 1, "exponentformat": "power"},
    )
    return figure
