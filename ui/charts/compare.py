"""Charts of the compare page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from ui.charts.template import DASHES, SYMBOLS, literal, palette, template
from ui.words.language import say

LOG_2 = math.log(2)


@dataclass(frozen=True)
class TextSeries:
    """One column's text, token by token.

    Attributes:
        name: name of the column.
        logprobs: log-probability of each token under the model itself, in nats.
        parts_at: index of the first token that differs from the first column's; None if none does.
    """

    name: str
    logprobs: Sequence[float]
    parts_at: int | None = None


def surprisal_figure(series: Sequence[TextSeries], dark: bool = False) -> go.Figure:
    """Chart mean surprisal per token so far, in bits, which is the log2 of the perplexity."""
    figure = go.Figure()
    for place, one in enumerate(series):
        total, means = 0.0, []
        for count, logprob in enumerate(one.logprobs, start=1):
            total -= logprob / LOG_2
            means.append(total / count)
        colour = palette(dark).series[place]
        figure.add_scatter(
            x=list(range(1, len(means) + 1)),
            y=means,
            name=literal(one.name),
            mode="lines",
            line={"color": colour, "dash": DASHES[place], "width": 2},
            hovertemplate=say("token {x}: {y} bits", x="%{x}", y="%{y:.2f}")
            + "<extra>%{fullData.name}</extra>",
        )
        if one.parts_at is not None:
            figure.add_scatter(
                x=[one.parts_at + 1],
                y=[means[one.parts_at]],
                mode="markers+text",
                text="≠",
                textposition="top center",
                marker={"color": colour, "symbol": SYMBOLS[place], "size": 10},
                showlegend=False,
                hovertemplate=say("differs from column 1 at token {x}", x="%{x}")
                + "<extra></extra>",
            )
    figure.update_layout(
        template=template(dark),
        height=300,
        xaxis_title=say("token"),
        yaxis_title=say("bits per token so far"),
        yaxis_rangemode="tozero",
    )
    return figure


@dataclass(frozen=True)
class SampleSeries:
    """One metric's values over the texts of a column, and those of a second metric.

    Attributes:
        name: name of the column.
        values: values of the metric, one per text; NaN if a text has none.
        beside: values of the second metric, likewise.
    """

    name: str
    values: Sequence[float]
    beside: Sequence[float] = ()


def spread_figure(series: Sequence[SampleSeries], metric: str, dark: bool = False) -> go.Figure:
    """Draw a box plot for each column, with every text as a point next to it."""
    figure = go.Figure()
    for place, one in enumerate(series):
        colour = palette(dark).series[place]
        values = [value for value in one.values if math.isfinite(value)]
        figure.add_box(
            y=values,
            name=literal(one.name, 26),
            boxpoints="all",
            jitter=0.5,
            pointpos=-1.6,
            fillcolor="rgba(0,0,0,0)",
            line={"color": colour, "width": 1.5},
            marker={"color": colour, "symbol": SYMBOLS[place], "size": 6, "opacity": 0.75},
            hovertemplate="%{y:.3g}<extra>%{fullData.name}</extra>",
        )
    figure.update_layout(
        template=template(dark), height=340, showlegend=False, yaxis_title=literal(metric)
    )
    return figure


def balance_figure(
    series: Sequence[SampleSeries], metric: str, beside: str, dark: bool = False
) -> go.Figure:
    """Plot two metrics against each other: a small point per text, a large one per column mean."""
    figure = go.Figure()
    for place, one in enumerate(series):
        colour, symbol = palette(dark).series[place], SYMBOLS[place]
        points = [
            (x, y)
            for x, y in zip(one.beside, one.values, strict=True)
            if math.isfinite(x) and math.isfinite(y)
        ]
        if not points:
            continue
        xs, ys = zip(*points, strict=True)
        for xs_shown, ys_shown, size, opacity, is_mean in (
            (xs, ys, 6, 0.4, False),
            ([sum(xs) / len(xs)], [sum(ys) / len(ys)], 15, 1.0, True),
        ):
            figure.add_scatter(
                x=list(xs_shown),
                y=list(ys_shown),
                name=literal(one.name),
                mode="markers",
                showlegend=is_mean,
                legendgroup=str(place),
                marker={
                    "color": colour,
                    "symbol": symbol,
                    "size": size,
                    "opacity": opacity,
                    "line": {"color": palette(dark).ground, "width": 1},
                },
                hovertemplate=(
                    f"%{{x:.3g}}, %{{y:.3g}}<extra>%{{fullData.name}}"
                    f"{', ' + say('mean') if is_mean else ''}</extra>"
                ),
            )
    figure.update_layout(
        template=template(dark),
        height=340,
        xaxis_title=literal(beside),
        yaxis_title=literal(metric),
    )
    return figure
