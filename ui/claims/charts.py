"""Charts of claims: one of all figures behind a verdict, and additional ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import Any

import plotly.graph_objects as go

from engine.claims import CROSSES, NO, NOTED, OPEN, YES, Chart, Check, Figure, counted
from ui.cache.bytes import bytes_figure
from ui.cache.prefill_and_decode.charts import time_figure
from ui.cache.with_and_without import latency_figure
from ui.charts.template import DASHES, SYMBOLS, literal, palette, template
from ui.claims.words import ClaimWords, interval, shown
from ui.shell.theme import colour
from ui.words.language import localised, marked, say

LINE = 18  # height of a line of text in pixels
MOST_CHARACTERS = 56  # per line: about as many as fit on a phone's screen
# Look of a bar by its figure's answer to the claim: colour, pattern, sign.
FILLS = {
    YES: ("kept", "", "✓ "),
    NO: ("cut", "x", "✗ "),
    OPEN: ("muted", "/", "? "),
    "": ("muted", "", ""),
}

# Charts of the cache page, by claim: title, a sentence, and a function that draws the result.
PICTURES: dict[str, tuple[str, str, Callable[..., go.Figure]]] = {
    "output_time": (
        marked("Total time"),
        marked(
            "How far the lines rise is what output tokens add; how far apart they lie is "
            "what prompt tokens add."
        ),
        time_figure,
    ),
    "cached_flat": (
        marked("Time per step"),
        marked("A cross marks a step that stands out among its neighbours."),
        latency_figure,
    ),
    "long_context": (
        marked("Bytes of the cache"),
        marked("Each dot is counted in memory; the line is computed from the configuration."),
        lambda measured, dark: bytes_figure(measured, (), dark),
    ),
}


def checks_figure(words: ClaimWords, checks: Sequence[Check], dark: bool = False) -> go.Figure:
    """Draw every figure as a bar below its description, with its interval and the claim's bound.

    Each unit has its own scale: bars are drawn relative to the largest value in that unit.
    """
    ink = palette(dark)
    y, texts = 0.0, []
    kinds = {name: words.figures[name].kind for name in dict.fromkeys(one.name for one in checks)}
    scales = dict.fromkeys(kinds.values(), 1e-12)
    for check in checks:
        found = check.figure
        ends = (abs(end) for end in (found.value, found.low, found.high, check.bound))
        scales[kinds[check.name]] = max(scales[kinds[check.name]], *filter(math.isfinite, ends))
    rows: list[tuple[Check, float, str]] = []  # with the bar's y position and its text
    for name in kinds:
        y = _write(texts, say(words.figures[name].name), y, ink.muted)
        for check in checks:
            if check.name == name:
                said = _said(words, check)
                y = _write(texts, said, y, ink.text)
                rows.append((check, y + 0.4, said))
                y += 0.9
        y += 0.4
    shares = [_share(check.figure, scales[kinds[check.name]]) for check, _, _ in rows]
    fills = [_fill(check) for check, _, _ in rows]
    figure = go.Figure()
    figure.add_bar(
        x=[share.value for share in shares],
        y=[place for _, place, _ in rows],
        error_x=whiskers(shares) | {"color": ink.text},
        orientation="h",
        width=0.6,
        marker={
            "color": [colour(name, dark=dark) for name, _, _ in fills],
            "pattern": {"shape": [pattern for _, pattern, _ in fills]},
        },
        customdata=[literal(said) for _, _, said in rows],
        hovertemplate="%{customdata}<extra></extra>",
    )
    line = {"color": ink.text, "dash": "dot", "width": 2}
    bounds = [  # all at once, as each addition makes Plotly check the existing ones
        {"x0": x, "x1": x, "y0": place - 0.45, "y1": place + 0.45, "line": line}
        for check, place, _ in rows
        if check.side != NOTED
        for x in (check.bound / scales[kinds[check.name]],)
    ]
    figure.update_layout(
        template=template(dark),
        height=20 + round(LINE * y),
        margin={"t": 10},
        showlegend=False,
        annotations=texts,
        shapes=bounds,
        xaxis={"showticklabels": False, "showgrid": False},
        yaxis={"range": [y, 0], "visible": False},
    )
    return figure


def _write(texts: list[dict[str, Any]], text: str, y: float, ink: str) -> float:
    """Add a text at height `y`, from the left edge on; returns the height below it."""
    lines = wrap(text, MOST_CHARACTERS)
    texts.append(
        {
            "text": "<br>".join(map(literal, lines)),
            **{"x": 0, "xref": "paper", "xanchor": "left", "align": "left"},
            **{"y": y, "yanchor": "top", "showarrow": False, "borderpad": 0},
            "font": {"size": 12, "color": ink},
        }
    )
    return y + len(lines)


def _said(words: ClaimWords, check: Check) -> str:
    """Format a figure: sign of its answer to the claim, part, value, interval."""
    name, found = words.figures[check.name], check.figure
    said = str(localised(name.said(found.value)))
    if found.low != found.high:
        said = f"{said} ({interval(found, name)})"
    if check.part:
        said = f"{shown(check.part)}: {said}"
    return _fill(check)[2] + said


def _fill(check: Check) -> tuple[str, str, str]:
    """Return the entry of `FILLS`; an undecided condition counts as not met."""
    return FILLS[NO if check.is_condition and check.answer == OPEN else check.answer]


def _share(found: Figure, scale: float) -> Figure:
    value, low, high = (one / scale for one in (found.value, found.low, found.high))
    return replace(found, value=value, low=low, high=high)


def chart_figure(chart: Chart, dark: bool = False) -> go.Figure:
    """Draw one of a claim's additional charts."""
    ink, figure = palette(dark), go.Figure()
    x, y, place, least = say(chart.x), say(chart.y), -1, math.inf
    for series in chart.series:
        is_cross = series.form == CROSSES
        place += not is_cross
        found = [one if isinstance(one, Figure) else _exact(one) for _, one in series.points]
        least = min([least, *(one.value for one in found)])
        name, hue = literal(shown(series.name), 40), ink.series[place % len(ink.series)]
        hover = f"{x}: %{{x}}<br>{y}: %{{y{':.0%' if chart.is_share else ''}}}"
        figure.add_scatter(
            x=[x for x, _ in series.points],
            y=[None if math.isnan(one.value) else one.value for one in found],
            error_y=whiskers(found),
            customdata=[literal(shown(label), 30) for label in series.labels],
            name=name,
            showlegend=bool(name),
            mode="markers" if is_cross else series.form,
            marker={
                "symbol": "x" if is_cross else SYMBOLS[place % len(SYMBOLS)],
                "size": 8,
                "color": hue,
            },
            line={"color": hue, "dash": DASHES[place % len(DASHES)]},
            hovertemplate=("%{customdata}<br>" if series.labels else "")
            + f"{hover}<extra>{name}</extra>",
        )
    for edge in chart.edges:
        figure.add_vline(edge, line={"color": ink.muted, "dash": "dot"})
    powers = {"type": "log", "dtick": 1}
    upright = powers | ({"exponentformat": "power"} if least < 0.1 else {})
    share = {"range": [0, 1.05], "tickformat": ".0%"}
    figure.update_layout(
        template=template(dark),
        height=320,
        xaxis={"title": x, **(powers if "x" in chart.logs else {"rangemode": "tozero"})},
        yaxis={"title": y, **(upright if "y" in chart.logs else share if chart.is_share else {})},
    )
    return figure


def _exact(value: float | None) -> Figure:
    return counted(math.nan if value is None else value, 1)


def whiskers(figures: Sequence[Figure]) -> dict[str, Any]:
    """Return the figures' intervals as Plotly error bars; an unknown interval gets none."""
    pairs = [
        (one.high - one.value, one.value - one.low) if math.isfinite(one.high - one.low) else (0, 0)
        for one in figures
    ]
    return {
        "symmetric": False,
        "array": [above for above, _ in pairs],
        "arrayminus": [below for _, below in pairs],
        "thickness": 1.5,
        "visible": any(above or below for above, below in pairs),
    }
