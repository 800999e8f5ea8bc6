"""The claim that greedy text loops."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from engine.claims.experiments.greedy_loops import (
    GREEDY,
    NUCLEUS,
    GreedyLoops,
    GreedyLoopsExperiment,
)
from engine.claims.texts import LEAST_TOKENS, MOST_TOKENS
from engine.model import LanguageModel
from ui.claims.charts import dots_figure
from ui.claims.claim import claim
from ui.claims.inputs import PromptsInputs, lines
from ui.claims.written import LOOP_TOKENS, PROMPTS, repeated_dots, texts_table, written_texts
from ui.labs import fields
from ui.measurements.held import Held
from ui.measurements.measured import chart
from ui.measurements.section import Shown
from ui.words.language import marked, say

WAYS = {GREEDY: marked("greedy"), NUCLEUS: marked("nucleus")}


@dataclass(frozen=True)
class LoopsInputs(PromptsInputs):
    """What is written.

    Attributes, besides prediction and prompts:
        tokens: of each text.
        top_p: of the nucleus.
    """

    prompts: str = PROMPTS
    tokens: int = LOOP_TOKENS
    top_p: float = 0.9


def _experiment(model: LanguageModel, inputs: LoopsInputs) -> GreedyLoopsExperiment:
    return GreedyLoopsExperiment(model, lines(inputs.prompts), inputs.tokens, inputs.top_p)


def _fields(held: Held) -> None:
    fields.text(held, "prompts", say("Prompts, one a line"), height=150)
    with fields.row():
        fields.whole(held, "tokens", say("Tokens of a text"), LEAST_TOKENS, MOST_TOKENS)
        fields.real(held, "top_p", say("Top-p of the nucleus"), step=0.05)


def _picture(result: GreedyLoops, shown: Shown) -> None:
    if not shown.is_running:
        dots = repeated_dots(result.texts, WAYS)
        chart(
            f"{shown.name}_repeated",
            say("Repeated 4-grams"),
            say("A dot is a text. Far to the right it says the same again and again."),
            dots_figure(dots, say("share of 4-grams that repeat"), shown.dark),
        )
    with st.expander(say("The texts")):
        written_texts(result.texts, WAYS)


SECTION = claim(
    "greedy_loops",
    inputs=LoopsInputs,
    result=GreedyLoops,
    experiment=_experiment,
    fields=_fields,
    picture=_picture,
    tables=lambda result: (texts_table(result.texts, WAYS),),
)
