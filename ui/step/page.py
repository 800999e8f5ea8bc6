"""The step page: the model chooser, and the place of the component that does all the rest.

The component talks to the server over a channel of its own (`ui.step.channel`), so nothing here
runs when a person steps. This file imports no PyTorch: the page is on screen before that is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from ui.components.apps import mount_app
from ui.models.starting import START
from ui.server.live import live_address
from ui.server.problems import guarded
from ui.server.served_files import base_path
from ui.skeleton.page import header
from ui.visits.tab import visit_or_reason
from ui.words.language import marked, say

if TYPE_CHECKING:
    from engine.model import LanguageModel
    from ui.step.session import Session

LESSONS = "/learn?path=hour"  # where the tour leads: a first hour, and its first lesson
FIRST_LESSON = f"{LESSONS}&lesson=the_loop"
LOOK_SECONDS = 0.5  # between two looks whether the server has started
KEPT = marked("Prompt and settings are kept; the text before stays in the list of examples.")


def step_page() -> None:
    """Draw the whole page."""
    START.begin()
    is_ready = _is_ready()
    with header(has_terms=is_ready):
        guarded(_chooser if is_ready else _waiting, "the choice of a model")()
    base = base_path()
    lessons = {"all": f"{base}{LESSONS}", "first": f"{base}{FIRST_LESSON}"}
    data = {"live": live_address(), "lessons": lessons}
    mount_app("step", "Decoding", data, model=_on_model)


def _session() -> Session | None:
    visit, _ = visit_or_reason()  # why there is none, the component says
    return visit.present("step") if visit else None


def _is_ready() -> bool:
    return START.is_over and _session() is not None


@st.fragment(run_every=LOOK_SECONDS)
def _waiting() -> None:
    """A button that says where the chooser will be, until there is a text.

    The chooser is never drawn in here: it has a fragment of its own, and where the page is drawn
    twice in a moment, Streamlit drops an outer fragment's elements and keeps those of the inner.
    """
    if _is_ready():
        st.rerun()
    st.button(say("Model: loading"), disabled=True, key="model_waiting")


def _chooser() -> None:
    from ui.models.chooser import model_chooser

    model_chooser(_session().loaded, _on_load, say(KEPT))


def _on_load(model: LanguageModel) -> None:
    session = _session()
    if session is not None:
        session.load(model)


def _on_model() -> None:
    """The text on the page is by another model now: the header is drawn again by this alone."""
