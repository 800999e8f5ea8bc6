"""The claim that a higher temperature is more random, not more often right."""

from __future__ import annotations

from dataclasses import dataclass

import plotly.graph_objects as go
import streamlit as st

from engine.claims.experiments.temperature import TemperatureExperiment, Temperatures
from engine.model import LanguageModel
from ui.charts.template import DASHES, SYMBOLS, palette, template
from ui.claims.charts import whiskers
from ui.claims.claim import claim
from ui.claims.facts import FactsInputs, facts_field, facts_of
from ui.claims.inputs import numbers
from ui.claims.words import part_said
from ui.labs import fields
from ui.measurements.held import Held
from ui.measurements.measured import chart
from ui.measurements.section import Shown, Table
from ui.words.language import say


@dataclass(frozen=True)
class TemperatureInputs(FactsInputs):
    """What is asked.

    Attributes, besides prediction and facts:
        temperatures: with commas between them.
    """

    temperatures: str = "0.25, 0.5, 1, 1.5, 2"


def _experiment(model: LanguageModel, inputs: TemperatureInputs) -> TemperatureExperiment:
    temperatures = numbers(say("Temperatures"), inputs.temperatures)
    return TemperatureExperiment(model, facts_of(inputs.facts), temperatures)


def _fields(held: Held) -> None:
    facts_field(held)
    fields.line(held, "temperatures", say("Temperatures"))


def score_figure(result: Temperatures, dark: bool = False) -> go.Figure:
    """Probability of a right answer against the temperature, by kind of fact."""
    colours = palette(dark)
    figure = go.Figure()
    for place, group in enumerate(result.groups):
        figures = [result.right(n, group) for n in range(len(result.temperatures))]
        figure.add_scatter(
            x=list(result.temperatures),
            y=[one.value for one in figures],
            error_y=whiskers(figures),
            name=part_said(group),
            mode="lines+markers",
            marker={"symbol": SYMBOLS[place % len(SYMBOLS)], "size": 9},
            line={
                "color": colours.series[place % len(colours.series)],
                "dash": DASHES[place % len(DASHES)],
            },
            hovertemplate="T = %{x}: %{y:.0%}<extra>%{fullData.name}</extra>",
        )
    figure.update_layout(
        template=template(dark),
        height=300,
        xaxis={"title": say("temperature"), "rangemode": "tozero"},
        yaxis={"title": say("a draw is right"), "range": [0, 1.05], "tickformat": ".0%"},
    )
    return figure


def entropy_figure(result: Temperatures, dark: bool = False) -> go.Figure:
    """Mean entropy of the first token against the temperature."""
    figures = [result.bits(n) for n in range(len(result.temperatures))]
    figure = go.Figure()
    figure.add_scatter(
        x=list(result.temperatures),
        y=[one.value for one in figures],
        error_y=whiskers(figures),
        mode="lines+markers",
        marker={"size": 9},
        line={"color": palette(dark).series[0]},
        hovertemplate="T = %{x}: " + say("{count} bits", count="%{y:.2f}") + "<extra></extra>",
    )
    figure.update_layout(
        template=template(dark),
        height=300,
        xaxis={"title": say("temperature"), "rangemode": "tozero"},
        yaxis={"title": say("entropy, bits"), "rangemode": "tozero"},
    )
    return figure


def _picture(result: Temperatures, shown: Shown) -> None:
    if shown.is_running:
        return
    left, right = st.columns(2)
    with left:
        chart(
            f"{shown.name}_score",
            say("Right answers"),
            say("Exact: the probability that a draw is a right answer. Whiskers are 95 %."),
            score_figure(result, shown.dark),
        )
    with right:
        chart(
            f"{shown.name}_entropy",
            say("Random"),
            say("Uncertainty of the first token that is drawn."),
            entropy_figure(result, shown.dark),
        )


def _scores(result: Temperatures) -> Table:
    rows = [(one.fact.question, part_said(one.fact.group), *one.right) for one in result.scored]
    head = (
        say("question"),
        say("kind"),
        *(say("right at T = {t}", t=f"{one:g}") for one in result.temperatures),
    )
    return Table(say("Scores"), head, rows)


SECTION = claim(
    "temperature",
    inputs=TemperatureInputs,
    result=Temperatures,
    experiment=_experiment,
    fields=_fields,
    picture=_picture,
    tables=lambda result: (_scores(result),),
)
