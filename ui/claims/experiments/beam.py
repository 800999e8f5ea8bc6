"""The claim that beam search finds likelier text that repeats itself more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from engine.claims.experiments.beam import (
    MOST_TOKENS,
    MOST_WIDTH,
    BeamExperiment,
    BeamTexts,
    Searched,
)
from engine.model import LanguageModel
from engine.study.set_texts import BEAM, GREEDY, SAMPLE
from ui.claims.charts import dots_figure
from ui.claims.claim import claim
from ui.claims.inputs import PromptsInputs, lines
from ui.labs import fields
from ui.measurements.held import Held
from ui.measurements.measured import chart, sheet
from ui.measurements.section import Shown, Table
from ui.words.language import Literal, marked, say

WAYS = {BEAM: marked("beam search"), GREEDY: marked("greedy"), SAMPLE: marked("nucleus")}
PROMPTS = """They think that
The most important thing is
The old house stood
I would like to
We talked about
In the middle of the forest
My favourite thing in the world is
The history of"""


@dataclass(frozen=True)
class BeamInputs(PromptsInputs):
    """What is written.

    Attributes, besides prediction and prompts:
        tokens: of each text, exactly.
        width: beams.
    """

    prompts: str = PROMPTS
    tokens: int = 24
    width: int = 4


def _experiment(model: LanguageModel, inputs: BeamInputs) -> BeamExperiment:
    return BeamExperiment(model, lines(inputs.prompts), inputs.tokens, inputs.width)


def _fields(held: Held) -> None:
    fields.text(held, "prompts", say("Prompts, one a line"), height=150)
    with fields.row():
        fields.whole(held, "tokens", say("Tokens of a text"), 8, MOST_TOKENS)
        fields.whole(held, "width", say("Beams"), 2, MOST_WIDTH)


def _dots(
    result: BeamTexts, value: Callable[[Searched], float]
) -> dict[str, list[tuple[str, float]]]:
    """By decoder: prompt and figure of each text."""
    return {
        say(name): [(text.prompt, value(text)) for text in result.texts if text.kind == kind]
        for kind, name in WAYS.items()
    }


def _picture(result: BeamTexts, shown: Shown) -> None:
    if not shown.is_running:
        likely = _dots(result, lambda text: text.logprob)
        varied = _dots(result, lambda text: text.distinct)
        chart(
            f"{shown.name}_likely",
            say("How likely each text is"),
            say("A dot is a text. Far to the right, the model finds it likely."),
            dots_figure(likely, say("log-probability of the text, nats"), shown.dark, shares=False),
        )
        chart(
            f"{shown.name}_varied",
            say("How varied each text is"),
            say("Far to the left, a text says the same pairs of tokens again and again."),
            dots_figure(varied, say("distinct pairs of tokens"), shown.dark),
        )
    with st.expander(say("The texts")):
        sheet(_texts(result))


def _texts(result: BeamTexts) -> Table:
    rows = [
        (
            Literal(text.prompt),
            say(WAYS[text.kind]),
            text.logprob,
            text.distinct,
            Literal(text.text),
        )
        for text in result.texts
    ]
    head = (
        say("prompt"),
        say("decoder"),
        say("log-probability, nats"),
        say("distinct pairs"),
        say("text"),
    )
    return Table(say("Texts"), head, rows)


SECTION = claim(
    "beam",
    inputs=BeamInputs,
    result=BeamTexts,
    experiment=_experiment,
    fields=_fields,
    picture=_picture,
    tables=lambda result: (_texts(result),),
)
