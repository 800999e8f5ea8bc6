"""The step page as other pages use it: they read its text, or hand a text over to it."""

from __future__ import annotations

from typing import NoReturn

import streamlit as st

from engine.errors import DecodingError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from ui.models.first_model import first_model, load_quietly
from ui.shell.navigation import HOME
from ui.step.record import TextRecord
from ui.step.session import Session
from ui.texts.examples import examples_of
from ui.visits.handover import STEP, HandedOver
from ui.visits.visits import Visit


def has_text(visit: Visit) -> bool:
    """Return whether the visit has a text on the step page."""
    return visit.has(STEP)


def text_of(visit: Visit) -> HandedOver | None:
    """Return the model, prompt and settings of the step page's text; None if there is none.

    Raises:
        DecodingError: its model can no longer be loaded.
    """
    session = visit.present(STEP)
    if isinstance(session, Session):
        with session.lock:
            return HandedOver(
                session.loaded,
                session.beginning,
                session.settings,
                session.max_tokens,
                session.decoder.stop_strings,
            )
    data = visit.record_of(STEP)
    if data is None:
        return None
    record = TextRecord.parse(data.get("text"))
    model = load_quietly(*record.model)
    stops = record.trace.stop_strings
    return HandedOver(model, record.beginning, record.sampling, record.max_tokens, stops)


def typed_text(visit: Visit) -> HandedOver | None:
    """Return the text on the step page if a person has typed or set anything there; else None."""
    try:
        text = text_of(visit)
    except DecodingError:
        return None  # the step page says so
    if text is None:
        return None
    first = examples_of(text.model)[0]
    untouched = first.beginning, SamplingSettings(**first.settings).chain
    return None if (text.beginning, text.settings.chain) == untouched else text


def model_of(visit: Visit) -> tuple[LanguageModel, str]:
    """Return the model for another page, and a sentence if it is not the one asked for.

    Raises:
        DecodingError: not even the bundled model can be loaded.
    """
    try:
        text = text_of(visit)
    except DecodingError:
        text = None  # the step page says so
    if text is not None:
        return text.model, ""
    return first_model(lambda what, done, total: None, lambda: False)


def open_in_step_page(visit: Visit, handed: HandedOver | Session) -> NoReturn:
    """Go to the step page, where the previous text is kept.

    Args:
        visit: the visit whose step page is opened.
        handed: the beginning of a new text, or a session whose text continues there; the session
            must be a copy, for the step page alone.
    """
    visit.handed[STEP] = handed
    st.switch_page(HOME)
