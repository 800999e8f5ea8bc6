"""The progress of whoever looks at the page."""

from __future__ import annotations

import streamlit as st

from ui.learn.progress.entries import Entry
from ui.learn.progress.progress import NOTHING, Progress, ProgressError
from ui.learn.progress.store import STORE
from ui.visits.tab import this_person

_PROBLEM = "progress_problem"  # in the session's state: why the last change was not taken down


def my_progress() -> Progress:
    """What this person has done; nothing where that cannot be read, and `my_problem` says why."""
    person = this_person()
    if person is None:
        return NOTHING
    try:
        return STORE.of(person.token)
    except ProgressError as error:
        st.session_state[_PROBLEM] = str(error)
        return NOTHING


def note(*entries: Entry) -> bool:
    """Take down what this person did; where that is refused, `my_problem` says why.

    Returns:
        Whether it is taken down.
    """
    person = this_person()
    if person is None:
        return False
    try:
        STORE.add(person.token, *entries)
    except ProgressError as error:
        st.session_state[_PROBLEM] = str(error)
        return False
    st.session_state.pop(_PROBLEM, None)
    return True


def take_in(text: str) -> None:
    """Join this person's progress with that of a file; raises `ProgressError`."""
    person = this_person()
    if person is not None:
        STORE.add(person.token, *Progress.imported(text))


def forget_mine() -> None:
    """Delete what this person has done; raises `ProgressError`."""
    person = this_person()
    if person is not None:
        STORE.forget(person.token)
        st.session_state.pop(_PROBLEM, None)


def my_problem() -> str:
    """Why progress is not kept just now; empty if it is."""
    return st.session_state.get(_PROBLEM, "") or STORE.problem
