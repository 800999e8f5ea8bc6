"""The claim that output is slower than input."""

from __future__ import annotations

from dataclasses import dataclass

import plotly.graph_objects as go

from engine.claims.experiment import Experiment
from engine.claims.experiments.output_slower import (
    OutputSlower,
    decode,
    output_slower_experiment,
    prefill,
)
from engine.measure.prefill_and_decode import MOST_ROUNDS, MOST_TOKENS
from engine.model import LanguageModel
from ui.charts.template import DASHES, SYMBOLS, palette, template
from ui.claims.charts import whiskers
from ui.claims.claim import claim
from ui.claims.inputs import ClaimInputs, wholes
from ui.labs import fields
from ui.measurements.held import Held
from ui.measurements.measured import chart
from ui.measurements.section import Shown, Table
from ui.words.language import say


@dataclass(frozen=True)
class SpeedInputs(ClaimInputs):
    """What is timed.

    Attributes, besides the prediction:
        prompts: lengths in tokens, with commas between them.
        output: tokens written after each.
        rounds: how often each is measured.
    """

    prompts: str = "8, 32, 128, 256"
    output: int = 24
    rounds: int = 6


def _experiment(model: LanguageModel, inputs: SpeedInputs) -> Experiment[OutputSlower]:
    prompts = wholes(say("Prompt tokens"), inputs.prompts)
    return output_slower_experiment(model, prompts, inputs.output, inputs.rounds)


def _fields(held: Held) -> None:
    with fields.row():
        fields.line(held, "prompts", say("Prompt tokens"))
        fields.whole(held, "output", say("Output tokens"), 2, MOST_TOKENS)
        fields.whole(held, "rounds", say("Rounds"), 1, MOST_ROUNDS)


def speed_figure(result: OutputSlower, dark: bool = False) -> go.Figure:
    """Tokens a second that are read and written, against the length of the prompt."""
    colours = palette(dark)
    figure = go.Figure()
    series = ((say("prefill: tokens read"), prefill), (say("decode: tokens written"), decode))
    for place, (name, rate) in enumerate(series):
        figures = [rate(cell) for cell in result.cells]
        figure.add_scatter(
            x=[cell.prompt for cell in result.cells],
            y=[one.value for one in figures],
            error_y=whiskers(figures),
            name=name,
            mode="lines+markers",
            marker={"symbol": SYMBOLS[place], "size": 9},
            line={"color": colours.series[place], "dash": DASHES[place]},
            hovertemplate=say(
                "{count} prompt tokens: {rate} tokens/s", count="%{x:,}", rate="%{y:,.0f}"
            )
            + "<extra>%{fullData.name}</extra>",
        )
    figure.update_layout(
        template=template(dark),
        height=320,
        xaxis={"title": say("prompt tokens"), "rangemode": "tozero"},
        yaxis={"title": say("tokens per second"), "type": "log"},
    )
    return figure


def _picture(result: OutputSlower, shown: Shown) -> None:
    if not shown.is_running:
        chart(
            f"{shown.name}_speed",
            say("Tokens per second"),
            say("Powers of ten. Whiskers are 95 %, from the rounds."),
            speed_figure(result, shown.dark),
        )


def _times(result: OutputSlower) -> Table:
    rows = [
        (cell.prompt, cell.output, number, first, later)
        for cell in result.cells
        for number, (first, later) in enumerate(
            zip(cell.first_ms, cell.later_ms, strict=True), start=1
        )
    ]
    head = (
        say("prompt tokens"),
        say("output tokens"),
        say("round"),
        say("first token, ms"),
        say("later tokens, ms"),
    )
    return Table(say("Times"), head, rows)


SECTION = claim(
    "output_slower",
    inputs=SpeedInputs,
    result=OutputSlower,
    experiment=_experiment,
    fields=_fields,
    picture=_picture,
    tables=lambda result: (_times(result),),
)
