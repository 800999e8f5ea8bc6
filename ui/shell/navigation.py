"""The pages of the app, in the order of the navigation, and the links between them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui.server.served_files import base_path
from ui.shell.language import language_field, take_language
from ui.words.language import LANGUAGES, language, marked, say

NAME = "Decoding Visualiser"
HOME = "pages/step.py"
MAIN = {  # by file, the name in the navigation
    HOME: marked("Step"),
    "pages/compare.py": marked("Compare"),
    "pages/read.py": marked("Read"),
    "pages/tune.py": marked("Tune"),
    "pages/cache.py": marked("Cache"),
}
DECODERS = {  # names of the decoder pages, by file
    "pages/beam.py": marked("Beam search"),
    "pages/speculative.py": marked("Speculative"),
    "pages/constrained.py": marked("Constrained"),
    "pages/diffusion.py": marked("Diffusion"),
    "pages/one_clock.py": marked("One clock"),
}
HOW = "pages/how.py"
LEARN = {  # lessons, claims, tokens and explanations, by file
    "pages/learn.py": marked("Lessons"),
    "pages/claims.py": marked("Claims"),
    "pages/tokens.py": marked("Tokens"),
    "pages/server.py": marked("Server"),
    HOW: marked("How this works"),
}
MENUS = {marked("Decoders"): DECODERS, marked("Learn"): LEARN}  # the band shows these as menus
PAGES = MAIN | DECODERS | LEARN


def chosen_page() -> st.Page:
    """Set up navigation and the browser's title; return the visitor's page, which is to be run."""
    take_language()
    pages = [
        st.Page(file, title=say(title), default=file == HOME, url_path=Path(file).stem)
        for file, title in PAGES.items()
    ]
    page = st.navigation(pages, position="hidden")
    title = NAME if page.url_path == "" else f"{page.title} · {NAME}"
    st.set_page_config(page_title=title, layout="wide")
    return page


def site() -> dict[str, Any]:
    """Return data for links between pages (`Site` in `parts/glossary/place.js`)."""
    return {
        "base": base_path(),
        "home": Path(HOME).stem,
        "titles": {Path(file).stem: say(title) for file, title in PAGES.items()},
        "glossary": Path(HOW).stem,
    }


def page_links(band: DeltaGenerator) -> None:
    """Draw links to all pages and the language field side by side, for a wide window."""
    with band.container(key="pages", horizontal=True, vertical_alignment="center", gap=None):
        for file, title in MAIN.items():
            st.page_link(file, label=say(title), width="content")
        for menu, files in MENUS.items():
            if files:
                with st.popover(say(menu), key=menu.lower(), type="tertiary"):
                    for file, title in files.items():
                        st.page_link(file, label=say(title))
        with st.popover(LANGUAGES[language()], key="language", type="tertiary"):
            language_field("language_choice")


def page_menu(band: DeltaGenerator) -> None:
    """Draw links to all pages and the language field in one menu, for a narrow window."""
    with band.popover(say("Menu"), key="menu", type="tertiary"):
        for file, title in MAIN.items():
            st.page_link(file, label=say(title))
        for menu, files in MENUS.items():
            if files:
                st.caption(say(menu))
                for file, title in files.items():
                    st.page_link(file, label=say(title))
        language_field("language_choice_in_menu")
