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
from ui.words.language import Literal, say

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
    temperatures = numbers(say("Temperatures"), inputs.temperatures)
    return TailExperiment(model, lines(inputs.prompts), lines(inputs.words), temperatures)


def _fields(held: Held) -> None:
    fields.text(held, "prompts", say("Prompts, one a line"), height=100)
    fields.text(held, "words", say("Absurd words, one a line"), height=100)
    fields.line(held, "temperatures", say("Temperatures"))


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
            hovertemplate=say(
                "rank {rank}: 10 to the power {power}", rank="%{x:,}", power="%{y:.1f}"
            )
            + "<extra></extra>",
        )
        figure.add_scatter(
            x=[one.rank for one in tail.absurd],
            y=[one.exponent for one in tail.absurd],
            customdata=[literal(one.token, 30) for one in tail.absurd],
            mode="markers",
            showlegend=False,
            marker={"symbol": "x", "size": 10, "color": colour},
            hovertemplate="“%{customdata}”, "
            + say("rank {rank}: 10 to the power {power}", rank="%{x:,}", power="%{y:.1f}")
            + "<extra></extra>",
        )
    figure.update_layout(
        template=template(dark),
        height=340,
        xaxis={"title": say("rank"), "type": "log", "dtick": 1},
        yaxis={"title": say("probability, power of ten")},
    )
    return figure


def _picture(result: Tails, shown: Shown) -> None:
    if not shown.is_running:
        chart(
            f"{shown.name}_tail",
            say("The whole vocabulary"),
            say(
                "Every token has a place on the curve of its prompt. The crosses are the "
                "absurd words."
            ),
            tail_figure(result, shown.dark),
        )
    sheet(_absurd(result))


def _absurd(result: Tails) -> Table:
    rows = [
        (
            Literal(tail.prompt),
            token_label(one.token),
            one.rank,
            with_minus(f"10^{one.exponent:.1f}"),
            f"10^{-one.exponent:.1f}",
        )
        for tail in result.tails
        for one in tail.absurd
    ]
    head = (
        say("prompt"),
        say("absurd token"),
        say("rank"),
        say("probability"),
        say("draws until it comes once"),
    )
    return Table(say("Absurd words"), head, rows)


SECTION = claim(
    "tail",
    inputs=TailInputs,
    result=Tails,
    experiment=_experiment,
    fields=_fields,
    picture=_picture,
    tables=lambda result: (_absurd(result),),
)
