"""The field for a constraint, its language and its source, on every page that has one.

A refused constraint stays in the field as a draft, while the previous one stays in force. The
reason for the refusal is shown below the field.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import streamlit as st

from engine.grammar import LANGUAGES, notices
from engine.guarded import asking
from ui.shell.fields import bound
from ui.texts.constraints import FIRST, NOTHING
from ui.visits.tab import this_person
from ui.words.errors import told
from ui.words.labels import markdown_text
from ui.words.language import marked, say

_NAMES = {  # as in `ui/components/js/parts/samplers/source.js`
    "choices": marked("Choices, as a JSON list"),
    "regex": marked("Regular expression"),
    "json_schema": marked("JSON schema"),
    "lark": marked("Lark grammar"),
}
_NONE = marked("None: any text")
_STILL_HOLDS = marked("The previous constraint still applies.")
_STILL_NONE = marked("The text is still without a constraint.")


@dataclass(frozen=True)
class _Draft:
    """A constraint that was refused.

    Attributes:
        typed: its language and source.
        beside: the language and source in force when it was refused.
        refusal: why it was refused, in a sentence.
    """

    typed: tuple[str, str]
    beside: tuple[str, str]
    refusal: str


class HasError(Protocol):
    """A page's state, of which only the last error matters here."""

    error: str


@dataclass(frozen=True)
class ConstraintField:
    """The two fields for a constraint.

    Attributes:
        page: the state of the page; an `error` caused by this field is shown below it.
        key: the name of the field within the session.
        held: language and source of the constraint in force; `NOTHING` for none.
        take: called with a language and a source, `NOTHING` for none; returns whether they are
            accepted. A page that refuses them sets `error`.
        is_optional: whether the page works without a constraint.
    """

    page: HasError
    key: str
    held: tuple[str, str]
    take: Callable[[str, str], bool]
    is_optional: bool = True

    def language(self, label: str = "", **options: object) -> None:
        """Draw the field for the language; choosing one sets the source to an example."""
        languages = [NOTHING[0]] * self.is_optional + list(LANGUAGES)
        shown = self._shown[0]
        st.selectbox(
            label or say("Constraint"),
            languages,
            index=languages.index(shown),
            format_func=lambda name: say(_NAMES.get(name, _NONE)),
            help=say("Only text that matches it can be written."),
            **options,
            **bound(f"{self.key}_language", shown, self._choose),
        )

    def source(self, height: int = 104) -> None:
        """Draw the field for the source, unless there is no constraint."""
        language, source = self._shown
        if language == NOTHING[0]:
            return
        st.text_area(
            say("Source: {language}", language=say(_NAMES[language])),
            source,
            height=height,
            **bound(f"{self.key}_source", source, lambda typed: self._take(language, typed)),
        )
        draft = self._draft
        for notice in () if draft else notices(language, source):
            st.caption(markdown_text(say("Note: {notice}.", notice=told(notice))))
        if draft is not None:
            st.error(markdown_text(draft.refusal))
            has_one = self.held != NOTHING
            st.caption(say(_STILL_HOLDS if has_one else _STILL_NONE))

    @property
    def _shown(self) -> tuple[str, str]:
        return self.held if self._draft is None else self._draft.typed

    @property
    def _draft(self) -> _Draft | None:
        draft = st.session_state.get(self._draft_key)
        return draft if draft is not None and draft.beside == self.held else None

    @property
    def _draft_key(self) -> str:
        return f"{self.key}_constraint_draft"

    def _choose(self, language: str) -> None:
        self._take(language, FIRST[language].source if language in FIRST else "")

    def _take(self, language: str, source: str) -> None:
        draft, person = None, this_person()
        with asking(person=person and person.token):
            is_taken = self.take(language, source)
        if not is_taken:
            draft = _Draft((language, source), self.held, self.page.error)
            self.page.error = ""
        st.session_state[self._draft_key] = draft
