"""The roofline: operations a second against operations per byte, both by powers of ten."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from engine.measure.roofline.results import BATCH, DECODE, PREFILL, Pass, Roofline
from ui.cache.roofline.tables import bandwidth_text, pass_name, rate_text
from ui.charts.template import SYMBOLS, Palette, literal, palette, template
from ui.measurements.section import Laid
from ui.words.language import marked, say

GIGA = 1e9
KINDS = {PREFILL: marked("prefill"), DECODE: marked("decode"), BATCH: marked("batch")}


def roofline_figure(
    result: Roofline, dark: bool = False, other: Laid[Roofline] | None = None
) -> go.Figure:
    """Ceilings as lines, passes as points; another machine's dashed and open."""
    colours = palette(dark)
    figure = go.Figure()
    every = [*result.passes, *(other.result.passes if other else ())]
    low = min((one.intensity for one in every), default=1.0) / 3
    high = max([one.intensity for one in every] + [result.ridge or 1.0]) * 4
    if other is not None:
        _roof(figure, other.result, (low, high), colours, literal(other.name, 40))
        _points(figure, other.result, colours, literal(other.name, 40))
    _roof(figure, result, (low, high), colours)
    _points(figure, result, colours)
    least = min((one.rate for one in every), default=result.peak.best) / GIGA
    figure.update_layout(
        template=template(dark),
        height=460,
        xaxis={
            "title": say("arithmetic intensity, operations per byte"),
            "type": "log",
            "range": [math.log10(low), math.log10(high)],
            "dtick": 1,
        },
        yaxis={
            "title": say("GFLOP/s"),
            "type": "log",
            "range": [
                math.log10(least / 3),
                math.log10(max(_tops(result) + (_tops(other.result) if other else [])) * 4),
            ],
            "dtick": 1,
        },
    )
    return figure


def _tops(result: Roofline) -> list[float]:
    return [result.peak.best / GIGA] if result.peak else [1.0]


def _roof(
    figure: go.Figure,
    result: Roofline,
    ends: tuple[float, float],
    colours: Palette,
    machine: str = "",
) -> None:
    """The two ceilings as one line, and the memory ceiling of as little as the weights."""
    if result.peak is None or result.bandwidth is None:
        return
    low, high = ends
    places = [low, min(max(result.ridge, low), high), high]
    figure.add_scatter(
        x=places,
        y=[result.roof(place) / GIGA for place in places],
        mode="lines",
        name=say("roof of {machine}", machine=machine) if machine else say("roof"),
        line={"color": colours.text, "width": 2.2, "dash": "dash" if machine else "solid"},
        hoverinfo="skip",
    )
    if machine:
        return
    at = low * 1.2
    memory = say("memory {bandwidth}", bandwidth=bandwidth_text(result.bandwidth))
    _label(figure, (at, result.roof(at)), memory, colours, xanchor="left", yanchor="top")
    products = say("{dtype} products {rate}", dtype=result.peak.dtype, rate=rate_text(result.peak))
    _label(figure, (high, result.peak.best), products, colours, xanchor="right", yanchor="bottom")
    small = result.small_bandwidth
    if small is not None and small.best > result.bandwidth.best:
        edge = min(result.peak.best / small.best, high)
        figure.add_scatter(
            x=[low, edge],
            y=[low * small.best / GIGA, edge * small.best / GIGA],
            mode="lines",
            name=say("as little memory as the weights, {small}", small=bandwidth_text(small)),
            line={"color": colours.muted, "width": 1.4, "dash": "dot"},
            hoverinfo="skip",
        )


def _label(
    figure: go.Figure, place: tuple[float, float], text: str, colours: Palette, **anchors: str
) -> None:
    intensity, rate = place
    figure.add_annotation(
        x=math.log10(intensity),
        y=math.log10(rate / GIGA),
        text=text,
        showarrow=False,
        font={"color": colours.text, "size": 12},
        **anchors,
    )


def _points(figure: go.Figure, result: Roofline, colours: Palette, machine: str = "") -> None:
    for place, (kind, name) in enumerate(KINDS.items()):
        passes = result.of_kind(kind)
        if not passes:
            continue
        symbol, name = SYMBOLS[place], say(name)
        figure.add_scatter(
            x=[one.intensity for one in passes],
            y=[one.rate / GIGA for one in passes],
            mode="markers" if machine or kind == DECODE else "markers+text",
            name=f"{name}, {machine}" if machine else name,
            text=[_short(one) for one in passes],
            textposition="bottom right" if kind == PREFILL else "top left",
            textfont={"size": 11, "color": colours.muted},
            marker={
                "symbol": f"{symbol}-open" if machine else symbol,
                "size": 10,
                "color": colours.series[place],
                "line": {"width": 1.5, "color": colours.series[place]},
            },
            customdata=[[pass_name(one), one.seconds * 1e3] for one in passes],
            hovertemplate=(
                say(
                    "%{customdata[0]}: %{x:.2f} operations per byte, %{y:.2f} GFLOP/s, "
                    "%{customdata[1]:.2f} ms<extra></extra>"
                )
            ),
        )


def _short(one: Pass) -> str:
    return f"{one.tokens:,}" if one.kind == PREFILL else f"{one.rows:,}"
