"""Charts of speculative decoding: two distributions, acceptance, speed-up curve, waterfall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from engine.study import Acceptance, SpeedCurve, SpeedPoint
from ui.charts.template import literal, palette, template
from ui.shell import theme
from ui.words.language import marked, say, with_figures

BOTH = marked("shared by both")
TARGET_MORE, DRAFT_MORE = marked("target above draft"), marked("draft above target")
ROW = 26  # height of one bar in pixels


@dataclass(frozen=True)
class TokenBar:
    """One token's probabilities in two distributions.

    Attributes:
        label: the token, with a remark if it was proposed or drawn.
        target, draft: its probability under each model.
    """

    label: str
    target: float
    draft: float


def overlap_figure(bars: Sequence[TokenBar], dark: bool = False) -> go.Figure:
    """Draw each token's two probabilities as one bar: the shared part, and the excess of either."""
    labels = [f"{place}. {literal(bar.label, 24)}" for place, bar in enumerate(bars, start=1)]
    parts = (
        (BOTH, "kept", "", [min(bar.target, bar.draft) for bar in bars]),
        (TARGET_MORE, "chosen", "/", [max(0.0, bar.target - bar.draft) for bar in bars]),
        (DRAFT_MORE, "before", ".", [max(0.0, bar.draft - bar.target) for bar in bars]),
    )
    said = [
        say("target {target}, draft {draft}", target=f"{bar.target:.4g}", draft=f"{bar.draft:.4g}")
        for bar in bars
    ]
    figure = go.Figure()
    for name, colour, pattern, widths in parts:
        figure.add_bar(
            y=labels,
            x=widths,
            name=say(name),
            orientation="h",
            marker={
                "color": theme.colour(colour, dark=dark),
                "pattern": {"shape": pattern, "fgcolor": palette(dark).text, "fillmode": "overlay"},
            },
            customdata=said,
            hovertemplate="%{y}: %{customdata}<extra>%{fullData.name}</extra>",
        )
    figure.update_layout(
        template=template(dark),
        barmode="stack",
        height=96 + ROW * len(bars),
        xaxis={"title": say("probability"), "rangemode": "tozero"},
        yaxis={"autorange": "reversed"},
        legend={"traceorder": "normal"},
    )
    return figure


def acceptance_figure(found: Acceptance, dark: bool = False) -> go.Figure:
    """Chart acceptance by position, conditional and unconditional."""
    colours = palette(dark)
    places = [str(place) for place in range(1, len(found.accepted) + 1)]
    hover = say("position {place}: {share}", place="%{x}", share="%{y:.0%}")
    figure = go.Figure()
    for name, values, pattern, series in (
        (say("of those examined"), found.conditional, "", 0),
        (say("of all rounds with a draft"), found.unconditional, "/", 1),
    ):
        figure.add_bar(
            x=places,
            y=values,
            name=name,
            marker={"color": colours.series[series], "pattern": {"shape": pattern}},
            hovertemplate=hover + "<extra>%{fullData.name}</extra>",
        )
    figure.update_layout(
        template=template(dark),
        barmode="group",
        height=260,
        xaxis={"title": say("position in the draft"), "type": "category"},
        yaxis={"title": say("accepted"), "range": [0, 1], "tickformat": ".0%"},
    )
    return figure


def curve_figure(curve: SpeedCurve, dark: bool = False) -> go.Figure:
    """Chart speed-up by draft length: predicted and measured, with the range over the turns."""
    colours = palette(dark)
    lengths = [point.length for point in curve.points]
    figure = go.Figure()
    for name, values, symbol, dash, series in (
        (say("measured"), [point.measured for point in curve.points], "circle", "solid", 0),
        (say("formula"), [point.predicted for point in curve.points], "square", "dash", 1),
    ):
        figure.add_scatter(
            x=lengths,
            y=values,
            name=name,
            mode="lines+markers",
            marker={"symbol": symbol, "size": 9},
            line={"color": colours.series[series], "dash": dash},
            hovertemplate=say("g = {length}: {times} times", length="%{x}", times="%{y:.2f}")
            + "<extra>%{fullData.name}</extra>",
        )
    pairs = [(point.measured, point.by_turn) for point in curve.points]
    figure.data[0].error_y = {
        "symmetric": False,
        "array": [max(0.0, max(turns) - value) for value, turns in pairs],
        "arrayminus": [max(0.0, value - min(turns)) for value, turns in pairs],
        "thickness": 1,
    }
    _plain_line(figure, "y", dark)
    figure.update_layout(
        template=template(dark),
        height=320,
        xaxis={"title": say("draft length g"), "dtick": 1},
        yaxis={"title": say("speed-up"), "rangemode": "tozero"},
    )
    return figure


def waterfall_figure(point: SpeedPoint, words: dict[str, str], dark: bool = False) -> go.Figure:
    """Draw a waterfall from the tokens per round down to the measured speed-up.

    Args:
        point: the figures of one draft length.
        words: a short name for every loss, marked.
        dark: whether the theme is dark.
    """
    fall = point.waterfall
    rows = [(say("one pass a round"), 0.0, fall.tokens, "t")]
    for loss in fall.losses:
        kind = "loss" if loss.change < 0 else "gain"
        rows.append((say(words[loss.name]), loss.before, loss.after, kind))
        if loss.name == "verification":
            rows.append((say("the formula"), 0, fall.formula, "t"))
    rows.append((say("measured"), 0, fall.measured, "t"))
    looks = {"t": ("kept", "", ""), "loss": ("cut", "/", "−"), "gain": ("cut-2", "x", "+")}
    figure = go.Figure()
    for label, start, end, kind in rows:
        colour, pattern, sign = looks[kind]
        figure.add_bar(
            # Next to the bar, which may be too short for text.
            y=[with_figures(f"{label} {sign}{abs(end - start):.2f}")],
            x=[abs(end - start)],
            base=[min(start, end)],
            orientation="h",
            marker={"color": theme.colour(colour, dark=dark), "pattern": {"shape": pattern}},
            showlegend=False,
            hovertemplate=say(
                "{name}: {low} to {high}", name="%{y}", low=f"{start:.3f}", high=f"{end:.3f}"
            )
            + "<extra></extra>",
        )
    most = max(max(start, end) for _, start, end, _ in rows)
    _plain_line(figure, "x", dark)
    figure.update_layout(
        template=template(dark),
        barmode="overlay",
        height=90 + 30 * len(rows),
        xaxis={"title": say("speed-up over plain decoding"), "range": [0, most * 1.05]},
        yaxis={"autorange": "reversed"},
    )
    return figure


def _plain_line(figure: go.Figure, axis: str, dark: bool) -> None:
    """Draw the line of plain decoding, at a speed-up of 1."""
    line = {"color": palette(dark).muted, "dash": "dot", "width": 2}
    add = figure.add_vline if axis == "x" else figure.add_hline
    place = "top" if axis == "x" else "bottom right"
    add(1, line=line, annotation={"text": say("plain")}, annotation_position=place)
