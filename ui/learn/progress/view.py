"""Progress on a page: where it is kept, and its file."""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from ui.learn.progress.mine import forget_mine, my_progress, take_in
from ui.learn.progress.progress import Progress, ProgressError
from ui.learn.progress.store import KEPT_DAYS, STORE
from ui.shell.file_field import file_field
from ui.visits.tab import this_person
from ui.words.labels import markdown_text
from ui.words.language import say

_SAID = "progress_said"  # in the session's state: the outcome of the last file or deletion
_REFUSED = "progress_refused"


def draw_kept(progress: Progress) -> None:
    """Draw the file of progress and where it is kept, for a fragment."""
    _files(progress)
    st.caption(where_kept())


def where_kept() -> str:
    """Say where progress is kept, and for how long."""
    person = this_person()
    if person is None or not person.outlives_tab:
        return say(
            "This browser keeps nothing, so your progress ends with this tab. Export it to keep it."
        )
    if not STORE.outlives_app:
        return say(
            "This app keeps nothing on disk, so your progress ends with the app. "
            "Export it to keep it. It is sent nowhere else."
        )
    return say(
        "Your progress is kept for {days} days after your last change, on the "
        "computer that runs this app. Every tab of this browser has it; a private "
        "window loses it when it closes. It is sent nowhere else.",
        days=KEPT_DAYS,
    )


def _files(progress: Progress) -> None:
    _say()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.download_button(
            say("Export progress"),
            progress.exported(),
            f"decoding-progress-{datetime.now(UTC):%Y-%m-%d}.json",
            "application/json",
            disabled=not len(progress),
            on_click="ignore",
        )
        with st.popover(say("Import progress")):
            st.caption(
                say(
                    "The file's entries are added to yours. Of two about the same thing, the "
                    "earlier one counts."
                )
            )
            file_field("progress_file", say("Progress file"), ".json", _take, _refuse)
        with st.popover(say("Forget my progress")):
            st.caption(say("This deletes everything, for every tab of this browser."))
            st.button(
                say("Forget everything"), type="primary", on_click=_forget, key="progress_forget"
            )


def _take(text: str) -> None:
    before = len(my_progress())
    try:
        take_in(text)
    except ProgressError as error:
        _refuse(str(error))
    else:
        new = len(my_progress()) - before
        st.session_state[_SAID] = say("The file was read. New entries: {count}.", count=f"{new:,}")


def _refuse(sentence: str) -> None:
    st.session_state[_REFUSED] = sentence


def _forget() -> None:
    try:
        forget_mine()
    except ProgressError as error:
        _refuse(str(error))
    else:
        st.session_state[_SAID] = say("Your progress is deleted.")


def _say() -> None:
    """Show the outcome of the last press, once."""
    refused, said = st.session_state.pop(_REFUSED, ""), st.session_state.pop(_SAID, "")
    if refused:
        st.error(markdown_text(refused))
    if said:
        st.info(markdown_text(said))
