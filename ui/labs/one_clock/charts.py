"""Charts of the runs: time against likelihood, and what each decoder took."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from engine.study import Timed
from ui.charts.template import PATTERNS, SYMBOLS, literal, palette, template
from ui.words.language import say, with_figures


def time_figure(timed: Mapping[str, Timed], dark: bool = False) -> go.Figure:
    """Milliseconds per token: a bar for the median round, a line from the least to the most."""
    colours = palette(dark)
    names = [name for name, one in timed.items() if one.ms_per_token is not None]
    figure = go.Figure()
    for place, name in enumerate(names):
        one = timed[name]
        each = [ms / one.tokens for ms in one.milliseconds]
        middle = one.ms_per_token
        figure.add_bar(
            y=[literal(say(name))],
            x=[middle],
            orientation="h",
            marker={
                "color": colours.series[place % len(colours.series)],
                "pattern": {"shape": PATTERNS[place % len(PATTERNS)]},
            },
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [max(each) - middle],
                "arrayminus": [middle - min(each)],
                "color": colours.text,
            },
            showlegend=False,
            hovertemplate=say("{name}: {time} ms per token", name="%{y}", time="%{x:.2f}")
            + "<extra></extra>",
        )
        figure.add_annotation(
            x=max(each),
            y=literal(say(name)),
            text=with_figures(f"{middle:.1f} ms"),
            xanchor="left",
            xshift=8,
            showarrow=False,
        )
    most = max(
        (max(one.milliseconds) / one.tokens for one in timed.values() if one.tokens), default=1
    )
    figure.update_layout(
        template=template(dark),
        height=90 + 34 * len(names),
        xaxis={"title": say("milliseconds per token"), "range": [0, most * 1.25]},
        yaxis={"autorange": "reversed"},
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
    )
    return figure


def balance_figure(timed: Mapping[str, Timed], dark: bool = False) -> go.Figure:
    """Each text by what a token took and by how likely the model finds it."""
    colours = palette(dark)
    figure = go.Figure()
    for place, (name, one) in enumerate(timed.items()):
        if one.ms_per_token is None:
            continue
        figure.add_scatter(
            x=[one.ms_per_token],
            y=[one.nats_per_token],
            name=literal(say(name)),
            mode="markers",
            marker={
                "size": 14,
                "color": colours.series[place % len(colours.series)],
                "symbol": SYMBOLS[place % len(SYMBOLS)],
                "line": {"color": colours.text, "width": 1 if place >= len(SYMBOLS) else 0},
            },
            hovertemplate=say(
                "{name}: {time} ms, {nats} nats",
                name=literal(say(name)),
                time="%{x:.1f}",
                nats="%{y:.2f}",
            )
            + "<extra></extra>",
        )
    figure.update_layout(
        template=template(dark),
        height=330,
        xaxis={"title": say("milliseconds per token"), "rangemode": "tozero"},
        yaxis={"title": say("log-probability per token, nats")},
    )
    return figure
