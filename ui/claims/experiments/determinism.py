"""The claim that determinism is a setting, not a guarantee."""

from __future__ import annotations

from dataclasses import dataclass

import plotly.graph_objects as go
import streamlit as st

from engine.claims.experiments.determinism import (
    MOST_BATCH,
    MOST_TOKENS,
    Compared,
    Determinism,
    DeterminismExperiment,
)
from engine.model import LanguageModel
from ui.charts.template import DASHES, SYMBOLS, palette, template
from ui.claims.claim import claim
from ui.claims.inputs import STORY_PROMPTS, PromptsInputs, lines
from ui.claims.words import part_said
from ui.labs import fields
from ui.measurements.held import Held
from ui.measurements.measured import chart, sheet
from ui.measurements.section import Shown, Table
from ui.words.labels import token_label
from ui.words.language import Literal, say


@dataclass(frozen=True)
class WaysInputs(PromptsInputs):
    """What is computed in several ways.

    Attributes, besides prediction and prompts:
        tokens: of each text.
        batch: rows of the batch.
    """

    prompts: str = STORY_PROMPTS
    tokens: int = 16
    batch: int = 8


def _experiment(model: LanguageModel, inputs: WaysInputs) -> DeterminismExperiment:
    return DeterminismExperiment(model, lines(inputs.prompts), inputs.tokens, inputs.batch)


def _fields(held: Held) -> None:
    fields.text(held, "prompts", say("Prompts, one a line"), height=150)
    with fields.row():
        fields.whole(held, "tokens", say("Tokens of a text"), 1, MOST_TOKENS)
        fields.whole(
            held, "batch", say("Batch"), 2, MOST_BATCH, help=say("Rows, all with the same text.")
        )


def differences_figure(result: Determinism, dark: bool = False) -> go.Figure:
    """Largest difference of a logit at each step over all texts, by way."""
    colours = palette(dark)
    figure = go.Figure()
    hover = say("step {step}: {value}", step="%{x}", value="%{y:.2g}")
    for place, way in enumerate(result.ways):
        columns = zip(*(one.steps for one in result.of_way(way)), strict=True)
        figure.add_scatter(
            y=[max(column) or None for column in columns],  # 0 has no place among powers of ten
            x0=1,
            name=part_said(way),
            mode="lines+markers",
            marker={"symbol": SYMBOLS[place], "size": 7},
            line={"color": colours.series[place], "dash": DASHES[place]},
            hovertemplate=hover + "<extra>%{fullData.name}</extra>",
        )
    figure.update_layout(
        template=template(dark),
        height=320,
        showlegend=True,
        xaxis={"title": say("step")},
        yaxis={"title": say("difference of a logit"), "type": "log", "exponentformat": "power"},
    )
    return figure


def _picture(result: Determinism, shown: Shown) -> None:
    if not shown.is_running:
        chart(
            f"{shown.name}_differences",
            say("Differences from the first text"),
            say("The largest of all texts, in powers of ten. A difference of 0 has no dot."),
            differences_figure(result, shown.dark),
        )
    if result.left_out:
        st.info(say(result.left_out))
    with st.expander(say("The texts")):
        sheet(_texts(result))


def _texts(result: Determinism) -> Table:
    rows = [
        (
            Literal(one.prompt),
            part_said(one.way),
            max(one.steps),
            None if one.first is None else one.first + 1,
            *_tokens(one),
        )
        for one in result.compared
    ]
    head = (
        say("prompt"),
        say("way"),
        say("largest difference"),
        say("first other token"),
        say("first text"),
        say("this way"),
    )
    return Table(say("Texts"), head, rows)


def _tokens(one: Compared) -> tuple[str, str]:
    if one.first is None:
        return "", ""
    return token_label(one.plain), token_label(one.other)


SECTION = claim(
    "determinism",
    inputs=WaysInputs,
    result=Determinism,
    experiment=_experiment,
    fields=_fields,
    picture=_picture,
    tables=lambda result: (_texts(result),),
)
