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
from ui.claims.inputs import PromptsInputs, lines
from ui.labs import fields
from ui.measurements.held import Held
from ui.measurements.measured import chart, sheet
from ui.measurements.section import Shown, Table
from ui.words.labels import token_label

PROMPTS = """Once upon a time, there was a little
The old house stood
In the middle of the forest
One day, the king
The girl opened the box and found
My favourite thing in the world is"""


@dataclass(frozen=True)
class WaysInputs(PromptsInputs):
    """What is computed in several ways.

    Attributes, besides prediction and prompts:
        tokens: of each text.
        batch: rows of the batch.
    """

    prompts: str = PROMPTS
    tokens: int = 16
    batch: int = 8


def _experiment(model: LanguageModel, inputs: WaysInputs) -> DeterminismExperiment:
    return DeterminismExperiment(model, lines(inputs.prompts), inputs.tokens, inputs.batch)


def _fields(held: Held) -> None:
    fields.text(held, "prompts", "Prompts, one a line", height=150)
    with fields.row():
        fields.whole(held, "tokens", "Tokens of a text", 1, MOST_TOKENS)
        fields.whole(held, "batch", "Batch", 2, MOST_BATCH, help="Rows, all with the same text.")


def differences_figure(result: Determinism, dark: bool = False) -> go.Figure:
    """Largest difference of a logit at each step over all texts, by way."""
    colours = palette(dark)
    figure = go.Figure()
    for place, way in enumerate(result.ways):
        columns = zip(*(one.steps for one in result.of_way(way)), strict=True)
        figure.add_scatter(
            y=[max(column) or None for column in columns],  # 0 has no place among powers of ten
            x0=1,
            name=way,
            mode="lines+markers",
            marker={"symbol": SYMBOLS[place], "size": 7},
            line={"color": colours.series[place], "dash": DASHES[place]},
            hovertemplate="step %{x}: %{y:.2g}<extra>%{fullData.name}</extra>",
        )
    figure.update_layout(
        template=template(dark),
        height=320,
        showlegend=True,
        xaxis={"title": "step"},
        yaxis={"title": "difference of a logit", "type": "log", "exponentformat": "power"},
    )
    return figure


def _picture(result: Determinism, shown: Shown) -> None:
    if not shown.is_running:
        chart(
            f"{shown.name}_differences",
            "Differences from the first text",
            "The largest of all texts, in powers of ten. A difference of 0 has no dot.",
            differences_figure(result, shown.dark),
        )
    if result.left_out:
        st.info(result.left_out)
    with st.expander("The texts"):
        sheet(_texts(result))


def _texts(result: Determinism) -> Table:
    rows = [
        (
            one.prompt,
            one.way,
            max(one.steps),
            None if one.first is None else one.first + 1,
            *_tokens(one),
        )
        for one in result.compared
    ]
    head = ("prompt", "way", "largest difference", "first other token", "first text", "this way")
    return Table("Texts", head, rows)


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
