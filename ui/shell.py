"""What all pages stand in: their list, the navigation, the band at the top with title and model.

The navigation lies in Streamlit's own header, which is laid over that band, so that it takes no
room of its own; on a phone Streamlit folds it into a menu. This file imports no PyTorch: the page
is there before that is.
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
.block-container { padding: 0.7rem 1.6rem 2rem; max-width: 1900px; }
.stApp h1 { font-size: 1.3rem; padding: 0; }
header.stAppHeader {
  background: transparent; pointer-events: none; height: 3.9rem; min-height: 0;
  padding: 0; left: 13.2rem; width: auto; right: 9rem;
}
header.stAppHeader * { pointer-events: auto; }
header.stAppHeader [data-testid="stToolbar"] { pointer-events: none; }
.stMainBlockContainer [data-testid="stVerticalBlock"] { gap: 0.5rem; }
.st-key-header { min-height: 2.4rem; }
[data-testid="stLayoutWrapper"]:has(> .st-key-fetch) { display: none; }
@media (max-width: 768px) {
  header.stAppHeader { left: 0; width: 3.2rem; right: auto; }
  .st-key-header { padding-left: 2.6rem; }
}
@media (max-width: 640px) { .block-container { padding-left: 0.8rem; padding-right: 0.8rem; } }
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


def is_dark() -> bool:
    """Whether the visitor sees the dark theme, for charts."""
    return st.context.theme.type == "dark"


# --- from another page to the step page -----------------------------------------------------------


@dataclass(frozen=True)
class HandedOver:
    """What another page wants the step page to begin with.

    Attributes:
        model: the model; another one than the step page has replaces that.
        prompt, chat: the text to go on from, and whether through the chat template.
        settings: how tokens are chosen, seed included.
        max_tokens: stop rule of Play and Run to end.
    """

    model: LanguageModel
    prompt: str
    settings: SamplingSettings
    chat: bool = False
    max_tokens: int = 64


_HANDED_OVER = "handed_over"


def open_in_step_page(handed: HandedOver) -> NoReturn:
    """Go to the step page, which begins a new text with this."""
    st.session_state[_HANDED_OVER] = handed
    st.switch_page(HOME)


def taken_over() -> HandedOver | None:
    """What another page has handed over, once; None if nothing."""
    return st.session_state.pop(_HANDED_OVER, None)
