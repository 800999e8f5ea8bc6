"""Background work on a page: buttons, progress, and redraws."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps

import streamlit as st

from ui.jobs import Job, Owner
from ui.models.chooser import served_to_others
from ui.visits.tab import somebody_there, this_person
from ui.words.errors import told
from ui.words.labels import counted, markdown_text
from ui.words.language import say

LOOK_SECONDS = 0.5  # between two redraws during work


def owner() -> Owner:
    """Return this page's visitor as the owner of work."""
    person = this_person()
    return Owner(person.token if person else "", somebody_there(), served_to_others())


def look_every(work: Job | None) -> float | None:
    """Return the seconds between redraws of a fragment; None if the work is not running."""
    return LOOK_SECONDS if work is not None and work.is_running else None


def watching(draw: Callable[..., None], every: Callable[[], float | None]) -> Callable[..., None]:
    """Turn a function into a fragment that is redrawn regularly while work is in progress.

    The interval is set when the page is drawn. If it must change, for example because the work has
    ended, the whole page is redrawn, as other parts of the page depend on the work.

    Args:
        draw: draws the fragment, and may change the work.
        every: returns the seconds between redraws; None if there is no work.
    """
    clock = every()

    @wraps(draw)
    def drawn(*arguments: object) -> None:
        draw(*arguments)
        if every() != clock:
            st.rerun()

    return st.fragment(drawn, run_every=clock)


def work_buttons(
    name: str,
    start: str,
    work: Job | None,
    begin: Callable[[Owner], None],
    *,
    can_begin: bool = True,
    cancel: Callable[[], None] | None = None,
    version: object = None,
) -> None:
    """Draw the buttons that start, cancel and continue work, in a fragment that is redrawn.

    If the work has started or ended, or `version` has changed, the whole page is redrawn.

    Args:
        name: the name of the work within the session.
        start: the label of the button that starts new work.
        work: the last work; None before the first.
        begin: starts new work for a visitor, and cancels the work that it replaces.
        can_begin: whether new work can start.
        cancel: ends the work for this visitor; by default, cancels the work itself.
        version: the version of the results on the page.
    """
    is_running = work is not None and work.is_running
    key, seen = f"{name}_seen", (work, is_running, version)
    if st.session_state.setdefault(key, seen) != seen:
        st.session_state[key] = seen
        st.rerun()

    # A second press may end a callback at its first call to Streamlit, so it acts before any call.
    who = owner()

    def on_start() -> None:
        begin(who)
        st.session_state[key] = None  # even if it was refused, as the page then says why

    def on_cancel() -> None:
        (cancel or work.cancel)()
        if work.is_cancelled:
            work.wait(5)

    def on_continue() -> None:
        work.start(who)

    off = is_running or not can_begin
    st.button(start, type="primary", key=f"{name}_start", disabled=off, on_click=on_start)
    if is_running:
        st.button(say("Cancel"), key=f"{name}_cancel", on_click=on_cancel)
    elif work is not None and not work.is_done:
        st.button(say("Continue"), key=f"{name}_continue", on_click=on_continue)


def work_state(work: Job | None, notices: Iterable[str] = ()) -> None:
    """Draw the progress of work or, once it is over, its problems."""
    if work is None:
        return
    if work.is_running:
        st.progress(work.share, text=work.progress)
        return
    if work.problem:
        st.error(markdown_text(work.problem))
    for notice in notices:
        st.warning(markdown_text(told(notice)))
    if not work.is_done:
        st.info(
            say(
                "Ended early with {done} of {all}. Figures cover the finished part; Continue "
                "resumes from here.",
                done=f"{work.texts_done:,}",
                all=counted(work.count, work.noun),
            )
        )
