"""The progress of the person at the page, and this tab's view of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import streamlit as st

from ui.learn.progress.entries import Entry
from ui.learn.progress.progress import NOTHING, Progress, ProgressError
from ui.learn.progress.store import STORE
from ui.server.visitor import this_address
from ui.visits.tab import this_person

# In the session's state:
_PROBLEM = "progress_problem"  # why the last change was not recorded
_ON_SCREEN = "progress_on_screen"  # predictions and quizzes in progress in this tab


class Done:
    """Progress kept only in memory, for use without a known person.

    Attributes:
        progress: all of it, as of the last look.
    """

    def __init__(self) -> None:
        self.progress = NOTHING

    def look(self) -> Progress:
        """Return the latest progress, to which other tabs may have added."""
        return self.progress

    def note(self, *entries: Entry) -> None:
        """Record new entries."""
        self.progress = self.progress.joined(entries)


class MyDone(Done):
    """The progress of the person at the page; `my_problem` says if it cannot be kept."""

    def __init__(self) -> None:
        super().__init__()
        self._refused: list[Entry] = []  # still shown on this page

    def look(self) -> Progress:
        self.progress = my_progress().joined(self._refused)
        return self.progress

    def note(self, *entries: Entry) -> None:
        if not _kept(entries):
            self._refused += entries
        self.look()


def _kept(entries: Iterable[Entry]) -> bool:
    """Keep entries on disk; return False if that is refused, and `my_problem` says why."""
    person = this_person()
    if person is None:
        return False
    try:
        STORE.add(person.token, *entries, address=this_address())
    except ProgressError as error:
        st.session_state[_PROBLEM] = str(error)
        return False
    st.session_state.pop(_PROBLEM, None)
    return True


def my_progress() -> Progress:
    """Return this person's progress; empty if it cannot be read, which `my_problem` reports."""
    person = this_person()
    if person is None:
        return NOTHING
    try:
        return STORE.of(person.token)
    except ProgressError as error:
        st.session_state[_PROBLEM] = str(error)
        return NOTHING


def take_in(text: str) -> None:
    """Merge the progress in a file into this person's; raises `ProgressError`."""
    person = this_person()
    if person is not None:
        STORE.add(person.token, *Progress.imported(text), address=this_address())


def forget_mine() -> None:
    """Delete this person's progress, on screen too; raises `ProgressError`."""
    person = this_person()
    if person is not None:
        STORE.forget(person.token)
        st.session_state.pop(_PROBLEM, None)
    st.session_state.pop(_ON_SCREEN, None)


def my_problem() -> str:
    """Return the reason that progress is not kept now; empty if it is kept."""
    return st.session_state.get(_PROBLEM, "") or STORE.problem


def on_screen(kind: str) -> dict[str, Any]:
    """Return this tab's work in progress, by name: ``quizzes`` or ``predictions``."""
    return st.session_state.setdefault(_ON_SCREEN, {}).setdefault(kind, {})
