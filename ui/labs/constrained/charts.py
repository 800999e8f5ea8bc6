"""Charts of a constraint: allowed probability and price by step; texts by both distributions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from engine.study import ConstraintFigures, WholeText
from ui.charts.template import literal, palette, template
from ui.words.language import say

MOST_TEXTS = 8


def price_figure(
    figures: Sequence[ConstraintFigures], tokens: Sequence[str], shown: int | None, dark: bool
) -> go.Figure:
    """Above the allowed probability of each step, below its price and the price so far.

    Args:
        figures: of every step.
        tokens: what was written in each, as a label.
        shown: the step that is looked at.
        dark: which theme.
    """
    colours = palette(dark)
    free, forced, total = colours.series[0], colours.series[1], colours.series[5]
    allowed = say("allowed probability {share}", share="%{y:.4g}")
    bits = say("{count} bits", count="%{y:.2f}")
    bits_so_far = say("{count} bits so far", count="%{y:.2f}")
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08)
    steps = list(range(1, len(figures) + 1))
    hover = [
        say("step {n}: {token}", n=n, token=literal(token))
        for n, token in zip(steps, tokens, strict=True)
    ]
    figure.add_scatter(
        x=steps,
        y=[each.allowed_mass for each in figures],
        mode="lines+markers",
        line={"color": free, "width": 1},
        marker={
            "size": 9,
            "color": [forced if each.is_forced else free for each in figures],
            "symbol": ["square" if each.is_forced else "circle" for each in figures],
        },
        customdata=hover,
        hovertemplate="%{customdata}<br>" + allowed + "<extra></extra>",
        showlegend=False,
        row=1,
        col=1,
    )
    for name, is_forced, colour, pattern in (
        (say("price of a step with a choice"), False, free, ""),
        (say("price of a step with one allowed token"), True, forced, "/"),
    ):
        own = [n for n, each in zip(steps, figures, strict=True) if each.is_forced == is_forced]
        figure.add_bar(
            x=own,
            y=[figures[n - 1].price_bits for n in own],
            name=name,
            marker={"color": colour, "pattern": {"shape": pattern}},
            customdata=[hover[n - 1] for n in own],
            hovertemplate="%{customdata}<br>" + bits + "<extra></extra>",
            row=2,
            col=1,
        )
    figure.add_scatter(
        x=steps,
        y=list(accumulate(each.price_bits for each in figures)),
        name=say("price so far"),
        mode="lines",
        line={"color": total, "dash": "dash", "shape": "hv"},
        hovertemplate=bits_so_far + "<extra></extra>",
        row=2,
        col=1,
    )
    if shown is not None and shown < len(figures):
        figure.add_vline(x=shown + 1, line={"color": colours.muted, "dash": "dot"})
    figure.update_yaxes(title=say("allowed Z"), range=[-0.06, 1.06], row=1, col=1)
    figure.update_yaxes(title=say("bits"), rangemode="tozero", row=2, col=1)
    every = max(1, round(len(figures) / 12))
    figure.update_xaxes(range=[0.3, len(figures) + 0.7], dtick=every, tick0=1)
    figure.update_xaxes(title=say("step"), row=2, col=1)
    figure.update_layout(template=template(dark), height=380, bargap=0.25)
    figure.update_layout(margin={"l": 10, "r": 10, "t": 60, "b": 10})
    return figure


def whole_texts_figure(texts: Sequence[WholeText], dark: bool) -> go.Figure:
    """For the likeliest texts two bars: the model's odds among allowed texts, and masking's."""
    colours = palette(dark)
    leading = sorted(texts, key=lambda each: -max(each.conditional, each.masked))[:MOST_TEXTS]
    figure = go.Figure()
    series = (
        (say("exact: model’s odds"), "conditional", 0, ""),
        (say("step by step"), "masked", 1, "/"),
    )
    for name, field, place, pattern in series:
        figure.add_bar(
            y=[literal(each.text, 28) for each in leading],
            x=[getattr(each, field) for each in leading],
            name=name,
            orientation="h",
            marker={"color": colours.series[place], "pattern": {"shape": pattern}},
            customdata=[literal(each.text, 200) for each in leading],
            hovertemplate="%{customdata}<br>%{x:.4g}<extra>" + name + "</extra>",
        )
    figure.update_layout(
        template=template(dark),
        height=110 + 44 * len(leading),
        barmode="group",
        xaxis={"title": say("share of texts"), "rangemode": "tozero"},
        yaxis={"autorange": "reversed", "type": "category"},
        margin={"l": 10, "r": 10, "t": 50, "b": 10},
    )
    return figure
