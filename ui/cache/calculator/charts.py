"""Bytes of one text's cache over positions, for several models, to a million."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from ui.cache.calculator.costs import POINTS, Cost, Costs
from ui.charts.template import SYMBOLS, Palette, literal, palette, template
from ui.words.language import say


def growth_figure(result: Costs, dark: bool = False) -> go.Figure:
    """GB over positions, both logarithmic; dotted beyond the model's context."""
    colours = palette(dark)
    figure = go.Figure()
    for place, model in enumerate(result.models):
        _curve(figure, model, place, colours)
    memory = result.gigabytes
    figure.add_hline(y=memory, line={"color": colours.muted, "dash": "dash", "width": 1.2})
    figure.add_annotation(
        x=0,
        xref="paper",
        y=math.log10(memory),  # as Plotly places annotations on a logarithmic axis
        yref="y",
        text=say("memory of the card, {memory} GB", memory=f"{memory:,.0f}"),
        showarrow=False,
        xanchor="left",
        yanchor="bottom",
        yshift=2,
        xshift=6,
        font={"color": colours.muted},
    )
    figure.add_vline(x=result.positions, line={"color": colours.line, "width": 1.2})
    figure.update_layout(
        template=template(dark),
        height=460,
        xaxis={"title": say("positions"), "type": "log", "dtick": 1, "tickformat": "~s"},
        yaxis={
            "title": say("GB of one text's cache"),
            "type": "log",
            "dtick": 1,
            "tickformat": "~g",
        },
    )
    return figure


def _curve(figure: go.Figure, model: Cost, place: int, colours: Palette) -> None:
    colour = colours.series[place % len(colours.series)]
    symbol = SYMBOLS[(place // len(colours.series) + place) % len(SYMBOLS)]
    context = model.context or POINTS[-1]
    gigabytes = [count / 1e9 for count in model.curve]
    inside = [n for n, positions in enumerate(POINTS) if positions <= context]
    beyond = [n for n, positions in enumerate(POINTS) if n >= inside[-1]]
    name = literal(model.name, 40)
    for places, dash, shown in ((inside, "solid", True), (beyond, "dot", False)):
        if len(places) < 2:
            continue
        figure.add_scatter(
            x=[POINTS[n] for n in places],
            y=[gigabytes[n] for n in places],
            name=name,
            legendgroup=str(place),
            showlegend=shown,
            mode="lines+markers",
            line={"color": colour, "dash": dash, "width": 1.8},
            marker={
                "symbol": symbol,
                "size": [8 if n % 8 == 0 else 0 for n in places],
                "line": {"width": 0},
            },
            hovertemplate=say(
                "{name}: %{{x:,}} positions, %{{y:.3g}} GB<extra></extra>", name=name
            ),
        )
