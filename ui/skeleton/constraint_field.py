"""The field of a constraint: its language and its source, on every page that has one.

What was typed and refused stays in the field, as a draft, while the constraint before it holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from engine.grammar import LANGUAGES
from ui.skeleton.fields import bound
from ui.texts.constraints import FIRST, NOTHING

_NAMES = {name: text[0].upper() + text[1:] for name, text in LANGUAGES.items()}
_NONE = "None: any text"


@dataclass(frozen=True)
class _Draft:
    """A constraint that was refused.

    Attributes:
        typed: its language and source.
        beside: those that held then.
    """

    typed: tuple[str, str]
    beside: tuple[str, str]


@dataclass(frozen=True)
class ConstraintField:
    """Language and source of one constraint.

    Attributes:
        key: names the field within the session.
        held: language and source of the constraint in force; `NOTHING` for none.
        take: gets a language and a source, those of `NOTHING` for none; whether they are taken. A
            page that refuses them says why.
        is_optional: whether there may be none.
    """

    key: str
    held: tuple[str, str]
    take: Callable[[str, str], bool]
    is_optional: bool = True

    def language(self, label: str = "Constraint", **options: object) -> None:
        """Which language; a new one begins with an example."""
        languages = [NOTHING[0]] * self.is_optional + list(LANGUAGES)
        shown = self._shown[0]
        st.selectbox(
            label,
            languages,
            index=languages.index(shown),
            format_func=lambda name: _NAMES.get(name, _NONE),
            help="Only texts that it describes may be written.",
            **options,
            **bound(f"{self.key}_language", shown, self._choose),
        )

    def source(self, height: int = 104) -> None:
        """The source; nothing without a constraint."""
        language, source = self._shown
        if language == NOTHING[0]:
            return
        st.text_area(
            f"Source: {_NAMES[language]}",
            source,
            height=height,
            **bound(f"{self.key}_source", source, lambda typed: self._take(language, typed)),
        )
        if self._shown != self.held:
            st.caption("Not taken: the constraint before it still holds.")

    @property
    def _shown(self) -> tuple[str, str]:
        draft = st.session_state.get(self._draft_key)
        return draft.typed if draft is not None and draft.beside == self.held else self.held

    @property
    def _draft_key(self) -> str:
        return f"{self.key}_constraint_draft"

    def _choose(self, language: str) -> None:
        self._take(language, FIRST[language].source if language in FIRST else "")

    def _take(self, language: str, source: str) -> None:
        taken = self.take(language, source)
        draft = None if taken else _Draft((language, source), self.held)
        st.session_state[self._draft_key] = draft
