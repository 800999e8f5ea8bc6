"""Charts of time to first token by prompt length, and total time by output length."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from engine.measure import Cell, PrefillAndDecode, median
from ui.charts.template import SYMBOLS, Palette, literal, palette, template
from ui.measurements.section import Laid
from ui.words.language import say


def wait_figure(
    result: PrefillAndDecode, dark: bool = False, other: Laid[PrefillAndDecode] | None = None
) -> go.Figure:
    """Chart milliseconds to the first token by prompt length, from the rounds of all outputs."""
    colours = palette(dark)
    figure = _figure(dark, say("prompt tokens"), say("milliseconds to the first token"))
    _waits(figure, result, colours, say("this machine"))
    if other is not None:
        _waits(figure, other.result, colours, literal(other.name, 40), is_other=True)
    return figure


def _waits(
    figure: go.Figure,
    result: PrefillAndDecode,
    colours: Palette,
    name: str,
    *,
    is_other: bool = False,
) -> None:
    prompts = [n for n in result.prompts if any(one.prompt == n for one in result.cells)]
    times = [[ms for c in result.cells if c.prompt == n for ms in c.first_ms] for n in prompts]
    _line(figure, prompts, times, colours.series[0], name, is_other=is_other)


def time_figure(
    result: PrefillAndDecode, dark: bool = False, other: Laid[PrefillAndDecode] | None = None
) -> go.Figure:
    """Chart total milliseconds by number of output tokens, with a line for each prompt length."""
    colours = palette(dark)
    figure = _figure(dark, say("output tokens"), say("milliseconds in all"))
    _totals(figure, result, colours, "")
    if other is not None:
        _totals(figure, other.result, colours, literal(other.name, 40))
    return figure


def _totals(figure: go.Figure, result: PrefillAndDecode, colours: Palette, machine: str) -> None:
    for place, prompt in enumerate(result.prompts):
        cells = sorted(
            (one for one in result.cells if one.prompt == prompt), key=lambda one: one.output
        )
        if not cells:
            continue
        name = say("{prompt} prompt tokens", prompt=f"{prompt:,}")
        _line(
            figure,
            [one.output for one in cells],
            [_rounds(one) for one in cells],
            colours.series[place % len(colours.series)],
            f"{name}, {machine}" if machine else name,
            symbol=SYMBOLS[place % len(SYMBOLS)],
            is_other=bool(machine),
        )


def _rounds(cell: Cell) -> list[float]:
    return [sum(pair) for pair in zip(cell.first_ms, cell.later_ms, strict=True)]


def _line(
    figure: go.Figure,
    places: Sequence[int],
    times: Sequence[Sequence[float]],
    colour: str,
    name: str,
    *,
    symbol: str = SYMBOLS[0],
    is_other: bool,
) -> None:
    middles = [median(one) for one in times]
    figure.add_scatter(
        x=list(places),
        y=middles,
        name=name,
        mode="lines+markers",
        line={"color": colour, "dash": "dash" if is_other else "solid"},
        marker={"symbol": symbol, "size": 8},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [max(one) - middle for middle, one in zip(middles, times, strict=True)],
            "arrayminus": [middle - min(one) for middle, one in zip(middles, times, strict=True)],
            "thickness": 1,
        },
        hovertemplate=say("%{x:,} tokens: %{y:.1f} ms<extra></extra>"),
    )


def _figure(dark: bool, x: str, y: str) -> go.Figure:
    figure = go.Figure()
    figure.update_layout(
        template=template(dark),
        height=340,
        xaxis={"title": x, "rangemode": "tozero"},
        yaxis={"title": y, "rangemode": "tozero"},
        showlegend=True,
    )
    return figure
