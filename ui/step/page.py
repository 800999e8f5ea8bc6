"""The step page: the model chooser, and the live component below it."""

from __future__ import annotations

import secrets

import streamlit as st
from streamlit.runtime import Runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from engine.errors import DecodingError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from ui.components.step import sent_event, step_component
from ui.shared.examples import EXAMPLES
from ui.shared.labels import markdown_text
from ui.shared.model_chooser import first_model, model_chooser
from ui.shared.page import HandedOver, header, taken_over
from ui.shared.settings import cards_of
from ui.step.events import Event, parse, sender
from ui.step.message import message
from ui.step.session import Session
from ui.step.session_store import SessionStore

GONE = (
    "The text that this tab had is no longer here (the app was started again, or many others have "
    "come since), so a new one has begun."
)


def _is_connected(connection: str) -> bool:
    return Runtime.exists() and Runtime.instance().is_active_session(connection)


@st.cache_resource(show_spinner=False)
def _store() -> SessionStore:
    return SessionStore(_is_connected)


def step_page() -> None:
    """Draw the whole page."""
    band = header()
    problem = _begin()
    session: Session | None = st.session_state.get("session")
    with band:
        model_chooser(session.model if session else None, _on_load)
    if session:
        _live()
    else:
        st.error(markdown_text(problem))


def _begin() -> str:
    """On the first visit, load a model and begin a text; why there is none, if so."""
    handed = taken_over()
    if handed is not None:
        _begin_with(handed)
    if "session" in st.session_state:
        return ""
    try:
        model, problem = first_model()
    except DecodingError as error:
        return str(error)
    session = _first_text(model)
    session.error = problem
    _keep(session)
    return ""


def _begin_with(handed: HandedOver) -> None:
    """A new text with what another page has handed over; why not, the component says."""
    session: Session | None = st.session_state.get("session")
    if session is None or session.model is not handed.model:
        session = _first_text(handed.model)
        _keep(session)
        # The tab remembers the text of before: this one was asked for later.
        st.session_state["not_resumed"] = True
    session.apply(
        Event(
            client=f"page {secrets.token_hex(8)}",
            number=1,
            kind="start",
            prompt=handed.prompt,
            chat=handed.chat,
            settings=handed.settings,
            order=cards_of(handed.settings),
            max_tokens=handed.max_tokens,
            stop_strings=handed.stop_strings,
        )
    )


def _first_text(model: LanguageModel) -> Session:
    first = EXAMPLES[0]
    return Session(model, first.prompt, SamplingSettings(**first.settings))


def _keep(session: Session) -> None:
    st.session_state["session"] = session
    _store().use(session, _connection())


def _connection() -> str:
    context = get_script_run_ctx()
    return context.session_id if context else ""


def _on_load(model: LanguageModel) -> None:
    if "session" in st.session_state:
        st.session_state["session"].load(model)
    else:
        _keep(_first_text(model))


@st.fragment
def _live() -> None:
    """The component; only this part of the page runs again with each event."""
    if st.session_state.pop("resumed", False):
        st.rerun()  # the header names the model of the session that was left
    step_component(message(st.session_state["session"]), _on_event)


def _on_event() -> None:
    """What the browser sent, handed to the session."""
    session = st.session_state["session"] = _store().use(st.session_state["session"], _connection())
    data = sent_event()
    try:
        event = parse(data)
    except DecodingError as error:
        session.refuse(*sender(data), error)
        return
    if event.kind == "resume":
        if "not_resumed" in st.session_state:
            del st.session_state["not_resumed"]
            session.apply(event)
            return
        resumed = _store().resume(event.token, _connection(), session)
        if resumed is not None:
            session = st.session_state["session"] = resumed
            st.session_state["resumed"] = True
        session.apply(event)
        if resumed is None:
            session.error = GONE
        return
    session.apply(event)
