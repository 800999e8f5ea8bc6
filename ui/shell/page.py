"""The frame of all pages: the top band with title, navigation and model; notices.

The band stays in place, and its background hides content that scrolls below it. Streamlit's own
navigation is not used: on a phone it is a drawer that stays open over the chosen page. This file
does not import PyTorch, so that a page appears before PyTorch is loaded.
"""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui.components.apps import mount_app
from ui.models.startup import START
from ui.server.problems import show_pending
from ui.server.served_files import address_of_value
from ui.server.websocket import Activity
from ui.shell import theme
from ui.shell.language import keep_language
from ui.shell.navigation import NAME, page_links, page_menu, site
from ui.shell.theme import is_dark
from ui.visits.tab import visit_or_reason, visit_tab
from ui.visits.visits import VISITS, Visit
from ui.words.glossary import glossary
from ui.words.labels import markdown_text
from ui.words.language import language, say

NOTICES = "notices"
NOTICE_SECONDS = 30.0
STYLES = [Path(__file__).with_name(name) for name in ("page.css", "tables.css")]


def wait_for_start() -> None:
    """Wait until PyTorch and the first model are ready, and show the progress.

    Otherwise a page that imports them would stay blank until then. Also, two threads cannot import
    transformers at once: the second may fail on a name that the first has not defined yet.
    """
    if START.is_over:
        return
    place, shown = st.empty(), ""

    def told(activity: Activity | None) -> None:
        nonlocal shown
        if activity is not None and activity.what != shown:
            shown = activity.what
            place.caption(say(shown))

    START.wait(told, lambda: True)
    place.empty()


def opened_visit() -> Visit | None:
    """Return the visit of this tab; None while there is none, with a message on the page.

    The tab identifies itself shortly after its first page is drawn, which is then redrawn.
    """
    visit, problem = visit_or_reason()
    if problem:
        st.error(markdown_text(problem))
    elif visit is None:
        st.caption(say("Opening the page"))
    return visit


def show_notices(visit: Visit) -> None:
    """Show the visit's notices, once the page has its state.

    Each stays on screen for a while, since a page may be redrawn several times a second.
    """
    now = time.monotonic()
    shown = st.session_state.setdefault(NOTICES, [])
    sentences, visit.notices = visit.notices, []  # first: a call to Streamlit may lose them
    shown += [(sentence, now + NOTICE_SECONDS) for sentence in sentences]
    shown[:] = [entry for entry in shown if entry[1] > now]
    for sentence in [*(sentence for sentence, _ in shown), VISITS.problem]:
        if sentence:
            st.warning(markdown_text(say(sentence)))


def header(*styles: Path, has_terms: bool = True) -> DeltaGenerator:
    """Draw the band at the top of a page, and return it, to add content at its right end.

    Args:
        styles: the page's own style sheets.
        has_terms: whether to explain technical terms on the page, which needs PyTorch.
    """
    sheets = "".join(map(_sheet, [*STYLES, *styles]))
    # Popovers are outside the element on which Streamlit sets the colour scheme.
    scheme = "dark" if is_dark() else "light"
    popovers = f':is([data-testid="stPopoverBody"], .dv-tip) {{ color-scheme: {scheme}; }}'
    st.html(f"<style>{theme.css()}{popovers}{sheets}</style>")
    band = st.container(
        key="header",
        horizontal=True,
        vertical_alignment="center",
    )
    band.title(NAME, anchor=False, width="content")
    page_links(band)
    page_menu(band)
    if has_terms:
        with band.container(key="band_terms", width="content"):
            data = {"site": site()}
            mount_app("terms", "Terms", data, served=served_glossary(language()), kind="dv-terms")
    with band.container(key="page_app", width="content"):
        _serve_page(scheme)
    keep_language()
    show_pending()
    visit_tab()
    return band


def _serve_page(theme_drawn: str) -> None:
    """Mount the app for stage view, keys in popovers, and redraws when the theme changes."""
    # Any message from the browser makes Streamlit learn the theme and rerun the script.
    mount_app("page", "Page", {"theme": theme_drawn}, kind="dv-page", theme=lambda: None)


@cache
def served_glossary(code: str) -> dict[str, str]:
    """Return the URL of a language's glossary, for `mount_app`."""
    return {"glossary": address_of_value(glossary(code))}


@cache
def _sheet(file: Path) -> str:
    return file.read_text("utf-8")
