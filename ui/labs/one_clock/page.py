"""Every decoder on one prompt: fields, runs, texts, figures."""

from __future__ import annotations

import streamlit as st

from ui.charts.figure import show_figure
from ui.labs import fields
from ui.labs.one_clock.charts import balance_figure, time_figure
from ui.labs.one_clock.clock import MOST_TOKENS, Clock
from ui.labs.one_clock.view import cards, figures, notice, staged_runs
from ui.labs.page import STYLE, notice_line
from ui.server.problems import guarded
from ui.skeleton.stage import stage, staged
from ui.skeleton.theme import is_dark
from ui.skeleton.work import look_every, owner, watching, work_buttons, work_state
from ui.texts.examples import EXAMPLES
from ui.texts.limits import LARGEST_SEED
from ui.visit_page import VisitPage
from ui.words.glossary import meaning
from ui.words.labels import markdown_text
from ui.words.language import marked, say

PAGE = VisitPage(
    Clock.name,
    begin=Clock,
    restore=Clock.restored,
    lost=marked("Your last inputs on this page could not be read, so it begins anew."),
    kept=marked("Prompt and settings are kept; the runs begin anew."),
    needs=("weights",),
)
ABOUT = marked(
    "**One clock.** Every decoder goes on from one prompt, three times, in "
    "turn. Times are medians measured here; bytes of weights are computed from "
    "the counted passes."
)


def one_clock_page() -> None:
    """Draw the whole page."""
    clock = PAGE.opened(STYLE, about=say(ABOUT))
    if clock is None:
        return
    with st.container(key="one_clock_fields"):
        guarded(_fields, "the fields")(clock)
    clock.begin_alone(owner())  # something to look at, without a press
    watching(guarded(_runs, "the runs"), lambda: look_every(clock.work))(clock)


def _fields(clock: Clock) -> None:
    fields.prompt(clock, {example.name: example.prompt for example in EXAMPLES})
    constraint = fields.constraint(clock, is_optional=False)
    with fields.row():
        fields.whole(
            clock,
            "tokens",
            say("Max tokens"),
            1,
            MOST_TOKENS,
            help=meaning("max tokens"),
            width=140,
        )
        fields.whole(clock, "seed", say("Seed"), 0, LARGEST_SEED, help=meaning("seed"), width=140)
    with st.expander(say("The constraint of constrained decoding")):
        constraint.language(width=230)
        constraint.source(height=68)


def _runs(clock: Clock) -> None:
    """Buttons, progress, and what there is so far."""
    with stage():
        with st.container(key="one_clock_transport", horizontal=True):
            work_buttons("one_clock", say("Run all"), clock.work, clock.begin)
        work = clock.work
        if work is not None:
            staged(staged_runs(work.beginning.prompt, work.timed))
    if clock.error:
        st.error(markdown_text(clock.error))
    if work is None:
        st.caption(say("Nothing is measured yet. Press {button}.", button=say("Run all")))
        return
    work_state(work)
    timed, failed = work.timed, work.failed
    notice_line(clock.name, notice(timed, work.is_done, work.was_busy))
    st.html(cards(work.beginning.prompt, timed, failed))
    if not timed:
        return
    st.html(figures(timed))
    if work.is_running:  # drawing charts takes time from what is measured
        return
    left, right = st.columns(2)
    with left:
        st.subheader(say("Time per token"), anchor=False)
        st.caption(say("Bar: median round. Line: from the fastest to the slowest round."))
        chart = time_figure(timed, is_dark())
        show_figure(chart, "one_clock_time", say("Time per token of every decoder"))
    with right:
        st.subheader(say("Time against likelihood"), anchor=False)
        st.caption(say("Likely is not the same as good: read the texts."))
        chart = balance_figure(timed, is_dark())
        show_figure(chart, "one_clock_balance", say("Time against likelihood of every decoder"))
