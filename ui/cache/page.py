"""The cache page: the choice of a section, its fields, its results; one section at a time."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from ui.cache.export import export
from ui.cache.held import Held
from ui.cache.section import Shown
from ui.cache.state import CacheState
from ui.labs import fields
from ui.labs.page import STYLE as LABS_STYLE
from ui.labs.page import notice_line
from ui.skeleton.fields import bound
from ui.skeleton.problems import guarded
from ui.skeleton.theme import is_dark
from ui.skeleton.visit_page import VisitPage
from ui.skeleton.work import LOOK_SECONDS, look_every, work_buttons, work_state
from ui.visits.tab import somebody_there
from ui.words.labels import about, counted, markdown_text

PAGE = VisitPage(
    CacheState.name,
    begin=CacheState,
    restore=CacheState.restored,
    lost="Your last inputs on this page could not be read, so it begins anew.",
    kept="Inputs are kept; everything is measured anew.",
)
ABOUT = (
    "**Cache and latency.** Why the first token is slow, the second is cheap, and what a long text "
    "costs. Everything is measured on this machine; what is computed or estimated says so."
)
LONG_SECONDS = 300.0  # from which a measurement is better taken in parts
STYLE = Path(__file__).with_suffix(".css")


def cache_page() -> None:
    """Draw the whole page."""
    state = PAGE.opened(LABS_STYLE, STYLE)
    if state is None:
        return
    draw(state)


def draw(state: CacheState) -> None:
    """Draw what a visitor has, below the header."""
    st.caption(ABOUT)
    names = {key: held.section.name for key, held in state.sections.items()}
    st.segmented_control(
        "Section",
        list(names),
        format_func=names.get,
        default=state.chosen,
        required=True,
        label_visibility="collapsed",
        **bound("cache_section", state.chosen, state.choose),
    )
    held = state.held
    st.caption(held.section.about)
    with st.container(key=f"{held.name}_fields"):
        guarded(held.section.fields, "the fields")(held)
    state.look(somebody_there())
    st.fragment(guarded(_live, "the results"), run_every=_look_every(state))(state)
    guarded(export, "the export")(state)


def _look_every(state: CacheState) -> float | None:
    pacing = state.pacing
    if state.held.section.begin is not None and pacing is not None and pacing.is_running:
        return LOOK_SECONDS
    return look_every(state.held.work)


def _live(state: CacheState) -> None:
    """Buttons, progress and results of the section in sight; only this runs again meanwhile."""
    held = state.held
    if held.section.begin is not None:
        state.look(somebody_there())
        with fields.row():
            work_buttons(held.name, held.section.start, held.work, held.begin, version=id(held))
            st.caption(_duration(state, held), width="content")
    result = held.result()
    for error in filter(None, (state.error, held.error)):
        st.error(markdown_text(error))
    work_state(held.work)
    if result is None:
        if held.began_alone and held.work is None and held.section.begin is not None:
            st.caption(f"Nothing is measured yet. Press {held.section.start}.")
        return
    _busy(held)
    notice_line(held.name, held.section.notice(result))
    is_running = held.work is not None and held.work.is_running
    held.section.picture(result, Shown(held, is_dark(), is_running, state.laid(held.section.key)))


def _busy(held: Held) -> None:
    """Whether other programs had the cores when the measurement began."""
    if held.setting is None or not held.section.is_timed:
        return
    load, cores = held.setting.machine.load[0], held.setting.machine.cores
    if load >= cores:
        st.warning(
            f"Other programs kept the processor busy when this began: {load:.1f} ran on average, "
            f"on {counted(cores, 'core')}. On an idle machine times are shorter."
        )


def _duration(state: CacheState, held: Held) -> str:
    """How long a measurement with these inputs would take."""
    pacing = state.pacing
    if pacing is None or pacing.result is None or not pacing.is_done:
        problem = pacing.problem if pacing is not None else ""
        return markdown_text(problem) or "Timing a few passes, to estimate how long this takes."
    seconds = held.seconds(pacing.result)
    if seconds is None:
        return ""
    words = f"Takes {about(seconds)}; an estimate."
    if seconds > LONG_SECONDS:
        words += " Cancel keeps what is measured, and Continue goes on from there."
    return words
