"""Stage view of a page that Python draws: its subject, in large type, above its buttons.

Only the browser knows whether stage view is on (`ui/components/js/lib/stage.js`). So a page always
draws both views, and `ui/components/css/stage.css` shows one or the other.
"""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui.shell.tables import escaped


def stage() -> DeltaGenerator:
    """The place of the buttons that stage view keeps, and of `staged`."""
    return st.container(key="stage")


def stage_slider(*, only: bool = False) -> DeltaGenerator:
    """The place of the slider that stage view keeps; `only` if the page itself has none."""
    return st.container(key="stage_only_slider" if only else "stage_slider")


def staged(html: str) -> None:
    """Draw the part of stage view above the buttons.

    Args:
        html: HTML in which every foreign text is escaped.
    """
    st.html(f'<div class="dv-staged">{html}</div>')


def staged_text(prompt: str, body: str, before: str = "") -> str:
    """A text whose newest line stays in sight.

    Args:
        prompt: the beginning, muted.
        body: the text as HTML.
        before: HTML in front of the prompt.
    """
    return (
        f'<div class="dv-staged-text" tabindex="0"><p class="dv-written">{before}'
        f"<span>{escaped(prompt)}</span>{body}</p></div>"
    )
