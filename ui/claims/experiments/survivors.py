"""What a fixed k and the nucleus keep: two claims on the same experiment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import plotly.graph_objects as go

from engine.claims.experiments.survivors import (
    MOST_TEXTS,
    MOST_TOKENS,
    FixedK,
    NucleusAdapts,
    Survivors,
    SurvivorsExperiment,
)
from engine.model import LanguageModel
from ui.charts.template import literal, palette, template
from ui.claims.claim import claim
from ui.claims.inputs import PromptsInputs, lines
from ui.labs import fields
from ui.measurements.held import Held
from ui.measurements.measured import chart
from ui.measurements.section import Section, Shown, Table
from ui.words.language import say

PROMPTS = """Once upon a time, there was a little
The capital of France is
In the middle of the forest
User: Hello!
The history of
She opened the box and"""


@dataclass(frozen=True)
class SurvivorsInputs(PromptsInputs):
    """What is written, and which samplers look at it.

    Attributes, besides prediction and prompts:
        tokens: of each text.
        texts: of each prompt.
        top_k, top_p: of the samplers.
    """

    prompts: str = PROMPTS
    tokens: int = 48
    texts: int = 3
    top_k: int = 40
    top_p: float = 0.9


def _fields(held: Held) -> None:
    fields.text(held, "prompts", say("Prompts, one a line"), height=150)
    with fields.row():
        fields.whole(held, "top_k", say("Top-k"), 1, held.model.vocab_size)
        fields.real(held, "top_p", say("Top-p"), step=0.05)
        fields.whole(held, "tokens", say("Tokens of a text"), 1, MOST_TOKENS)
        fields.whole(held, "texts", say("Texts of each prompt"), 1, MOST_TEXTS)


def steps_figure(result: Survivors, dark: bool = False) -> go.Figure:
    """Every step: tokens in the nucleus against the entropy, and the line of the fixed k."""
    colours = palette(dark)
    low, high = result.edges
    figure = go.Figure()
    figure.add_scatter(
        x=[bits for text in result.texts for bits in text.bits],
        y=[size for text in result.texts for size in text.nucleus],
        customdata=[literal(label, 30) for text in result.texts for label in text.tokens],
        name=say("nucleus, p = {p}", p=f"{result.top_p:g}"),
        mode="markers",
        marker={"size": 6, "color": colours.series[0], "opacity": 0.6},
        hovertemplate=say(
            "before {token}: {count} tokens, {bits} bits",
            token="“%{customdata}”",
            count="%{y:,}",
            bits="%{x:.2f}",
        )
        + "<extra></extra>",
    )
    widest = max(max(text.bits) for text in result.texts)
    figure.add_scatter(
        x=[0, widest],
        y=[result.top_k, result.top_k],
        name=say("top-k, k = {k}", k=f"{result.top_k:,}"),
        mode="lines",
        line={"color": colours.series[1], "dash": "dash", "width": 2},
        hoverinfo="skip",
    )
    for edge in (low, high):
        figure.add_vline(edge, line={"color": colours.muted, "dash": "dot"})
    figure.update_layout(
        template=template(dark),
        height=340,
        xaxis={"title": say("entropy of the model, bits"), "rangemode": "tozero"},
        yaxis={"title": say("tokens kept"), "type": "log", "dtick": 1},
    )
    return figure


def size_figure(result: Survivors, dark: bool = False) -> go.Figure:
    """The nucleus at every step of the first text."""
    text = result.texts[0]
    labels = [f"{place}. {literal(label, 14)}" for place, label in enumerate(text.tokens, start=1)]
    figure = go.Figure()
    figure.add_bar(
        x=labels,
        y=list(text.nucleus),
        customdata=list(text.bits),
        marker={"color": palette(dark).series[0]},
        hovertemplate=say(
            "before {token}: {count} tokens, {bits} bits",
            token="%{x}",
            count="%{y:,}",
            bits="%{customdata:.2f}",
        )
        + "<extra></extra>",
    )
    figure.update_layout(
        template=template(dark),
        height=320,
        xaxis={"type": "category", "tickangle": -60},
        yaxis={"title": say("tokens in the nucleus"), "type": "log", "dtick": 1},
    )
    return figure


def _picture(result: Survivors, shown: Shown) -> None:
    if shown.is_running:
        return
    chart(
        f"{shown.name}_steps",
        say("Every step"),
        say(
            "A dot is a step. Left of the first dotted line is the surest quarter of "
            "the steps, right of the second the least sure."
        ),
        steps_figure(result, shown.dark),
    )


def _adapting(result: Survivors, shown: Shown) -> None:
    if not shown.is_running:
        chart(
            f"{shown.name}_sizes",
            say("One text, step by step"),
            say("How many tokens the nucleus holds before each token of the first text."),
            size_figure(result, shown.dark),
        )
    _picture(result, shown)


def _steps(result: Survivors) -> Table:
    rows = [
        (text.prompt, place, label, bits, size, result.top_k, mass)
        for text in result.texts
        for place, (label, bits, size, mass) in enumerate(
            zip(text.tokens, text.bits, text.nucleus, text.mass, strict=True), start=1
        )
    ]
    head = (
        *(
            say("prompt"),
            say("step"),
            say("token"),
            say("entropy, bits"),
            say("tokens in the nucleus"),
            "k",
        ),
        say("probability of the k likeliest"),
    )
    return Table(say("Steps"), head, rows)


def _claim(key: str, kind: type[Survivors], picture: Callable[[Survivors, Shown], None]) -> Section:
    def experiment(model: LanguageModel, inputs: SurvivorsInputs) -> SurvivorsExperiment:
        return SurvivorsExperiment(
            kind,
            model,
            lines(inputs.prompts),
            inputs.tokens,
            inputs.texts,
            inputs.top_k,
            inputs.top_p,
        )

    return claim(
        key,
        inputs=SurvivorsInputs,
        result=kind,
        experiment=experiment,
        fields=_fields,
        picture=picture,
        tables=lambda result: (_steps(result),),
    )


FIXED_K = _claim("fixed_k", FixedK, _picture)
NUCLEUS = _claim("nucleus_adapts", NucleusAdapts, _adapting)
