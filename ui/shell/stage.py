"""Stage view of the pages that Python draws: the text in large type above the buttons.

Only the browser knows whether stage view is on (`ui/components/js/lib/stage.js`). So a page always
draws both views, and `ui/components/css/stage.css` shows one or the other.
"""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui.shell.tables import escaped


def stage() -> DeltaGenerator:
    """Return the container for the buttons that stage view keeps, and for `staged`."""
    return st.container(key="stage")


def stage_slider(*, only: bool = False) -> DeltaGenerator:
    """Return the container for stage view's slider; with `only`, the normal view hides it."""
    return st.container(key="stage_only_slider" if only else "stage_slider")


def staged(html: str) -> None:
    """Draw the part of stage view above the buttons.

    Args:
        html: its content; all texts from outside must be escaped.
    """
    st.html(f'<div class="dv-staged">{html}</div>')


def staged_text(prompt: str, body: str, before: str = "") -> str:
    """Format a text that scrolls so that its newest line stays visible.

    Args:
        prompt: the prompt, shown muted.
        body: the text as HTML.
        before: HTML to show before the prompt.
    """
    return (
        f'<div class="dv-staged-text" tabindex="0"><p class="dv-written">{before}'
        f"<span>{escaped(prompt)}</span>{body}</p></div>"
    )
