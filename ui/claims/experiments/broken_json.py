"""The claim that JSON needs its constraint."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from engine.claims.experiments.broken_json import (
    FREE,
    KEPT,
    MOST_RUNS,
    WRONG,
    BrokenJson,
    BrokenJsonExperiment,
)
from engine.claims.uncertainty import share
from engine.model import LanguageModel
from ui.claims.charts import intervals_figure
from ui.claims.claim import claim
from ui.claims.inputs import ClaimInputs
from ui.labs import fields
from ui.measurements.held import Held
from ui.measurements.measured import chart, sheet
from ui.measurements.section import Shown, Table
from ui.texts.constraints import FIRST
from ui.words.labels import token_label
from ui.words.language import Literal, marked, say
from ui.words.refusals import told

WAYS = {
    KEPT: marked("constraint to the end"),
    FREE: marked("right token, then no constraint"),
    WRONG: marked("wrong token, then no constraint"),
}
FIRST_OBJECT = FIRST["json_schema"]


@dataclass(frozen=True)
class BrokenJsonInputs(ClaimInputs):
    """What is written.

    Attributes, besides the prediction:
        prompt: what the objects follow.
        source: their schema.
        runs: objects.
        place: of the first token without the constraint, as a share of the object.
    """

    prompt: str = FIRST_OBJECT.prompt
    source: str = FIRST_OBJECT.source
    runs: int = 8
    place: float = 0.5


def _experiment(model: LanguageModel, inputs: BrokenJsonInputs) -> BrokenJsonExperiment:
    return BrokenJsonExperiment(model, inputs.prompt, inputs.source, inputs.runs, inputs.place)


def _fields(held: Held) -> None:
    fields.text(held, "prompt", say("Prompt"), height=80)
    fields.text(held, "source", say("JSON schema"), height=150)
    with fields.row():
        fields.whole(held, "runs", say("Objects"), 1, MOST_RUNS)
        about = say("Share of the object that is written before the constraint is gone.")
        fields.real(held, "place", say("End of the constraint"), step=0.1, help=about)


def _picture(result: BrokenJson, shown: Shown) -> None:
    if not shown.is_running:
        bars = [(say(name), share(result.broken(way))) for way, name in WAYS.items()]
        chart(
            f"{shown.name}_broken",
            say("Broken objects"),
            say("Broken: it does not parse, or the schema does not allow it. Whiskers are 95 %."),
            intervals_figure({say("broken"): bars}, say("broken objects"), shown.dark, bound=0.5),
        )
    with st.expander(say("The texts")):
        sheet(_texts(result))


def _texts(result: BrokenJson) -> Table:
    rows = [
        (
            run.seed,
            say(WAYS[text.way]),
            token_label(run.right),
            token_label(run.wrong),
            say("yes") if text.is_valid else say("no"),
            told(text.problem),
            Literal(text.text),
        )
        for run in result.runs
        for text in run.texts
    ]
    head = (
        say("seed"),
        say("way"),
        say("right token"),
        say("wrong token"),
        say("is valid"),
        say("problem"),
        say("text"),
    )
    return Table(say("Texts"), head, rows)


SECTION = claim(
    "broken_json",
    inputs=BrokenJsonInputs,
    result=BrokenJson,
    experiment=_experiment,
    fields=_fields,
    picture=_picture,
    tables=lambda result: (_texts(result),),
)
