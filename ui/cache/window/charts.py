"""Positions kept and seen at a window's edge, and how far back a token changes the logits."""

from __future__ import annotations

import plotly.graph_objects as go

from engine.measure.window import TOUCHED, WindowEdge
from ui.charts.template import DASHES, PATTERNS, SYMBOLS, palette, template
from ui.words.language import say


def edge_figure(result: WindowEdge, dark: bool = False) -> go.Figure:
    """Positions over tokens read: in the tensors, attended to, and without a window."""
    colours = palette(dark)
    figure = go.Figure()
    read = [step.positions for step in result.steps]
    curves = (
        (say("read so far"), read, "lines"),
        (
            say("attended to by the last token"),
            [step.seen for step in result.steps],
            "lines+markers",
        ),
        (say("kept after the step"), [step.kept for step in result.steps], "lines+markers"),
    )
    for place, (name, values, mode) in enumerate(curves):
        figure.add_scatter(
            x=read,
            y=values,
            name=name,
            mode=mode,
            line={"color": colours.series[place], "dash": DASHES[place], "width": 1.8},
            marker={"symbol": SYMBOLS[place], "size": 5},
            hovertemplate=say("{name}: %{{y:,}} at %{{x:,}} tokens<extra></extra>", name=name),
        )
    figure.add_vline(x=result.window, line={"color": colours.muted, "dash": "dot"})
    figure.add_annotation(
        x=result.window,
        y=max(read),
        text=say("window of {window}", window=result.window),
        showarrow=False,
        xanchor="left",
        xshift=4,
    )
    figure.update_layout(
        template=template(dark),
        height=340,
        xaxis={"title": say("tokens read"), "rangemode": "tozero"},
        yaxis={"title": say("positions"), "rangemode": "tozero"},
    )
    return figure


def reach_figure(result: WindowEdge, dark: bool = False) -> go.Figure:
    """Change of the last token's logits by the position at which another token stands."""
    colours = palette(dark)
    count = len(result.changes)
    least = TOUCHED * max(result.changes)
    kinds = (
        (say("attended to"), lambda back: back < result.window),
        (say("through earlier layers"), lambda back: back >= result.window),
    )
    figure = go.Figure()
    for place, (name, belongs) in enumerate(kinds):
        places = [
            n
            for n, change in enumerate(result.changes)
            if belongs(count - 1 - n) and change > least
        ]
        figure.add_bar(
            x=[n + 1 for n in places],
            y=[result.changes[n] for n in places],
            name=name,
            marker={
                "color": colours.series[place],
                "pattern": {"shape": PATTERNS[place]},
                "line": {"width": 0},
            },
            hovertemplate=say("position %{{x}}, {name}: %{{y:.3g}}<extra></extra>", name=name),
        )
    figure.update_layout(
        template=template(dark),
        height=340,
        bargap=0.15,
        xaxis={"title": say("position of the changed token"), "range": [0.5, count + 0.5]},
        yaxis={"title": say("largest change of a logit"), "rangemode": "tozero"},
    )
    return figure
