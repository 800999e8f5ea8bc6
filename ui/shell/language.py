"""The choice of a language, in the band at the top of a page.

The browser stores the choice in a cookie, which contains nothing else, so that it is known when a
page is first drawn. A link with ``?lang=de`` also chooses the language.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import streamlit as st

from ui.shell.fields import bound
from ui.words.language import ENGLISH, KEY, LANGUAGES, choose, language, say

COOKIE = "decoding-visualiser-language"
QUERY = "lang"
KEEP = """
export default function ({ data }) {
  document.documentElement.lang = data.language;
  document.cookie = `{{cookie}}=${data.language}; path=/; max-age=31536000; samesite=lax`;
}
"""


def take_language() -> None:
    """Set the page's language to the one chosen in this session, or earlier in this browser."""
    chosen = st.session_state.get(KEY)
    chosen = chosen or st.query_params.get(QUERY) or st.context.cookies.get(COOKIE)
    choose(chosen if chosen in LANGUAGES else ENGLISH)


def language_field(name: str) -> None:
    """Draw the language field; `name` is its name within the session."""
    st.radio(
        say("Language"),
        list(LANGUAGES),
        format_func=LANGUAGES.get,
        index=list(LANGUAGES).index(language()),
        horizontal=True,
        **bound(name, language(), choose),
    )


def keep_language() -> None:
    """Store the choice in the browser."""
    with st.container(key="keep_language"):
        _keeper()(key="language_kept", data={"language": language()})


@cache
def _keeper() -> Any:
    program = KEEP.replace("{{cookie}}", COOKIE)
    return st.components.v2.component("decoding.language", js=program, isolate_styles=False)
