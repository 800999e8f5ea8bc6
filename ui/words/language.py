"""The sentences of the pages, in the visitor's language.

    say("Takes {time}; an estimate.", time="3 s")
    say_counted(3, "{count} step", "{count} steps")

The code contains the English sentences, whole, with named placeholders. A translation is in
`languages/<code>.po`, which the usual editors of such files open. `make words` brings these files
up to date with the code (CONTRIBUTING.md). Sentences that a language lacks are shown in English.

Figures come in English form, and are rewritten in the form of the language: ``1,024.5`` as
``1.024,5``.

A sentence that is needed before the language is known, such as a page's title, is `marked`, and
passed to `say` where it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from gettext import GNUTranslations
from io import BytesIO
from numbers import Number
from pathlib import Path

import streamlit as st
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from streamlit.runtime.scriptrunner import get_script_run_ctx

from engine.errors import Message

FOLDER = Path(__file__).with_name("languages")
ENGLISH = "en"
LANGUAGES = {ENGLISH: "English", "de": "Deutsch"}  # each by its name in that language
OF_ENGINE = "engine"  # the comment, in a translation file, on sentences that only the engine uses
KEY = "language"  # in the session's state

_NUMBER = re.compile(r"(?<![\w.,])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]?\d+)?(?!\w|[.,]\d)")
_UNIT = r"\b(?:[KMG]i?B|B|[mµ]?s|min|h|GB/s|GFLOP/s|x)\b"
_ONLY_FIGURES = re.compile(rf"(?:{_NUMBER.pattern}|[ $%±×<>≤≥≈+−–∞·/^()\[\]-]|{_UNIT})*")

_SPOKEN: ContextVar[str | None] = ContextVar("language", default=None)


@cache
def _translation(code: str) -> GNUTranslations:
    """Return a language's translations as a catalogue of Python's own gettext."""
    compiled = BytesIO()
    write_mo(compiled, _file(code))
    compiled.seek(0)
    return GNUTranslations(compiled)


@cache
def _file(code: str) -> Catalog:
    with (FOLDER / f"{code}.po").open("rb") as file:
        return read_po(file, locale=code)


def language() -> str:
    """Return the code of the current language: ``en``.

    A thread that draws a page asks Streamlit only once, since any call to Streamlit may end the
    drawing.
    """
    spoken = _SPOKEN.get()
    if spoken is None and get_script_run_ctx(suppress_warning=True) is not None:
        spoken = st.session_state.get(KEY)
        _SPOKEN.set(spoken)
    return spoken if spoken in LANGUAGES else ENGLISH


def choose(code: str) -> None:
    """Use this language in the current tab from now on."""
    st.session_state[KEY] = code
    _SPOKEN.set(code)


@contextmanager
def speaking(code: str) -> Iterator[None]:
    """Set the language inside a `with` block, for threads that draw no page."""
    before = _SPOKEN.set(code)
    try:
        yield
    finally:
        _SPOKEN.reset(before)


class Literal(str):
    """A text that is shown unchanged, such as a token's, or one that is already translated."""


def with_figures(text: str) -> str:
    """Rewrite the numbers in a text from English form to the form of the current language."""
    code = language()
    if code == ENGLISH:
        return text
    # A language's separators are those of its translation of this figure.
    _, thousands, *_, point, _ = _translation(code).gettext(marked("1,024.5"))
    exchanged = str.maketrans(",.", thousands + point)
    return Literal(_NUMBER.sub(lambda number: number.group().translate(exchanged), text))


def localised(value: object) -> object:
    """Return a value for display: figures and messages in the current language, else unchanged."""
    if isinstance(value, Message):
        return say(value)
    if isinstance(value, float):
        value = str(value)
    is_text = isinstance(value, str) and not isinstance(value, Literal)
    return with_figures(value) if is_text and _ONLY_FIGURES.fullmatch(value) else value


def say(sentence: str, /, **values: object) -> str:
    """Return a sentence in the current language, with values in its placeholders.

    A message of the engine brings its own values.
    """
    if isinstance(sentence, Message):
        sentence, values = sentence.template, sentence.values | values
    code = language()
    if code == ENGLISH:
        return sentence.format(**values) if values else sentence
    said = _translation(code).gettext(sentence) if sentence else ""
    return Literal(said.format(**_written(values)) if values else said)


def say_counted(count: int, one: str, many: str, /, **values: object) -> str:
    """Return a sentence about a number of things, in which ``{count}`` is the number."""
    code = language()
    if code == ENGLISH:
        said = one if count == 1 else many
    else:
        said = _translation(code).ngettext(one, many, count)
    return Literal(said.format(**_written({"count": f"{count:,}"} | values)))


def _written(values: Mapping[str, object]) -> dict[str, object]:
    return {
        name: _Figure(value) if isinstance(value, Number) else localised(value)
        for name, value in values.items()
    }


class _Figure:
    """A number for a sentence with a format of its own, written in the form of the language."""

    def __init__(self, value: Number) -> None:
        self._value = value

    def __format__(self, wanted: str) -> str:
        return with_figures(format(self._value, wanted))


def marked(sentence: str) -> str:
    """Return the sentence unchanged; the call marks it for the translation files."""
    return sentence


def is_translated(template: str) -> bool:
    """Return whether any language has a translation of the sentence."""
    return any(template in _file(code) for code in LANGUAGES if code != ENGLISH)


def sentences(code: str) -> dict[str, str]:
    """Return a language's sentences by their English form, for the browser; empty for English."""
    if code == ENGLISH:
        return {}
    found: dict[str, str] = {}
    for message in _file(code):
        if OF_ENGINE in message.auto_comments:
            continue  # a page gets these from the server, with their values
        english = message.id if isinstance(message.id, tuple) else (message.id,)
        said = message.string if isinstance(message.string, tuple) else (message.string,)
        found |= {one: text for one, text in zip(english, said, strict=False) if one and text}
    return found
