"""The step page: the model chooser, and the place of the component that does all the rest.

The component talks to the server over a channel of its own (`ui.step.channel`), so nothing here
runs when a person steps. This file does not import PyTorch: the page is on screen before PyTorch is
loaded.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from ui.components.apps import mount_app
from ui.models.startup import START
from ui.server.problems import guarded
from ui.server.served_files import base_path
from ui.server.websocket import live_address
from ui.shell.page import header
from ui.visits.tab import visit_or_reason
from ui.words.language import language, marked, say, speaking

if TYPE_CHECKING:
    from engine.model import LanguageModel
    from ui.step.session import Session

LESSONS = "/learn?path=hour"  # the tour's target: a path of one hour, and its first lesson
FIRST_LESSON = f"{LESSONS}&lesson=the_loop"
KEPT = marked("Prompt and settings are kept; the previous text stays in the list of examples.")


def step_page() -> None:
    """Draw the whole page."""
    START.begin()
    is_ready = _is_ready()
    with header(has_terms=is_ready):
        guarded(_chooser if is_ready else _waiting, "the choice of a model")()
    base = base_path()
    lessons = {"all": f"{base}{LESSONS}", "first": f"{base}{FIRST_LESSON}"}
    data = {"live": live_address(), "lessons": lessons, "waits_for_text": not is_ready}
    mount_app("step", "Decoding", data, model=_on_model)


def _session() -> Session | None:
    visit, _ = visit_or_reason()  # the component says why there is none
    return visit.present("step") if visit else None


def _is_ready() -> bool:
    return START.is_over and _session() is not None


def _waiting() -> None:
    """Draw a button where the chooser will be; the component says when there is a text.

    A fragment that polls can be lost. If one of its requests meets the end of a run, Streamlit
    drops the unsent part of that run, the next poll included.
    """
    st.button(say("Model: loading"), disabled=True, key="model_waiting")


def _chooser() -> None:
    from ui.models.chooser import model_chooser
    from ui.shell.share import SharedFile, share_button

    session = _session()
    saved = SharedFile(
        say("Save as a page"),
        say("The text with all figures as one file, which opens in any browser, offline."),
        "run.html",
        "text/html",
        partial(_saved, session, language()),
    )
    share_button(session.link, *([saved] if session.can_be_saved else []))
    model_chooser(session.loaded, _on_load, say(KEPT))


def _saved(session: Session, told_in: str) -> str:
    from engine.study import TextReading
    from ui.readings.file import page

    with speaking(told_in), session.lock:
        trace, vocabulary = session.decoder.trace(), session.model.vocabulary
        reading = TextReading.of_trace(trace)
        return page(reading, vocabulary, trace.model, trace.prompt, run=trace)


def _on_load(model: LanguageModel) -> None:
    session = _session()
    if session is not None:
        session.load(model)


def _on_model() -> None:
    """Make Streamlit redraw the header: there is a text now, or one by another model."""
