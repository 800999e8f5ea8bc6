"""The claim that the tail is never zero."""

from __future__ import annotations

from dataclasses import dataclass

import plotly.graph_objects as go

from engine.claims.experiments.tail import TailExperiment, Tails
from engine.model import LanguageModel
from ui.charts.template import DASHES, literal, palette, template
from ui.claims.claim import claim
from ui.claims.inputs import PromptsInputs, lines, numbers
from ui.labs import fields
from ui.measurements.held import Held
from ui.measurements.measured import chart, sheet
from ui.measurements.section import Shown, Table
from ui.words.labels import token_label, with_minus

PROMPTS = """The capital of France is
Once upon a time, there was a little
Two and two make"""
WORDS = """banana
parliament
thermometer"""


@dataclass(frozen=True)
class TailInputs(PromptsInputs):
    """What is looked at.

    Attributes, besides prediction and prompts:
        words: absurd ones, one a line.
        temperatures: of the softmax, with commas between them.
    """

    prompts: str = PROMPTS
    words: str = WORDS
    temperatures: str = "0.2, 0.7, 1"


def _experiment(model: LanguageModel, inputs: TailInputs) -> TailExperiment:
    temperatures = numbers("Temperatures", inputs.temperatures)
    return TailExperiment(model, lines(inputs.prompts), lines(inputs.words), temperatures)


def _fields(held: Held) -> None:
    fields.text(held, "prompts", "Prompts, one a line", height=100)
    fields.text(held, "words", "Absurd words, one a line", height=100)
    fields.line(held, "temperatures", "Temperatures")


def tail_figure(result: Tails, dark: bool = False) -> go.Figure:
    """The probability of every rank after each prompt; the absurd words as crosses."""
    colours = palette(dark)
    figure = go.Figure()
    for place, tail in enumerate(result.tails):
        colour = colours.series[place % len(colours.series)]
        figure.add_scatter(
            x=list(tail.ranks),
            y=list(tail.exponents),
            name=literal(tail.prompt, 40),
            mode="lines",
            line={"color": colour, "dash": DASHES[place % len(DASHES)]},
            hovertemplate="rank %{x:,}: 10 to the power %{y:.1f}<extra></extra>",
        )
        figure.add_scatter(
            x=[one.rank for one in tail.absurd],
            y=[one.exponent for one in tail.absurd],
            customdata=[literal(one.token, 30) for one in tail.absurd],
            mode="markers",
            showlegend=False,
            marker={"symbol": "x", "size": 10, "color": colour},
            hovertemplate="“%{customdata}”: rank %{x:,}, 10 to the power %{y:.1f}<extra></extra>",
        )
    figure.update_layout(
        template=template(dark),
        height=340,
        xaxis={"title": "rank", "type": "log", "dtick": 1},
        yaxis={"title": "probability, power of ten"},
    )
    return figure


def _picture(result: Tails, shown: Shown) -> None:
    if not shown.is_running:
        chart(
            f"{shown.name}_tail",
            "The whole vocabulary",
            "Every token has a place on the curve of its prompt. The crosses are the absurd words.",
            tail_figure(result, shown.dark),
        )
    sheet(_absurd(result))


def _absurd(result: Tails) -> Table:
    rows = [
        (
            tail.prompt,
            token_label(one.token),
            one.rank,
            with_minus(f"10^{one.exponent:.1f}"),
            f"10^{-one.exponent:.1f}",
        )
        for tail in result.tails
        for one in tail.absurd
    ]
    head = ("prompt", "absurd token", "rank", "probability", "draws until it comes once")
    return Table("Absurd words", head, rows)


SECTION = claim(
    "tail",
    inputs=TailInputs,
    result=Tails,
    experiment=_experiment,
    fields=_fields,
    picture=_picture,
    tables=lambda result: (_absurd(result),),
)
