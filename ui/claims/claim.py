"""A claim as a section of the page: it is predicted, run, shown, and judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from engine.claims.experiment import AnyResult, Experiment
from engine.claims.verdict import verdict
from engine.model import LanguageModel
from ui.claims.inputs import ClaimInputs
from ui.claims.verdict import draw_verdict, plain_table
from ui.claims.words import PREDICTIONS, SYMBOLS, all_words
from ui.measurements.held import Held
from ui.measurements.section import AnyInputs, Section, Shown, Table
from ui.measurements.work import MeasureWork
from ui.skeleton.fields import bound
from ui.words.language import marked, say

Experimented = Callable[[LanguageModel, AnyInputs], Experiment[AnyResult]]


def claim(
    key: str,
    *,
    inputs: type[AnyInputs],
    result: type[AnyResult],
    experiment: Experimented,
    fields: Callable[[Held], None],
    picture: Callable[[AnyResult, Shown], None],
    tables: Callable[[AnyResult], Sequence[Table]] = lambda result: (),
) -> Section[AnyInputs, AnyResult]:
    """A claim by what is its own; its words are those of `lessons/claims.toml`.

    Args:
        key: its name there, and in files.
        inputs, result: classes of the inputs, `ClaimInputs`, and of the result, with `checks`.
        experiment: the experiment for some inputs, not run yet; raises `DecodingError`.
        fields: draws the fields of its parameters.
        picture: draws what was measured, below the verdict.
        tables: what was measured, for the CSV files; the figures of the verdict come with them.
    """
    words = all_words()[key]

    def all_fields(held: Held) -> None:
        overturned = say("What would overturn it:")
        st.caption(f"{overturned} {say(words.overturned)}")
        _prediction(held)
        with st.expander(say("Parameters of the experiment")):
            fields(held)

    def drawn(found: AnyResult, shown: Shown) -> None:
        held = shown.held
        if not shown.is_running:
            predicted = held.measured.predicted if held else ""
            took = held.work.took if held and held.work else None
            draw_verdict(words, verdict(found.checks), predicted, took)
        picture(found, shown)

    return Section(
        key=key,
        name=words.name,
        heading=words.claim,
        about=words.experiment,
        inputs=inputs,
        result=result,
        fields=all_fields,
        picture=drawn,
        notice=lambda found: "",
        tables=lambda found: (plain_table(words, verdict(found.checks)), *tables(found)),
        begin=lambda model, chosen: MeasureWork(experiment(model, chosen)),
        start=marked("Run"),
        seconds=lambda model, chosen, pace: experiment(model, chosen).seconds(pace),
        is_timed=False,  # times are processor time, and a condition of the verdict
        begins_alone=False,
        overlays=False,
        topic=words.topic,
        mark=lambda held: SYMBOLS.get(outcome_of(held), ""),
    )


def outcome_of(held: Held) -> str:
    """The verdict of a claim as a visitor has it; empty where it is not run yet, or under way."""
    found = None if held.is_running else held.result()
    return "" if found is None else verdict(found.checks).outcome


def _prediction(held: Held) -> None:
    """What the person expects; what was measured keeps the prediction that it began with."""
    inputs: ClaimInputs = held.inputs
    chosen = inputs.predicted if inputs.predicted in PREDICTIONS else None
    st.segmented_control(
        say("What do you predict?"),
        list(PREDICTIONS),
        format_func=lambda outcome: say(PREDICTIONS[outcome]),
        default=chosen,
        **bound(
            f"{held.name}_predicted",
            chosen,
            lambda predicted: held.change(predicted=predicted or ""),
        ),
    )
