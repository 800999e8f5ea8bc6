"""What all pages stand in: their list, the navigation, the band at the top with title and model.

The navigation lies in Streamlit's own header, which is laid over that band, so that it takes no
room of its own; on a phone Streamlit folds it into a menu. Streamlit keeps its header in place, so
the band stays with it and has a ground that hides what scrolls beneath. This file imports no
PyTorch: the page is there before that is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

if TYPE_CHECKING:
    from engine.model import LanguageModel
    from engine.sampling import SamplingSettings

NAME = "Decoding Visualiser"
HOME = "pages/step.py"
PAGES = {  # file: name in the navigation
    HOME: "Step",
    "pages/compare.py": "Compare",
    "pages/tune.py": "Tune",
}
STYLE = """
<style>
:root { --band-height: 3.75rem; --band-margin: 1.6rem; }
.block-container { padding: 0 var(--band-margin) 2rem; max-width: 1900px; }
.stMain { scroll-padding-top: var(--band-height); }
.stApp h1 { font-size: 1.3rem; padding: 0; }
header.stAppHeader {
  background: transparent; pointer-events: none; height: 3.9rem; min-height: 0;
  padding: 0; left: 13.2rem; width: auto; right: 9rem;
}
header.stAppHeader * { pointer-events: auto; }
header.stAppHeader [data-testid="stToolbar"] { pointer-events: none; }
.stMainBlockContainer [data-testid="stVerticalBlock"] { gap: 0.5rem; }
[data-testid="stLayoutWrapper"]:has(> .st-key-header) {
  position: sticky; top: 0; z-index: 100; height: var(--band-height);
  width: calc(100% + 2 * var(--band-margin)); max-width: none;
  margin: 0 calc(-1 * var(--band-margin)); padding: 0.7rem var(--band-margin);
  background: light-dark(#ffffff, #0f141a); /* backgroundColor of .streamlit/config.toml */
}
.st-key-header { min-height: 2.4rem; }
/* Streamlit writes white on the light blue of the dark theme, a contrast of 2.3. */
[data-testid="stBaseButton-primary"]:enabled { color: light-dark(#ffffff, #0f141a); }
[data-testid="stLayoutWrapper"]:has(> .st-key-fetch) { display: none; }
@media (max-width: 768px) {
  header.stAppHeader { left: 0; width: 3.2rem; right: auto; }
  .st-key-header { padding-left: 2.6rem; }
}
@media (max-width: 640px) { :root { --band-margin: 0.8rem; } }
</style>
"""


def chosen_page() -> st.Page:
    """The page that the visitor is on, to be run; navigation and the browser's title are set."""
    pages = [
        st.Page(file, title=title, default=file == HOME, url_path=title.lower())
        for file, title in PAGES.items()
    ]
    page = st.navigation(pages, position="top")
    title = NAME if page.url_path == "" else f"{page.title} · {NAME}"
    st.set_page_config(page_title=title, layout="wide")
    return page


def header() -> DeltaGenerator:
    """Draw the band at the top of a page; what is written into it stands at its right end."""
    st.html(STYLE)
    band = st.container(
        key="header",
        horizontal=True,
        horizontal_alignment="distribute",
        vertical_alignment="center",
    )
    band.title(NAME, anchor=False, width="content")
    return band


# --- from another page to the step page -----------------------------------------------------------


@dataclass(frozen=True)
class HandedOver:
    """What another page wants the step page to begin with.

    Attributes:
        model: the model; another one than the step page has replaces that.
        prompt, chat: the text to go on from, and whether through the chat template.
        settings: how tokens are chosen, seed included.
        max_tokens, stop_strings: the stop rules.
    """

    model: LanguageModel
    prompt: str
    settings: SamplingSettings
    chat: bool = False
    max_tokens: int = 64
    stop_strings: tuple[str, ...] = ()


_HANDED_OVER = "handed_over"


def open_in_step_page(handed: HandedOver) -> NoReturn:
    """Go to the step page, which begins a new text with this."""
    st.session_state[_HANDED_OVER] = handed
    st.switch_page(HOME)


def taken_over() -> HandedOver | None:
    """What another page has handed over, once; None if nothing."""
    return st.session_state.pop(_HANDED_OVER, None)
