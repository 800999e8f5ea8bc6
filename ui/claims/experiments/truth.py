"""The claim that temperature 0 gives the truth."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from engine.claims.experiments.truth import MOST_SAMPLES, OFTEN, Truth, TruthExperiment, right
from engine.claims.uncertainty import Figure
from engine.model import LanguageModel
from ui.claims.charts import intervals_figure
from ui.claims.claim import claim
from ui.claims.facts import FactsInputs, facts_field, facts_of
from ui.claims.words import part_said
from ui.labs import fields
from ui.measurements.held import Held
from ui.measurements.measured import chart, sheet
from ui.measurements.section import Shown, Table
from ui.words.language import Literal, marked, say

IS_RIGHT = {True: marked("yes"), False: marked("no"), None: marked("no answer")}


@dataclass(frozen=True)
class TruthInputs(FactsInputs):
    """The questions.

    Attributes, besides prediction and facts:
        samples: of each fact, at temperature 1.
    """

    samples: int = 9


def _experiment(model: LanguageModel, inputs: TruthInputs) -> TruthExperiment:
    return TruthExperiment(model, facts_of(inputs.facts), inputs.samples)


def _fields(held: Held) -> None:
    facts_field(held)
    fields.whole(held, "samples", say("Samples of each fact"), 1, MOST_SAMPLES)


def _right(result: Truth) -> dict[str, list[tuple[str, Figure]]]:
    """By way of answering: kind of fact, and the share of answers that are right."""
    ways = {
        say("greedy"): "greedy_right",
        say("majority of the samples"): "majority_right",
    }
    return {
        name: [
            (part_said(group), right([getattr(one, attribute) for one in result.group(group)]))
            for group in result.groups
        ]
        for name, attribute in ways.items()
    }


def _picture(result: Truth, shown: Shown) -> None:
    if not shown.is_running:
        chart(
            f"{shown.name}_right",
            say("Right answers"),
            say(
                "The line is at {count} answers in 10. Whiskers are 95 %.", count=f"{10 * OFTEN:g}"
            ),
            intervals_figure(_right(result), say("right answers"), shown.dark, bound=OFTEN),
        )
    with st.expander(say("The answers")):
        sheet(_answers(result))


def _answers(result: Truth) -> Table:
    rows = [
        (
            Literal(one.fact.question),
            Literal(" or ".join(one.fact.answers)),
            Literal(one.greedy),
            say(IS_RIGHT[one.greedy_right]),
            Literal(one.majority),
            one.votes,
            part_said(one.fact.group),
        )
        for one in result.answers
    ]
    head = (
        say("question"),
        say("right answers"),
        say("greedy"),
        say("is right"),
        say("majority"),
        say("votes for it"),
        say("kind"),
    )
    return Table(say("Answers"), head, rows)


SECTION = claim(
    "truth",
    inputs=TruthInputs,
    result=Truth,
    experiment=_experiment,
    fields=_fields,
    picture=_picture,
    tables=lambda result: (_answers(result),),
)
