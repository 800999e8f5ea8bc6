"""Progress on a page: points, badges, calibration, where it is kept, its file."""

from __future__ import annotations

import html
from datetime import UTC, datetime
from pathlib import Path

import streamlit as st

from ui.learn.progress.badges import Standing, badges, standings
from ui.learn.progress.mine import forget_mine, my_problem, my_progress, take_in
from ui.learn.progress.points import Points, points
from ui.learn.progress.progress import Progress, ProgressError
from ui.learn.progress.score import calibration_sentence
from ui.learn.progress.store import KEPT_DAYS, STORE
from ui.skeleton.file_field import file_field
from ui.visits.tab import this_person
from ui.words.labels import counted, markdown_text, with_minus
from ui.words.language import language, say

STYLE = Path(__file__).with_name("progress.css")
_SAID = "progress_said"  # in the session's state: what came of the last file or deletion
_REFUSED = "progress_refused"


def draw_progress() -> None:
    """Draw all of it, for a fragment."""
    progress = my_progress()
    with st.container(key="progress"):
        problem = my_problem()
        if problem:
            st.warning(markdown_text(problem))
        st.markdown(points_sentence(points(progress), progress))
        summary = progress.calibration
        if summary is not None:
            st.markdown(calibration_sentence(summary))
        st.html(badges_html(standings(progress, badges(language=language()))))
        _files(progress)
        st.caption(where_kept())


def points_sentence(worth: Points, progress: Progress) -> str:
    """The points, and what they are for."""
    if not len(progress):
        return say("**0 points.** Solve a task, predict, or answer a question to collect some.")
    parts = [
        (worth.tasks, counted(len(progress.tasks), "task")),
        (worth.predictions, counted(len(progress.predictions), "prediction")),
        (worth.answers, counted(len(progress.answers), "answer")),
        (worth.steps, say("{steps} read", steps=counted(len(progress.steps), "step"))),
    ]
    listed = ", ".join(
        say("{points} for {what}", points=_figure(value), what=what) for value, what in parts
    )
    return say("**{points} points:** {listed}.", points=_figure(worth.total), listed=listed)


def _figure(value: float) -> str:
    return with_minus(f"{value:.1f}".removesuffix(".0"))


def badges_html(found: list[Standing]) -> str:
    """All badges, those that are earned first; a state is told in words as well."""
    items = "".join(
        f'<li class="{"earned" if one.is_earned else "open"}">'
        f"<b>{html.escape(one.badge.name)}</b> "
        f"<span>{_state(one)}</span>"
        f"<p>{html.escape(one.badge.text)}</p></li>"
        for one in found
    )
    name = say("Badges")
    return f'<ul class="dv-badges" aria-label="{name}">{items}</ul>'


def _state(one: Standing) -> str:
    if one.is_earned:
        return say("earned")
    return say("{one} of {all}", one=one.have, all=one.need)


def where_kept() -> str:
    """How long progress stays, and where."""
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
                say("Entries of the file join yours. Of two about the same, the earlier counts.")
            )
            file_field("progress_file", say("Progress file"), ".json", _take, _refuse)
        with st.popover(say("Forget my progress")):
            st.caption(say("This deletes all of it, for every tab of this browser."))
            st.button(
                say("Forget all of it"), type="primary", on_click=_forget, key="progress_forget"
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
    """What came of the last press, once."""
    refused, said = st.session_state.pop(_REFUSED, ""), st.session_state.pop(_SAID, "")
    if refused:
        st.error(markdown_text(refused))
    if said:
        st.info(markdown_text(said))
