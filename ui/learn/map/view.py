"""The map on the page of lessons: a table whose links lead within the app."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import streamlit as st

from ui.components.apps import mount_app
from ui.learn.lesson import Lesson
from ui.learn.map.concepts import Concept, Topic, concept_map, concept_of
from ui.words.language import language, say

APP = "map"
CHOSEN = "map_chosen"  # in the session's state: the link that was pressed
TRY = "try"  # in an address: the concept whose experiment is to be opened


def draw_map() -> None:
    """Draw it; `chosen_in_map` tells of the link that is pressed."""
    code = language()
    topics = [_topic(topic, code) for topic in concept_map(code)]
    mount_app(APP, "What you can learn here", {"topics": topics}, go=_on_go)


def chosen_in_map() -> tuple[Concept, str] | None:
    """The concept whose link was pressed and the name of its cell, once; None without a press."""
    said = st.session_state.pop(CHOSEN, None)
    if not hasattr(said, "get"):
        return None
    concept = concept_of(str(said.get("key")))
    return None if concept is None else (concept, str(said.get("cell")))


def tried_by_address() -> Concept | None:
    """The concept whose experiment the page's address asks for, once."""
    key = st.query_params.get(TRY)
    if key is None:
        return None
    del st.query_params[TRY]  # so that Back leads to the map
    return concept_of(key)


def _on_go() -> None:
    st.session_state[CHOSEN] = st.session_state[APP].go


def _topic(topic: Topic, code: str) -> dict[str, Any]:
    rows = [_row(concept, code) for concept in topic.concepts]
    return {"title": topic.title, "rows": rows}


def _row(concept: Concept, code: str) -> dict[str, Any]:
    """A concept as the browser shows it: for each cell its text and its address."""
    step = concept.lesson.words(code).entry(concept.step.key).title
    at = say("{page}: {what}", page=concept.place.title, what=concept.use)
    return {
        "key": concept.key,
        "name": concept.name,
        "lesson": _link(
            f"{_title(concept.lesson, code)}: {step}",
            lesson=concept.lesson.key,
            step=concept.step.key,
        ),
        "experiment": _link(at, **{TRY: concept.key}),
        "question": _link(
            concept.question.text, lesson=concept.asked_in.key, question=concept.question.key
        ),
    }


def _title(lesson: Lesson, code: str) -> str:
    return lesson.words(code).entry("").title


def _link(text: str, **query: str) -> dict[str, str]:
    return {"text": text, "href": f"?{urlencode(query)}"}
