"""What pages say, in the language of the person.

    say("Takes {time}; an estimate.", time="3 s")
    say_counted(3, "{count} step", "{count} steps")

English stands in the code: whole sentences, with named places. A translation stands in
`languages/<code>.po`, which the usual editors of such files open; `make words` brings them up to
date with the code (docs/development.md). What a language lacks is said in English.

A sentence that is written down before anybody's language is known, such as a page's title, is
`marked`, and given to `say` where it is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from gettext import GNUTranslations
from io import BytesIO
from pathlib import Path

import streamlit as st
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from streamlit.runtime.scriptrunner import get_script_run_ctx

FOLDER = Path(__file__).with_name("languages")
ENGLISH = "en"
LANGUAGES = {ENGLISH: "English", "de": "Deutsch"}  # each by its own name
# The comment in a file of translations of what the engine says, alone or as a page does too.
OF_ENGINE, OF_BOTH = "engine", "engine and pages"
KEY = "language"  # in the session's state

_SPOKEN: ContextVar[str | None] = ContextVar("language", default=None)


@cache
def _translation(code: str) -> GNUTranslations:
    """A language as Python's own gettext has it."""
    compiled = BytesIO()
    write_mo(compiled, _file(code))
    compiled.seek(0)
    return GNUTranslations(compiled)


@cache
def _file(code: str) -> Catalog:
    with (FOLDER / f"{code}.po").open("rb") as file:
        return read_po(file, locale=code)


def language() -> str:
    """The code of the language that is spoken here: ``en``."""
    spoken = _SPOKEN.get()
    if spoken is None and get_script_run_ctx(suppress_warning=True) is not None:
        spoken = st.session_state.get(KEY)
    return spoken if spoken in LANGUAGES else ENGLISH


@contextmanager
def speaking(code: str) -> Iterator[None]:
    """What is said within is said in a language; for threads that draw no page."""
    before = _SPOKEN.set(code)
    try:
        yield
    finally:
        _SPOKEN.reset(before)


def say(sentence: str, /, **values: object) -> str:
    """A sentence in the language spoken here, with values in its places."""
    code = language()
    said = sentence if code == ENGLISH or not sentence else _translation(code).gettext(sentence)
    return said.format(**values) if values else said


def say_counted(count: int, one: str, many: str, /, **values: object) -> str:
    """A sentence about a number of things; ``{count}`` in it is the number."""
    code = language()
    if code == ENGLISH:
        said = one if count == 1 else many
    else:
        said = _translation(code).ngettext(one, many, count)
    return said.format(count=f"{count:,}", **values)


def marked(sentence: str) -> str:
    """The sentence itself; so marked, it is in the files of translations."""
    return sentence


def engine_sentences(code: str) -> dict[str, str]:
    """The engine's sentences in a language, by their English ones; with the places of both."""
    return {
        message.id: message.string
        for message in _file(code)
        if message.string and {OF_ENGINE, OF_BOTH} & {*message.auto_comments}
    }


def sentences(code: str) -> dict[str, str]:
    """All sentences of a language by their English ones, for the browser; empty for English."""
    if code == ENGLISH:
        return {}
    found: dict[str, str] = {}
    for message in _file(code):
        if OF_ENGINE in message.auto_comments:
            continue  # a page has them from the server, with their values
        english = message.id if isinstance(message.id, tuple) else (message.id,)
        said = message.string if isinstance(message.string, tuple) else (message.string,)
        found |= {one: text for one, text in zip(english, said, strict=False) if one and text}
    return found
