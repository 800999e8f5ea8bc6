"""The definition of the claims page."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from engine.claims import judge
from engine.model import BUNDLED
from ui.claims.claims import CLAIMS, outcome_of
from ui.claims.words import NAMES, PREDICTIONS, SYMBOLS, all_words
from ui.measurements.drawing import sheet
from ui.measurements.page import MeasurementPage
from ui.measurements.section import Table
from ui.measurements.section_state import SectionState
from ui.measurements.state import MeasurementState
from ui.shell.work import owner
from ui.words.labels import about
from ui.words.language import marked, say


def overview(state: MeasurementState) -> None:
    """Draw the button that runs all claims, and the outcome of each."""
    others = [bench.model.name for bench in state.benches if bench.model.source != BUNDLED]
    if others:
        st.caption(
            say(
                "Prompts and questions were written for the bundled model; a verdict on {models} "
                "is about that model.",
                models=", ".join(others),
            )
        )
    with st.expander(say("All claims: run them, and see every verdict")):
        seconds = state.seconds(state.sections)
        who = owner()
        with st.container(horizontal=True, vertical_alignment="center"):
            if state.is_busy:
                st.button(say("Cancel all"), key=f"{state.name}_cancel_all", on_click=state.cancel)
            else:
                st.button(
                    say("Run all claims"),
                    key=f"{state.name}_run_all",
                    on_click=lambda: state.begin_each(state.sections, who),
                )
            if seconds is not None:
                st.caption(say("Takes {time}; an estimate.", time=about(seconds)), width="content")
        sheet(overview_table(state), "")


def overview_table(state: MeasurementState) -> Table:
    """Return a table of every claim with every model: prediction, verdict, time, explanation."""
    rows = [
        (say(held.section.heading), bench.model.name, *_cells(held))
        for key in state.sections
        for bench in state.benches
        for held in (bench.sections[key],)
    ]
    return Table(
        say("All claims"),
        (say("claim"), say("model"), say("predicted"), say("verdict"), "s", say("why")),
        rows,
    )


def _cells(held: SectionState) -> tuple[str, str, float | None, str]:
    outcome = outcome_of(held)
    if not outcome:
        return "", say("under way") if held.is_running else "", None, ""
    said = all_words()[held.section.key].sentence(judge(held.result().checks))
    predicted = say(PREDICTIONS.get(held.measured.predicted, ""))
    return predicted, f"{SYMBOLS[outcome]} {say(NAMES[outcome])}", held.work.took, said


PAGE = MeasurementPage(
    "claims",
    marked(
        "**Claims.** What people say of language models, put to the test on the loaded one. "
        "Predict, run, and read what follows from the figures. ✓ holds here, ✗ does not, ◐ "
        "depends, ? is not decided."
    ),
    CLAIMS,
    Path(__file__).with_suffix(".css"),
    has_second=True,
    overview=overview,
)
