"""The claim that a repetition penalty cures loops better than words."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from engine.claims.experiments.penalties import (
    PENALTY,
    PLAIN,
    WORDS,
    Penalties,
    PenaltiesExperiment,
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

WAYS = {
    PLAIN: marked("plain"),
    PENALTY: marked("with the penalty"),
    WORDS: marked("with the words"),
}


@dataclass(frozen=True)
class PenaltiesInputs(PromptsInputs):
    """What is written.

    Attributes, besides prediction and prompts:
        words: put before each prompt, to forbid repeating.
        tokens: of each text.
        penalty: the repetition penalty.
    """

    prompts: str = PROMPTS
    words: str = "Never repeat yourself. Say something new in every sentence."
    tokens: int = LOOP_TOKENS
    penalty: float = 1.3


def _experiment(model: LanguageModel, inputs: PenaltiesInputs) -> PenaltiesExperiment:
    return PenaltiesExperiment(
        model, lines(inputs.prompts), inputs.words, inputs.tokens, inputs.penalty
    )


def _fields(held: Held) -> None:
    fields.text(held, "prompts", say("Prompts, one a line"), height=150)
    fields.line(held, "words", say("Words that forbid repeating"), width="stretch")
    with fields.row():
        fields.whole(held, "tokens", say("Tokens of a text"), LEAST_TOKENS, MOST_TOKENS)
        fields.real(held, "penalty", say("Repetition penalty"))


def _picture(result: Penalties, shown: Shown) -> None:
    if not shown.is_running:
        dots = repeated_dots(result.texts, WAYS)
        chart(
            f"{shown.name}_repeated",
            say("Repeated 4-grams"),
            say("Three texts of each prompt. Far to the right, one says the same again and again."),
            dots_figure(dots, say("share of 4-grams that repeat"), shown.dark),
        )
    with st.expander(say("The texts")):
        written_texts(result.texts, WAYS)


SECTION = claim(
    "penalties",
    inputs=PenaltiesInputs,
    result=Penalties,
    experiment=_experiment,
    fields=_fields,
    picture=_picture,
    tables=lambda result: (texts_table(result.texts, WAYS),),
)
