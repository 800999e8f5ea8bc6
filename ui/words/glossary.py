"""The glossary: terms of the field, their meanings and forms, and the pages to try them on.

The words are in `lessons/glossary`, a file for each language; `where.toml` is the same for all.
Words that a language lacks are taken from English, so the English forms of a term are found in any
language. A sampler without an entry gets the sentence of its class.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, TypedDict

from ui.words.language import ENGLISH, language, say, speaking

FOLDER = Path(__file__).resolve().parents[2] / "lessons" / "glossary"


class Term(TypedDict):
    """A term of the glossary.

    Keys:
        name: its name, as a heading.
        text: its meaning, in two sentences.
        written: its forms in running text; empty if the word is too common to be marked.
        everyday: words that mean it only in some places, and something else elsewhere.
        places: those places: pages and lessons, by their names in an address.
        page: the address of the page on which it can be tried: ``cache``.
        at: the control or chart to use there: ``Roofline``.
    """

    name: str
    text: str
    written: list[str]
    everyday: list[str]
    places: list[str]
    page: str
    at: str


@cache
def glossary(code: str = ENGLISH) -> dict[str, Term]:
    """Return all terms in a language, by the keys that pages use."""
    english = _read(ENGLISH)
    words = english | _read(code)
    pages = _read("where")
    places = pages.pop("everyday", {})
    terms = {
        key: Term(
            name=said["name"],
            text=said["text"],
            written=_once(said.get("written", [key]) + english[key].get("written", [key])),
            everyday=_once(said.get("everyday", []) + english[key].get("everyday", [])),
            places=places.get(key, []),
            page=pages.get(key, ""),
            at=said["at"],
        )
        for key, said in words.items()
    }
    taken = {form.lower() for term in terms.values() for form in term["written"]}
    return {key: term for key, term in _samplers(code).items() if key.lower() not in taken} | terms


def meaning(key: str) -> str:
    """Return a term's meaning, for the `help` of a field; raise `KeyError` for an unknown one."""
    return glossary(language())[key]["text"]


def _once(forms: list[str]) -> list[str]:
    """Drop forms that differ only in capitalisation from an earlier one."""
    return list({form.lower(): form for form in reversed(forms)}.values())[::-1]


def _read(name: str) -> dict[str, Any]:
    file = FOLDER / f"{name}.toml"
    return tomllib.loads(file.read_text("utf-8")) if file.exists() else {}


def _samplers(code: str) -> dict[str, Term]:
    """Return the terms for the engine's samplers, from the descriptions in their classes."""
    from engine.sampling import STAGES  # imports PyTorch; pages appear before that is done

    infos = [kind.info for kind in STAGES.values()]
    with speaking(code):
        return {
            info.in_text: Term(
                name=say(info.label),
                text=say(info.about),
                written=_once([say(info.in_text), info.in_text]),
                everyday=[],
                places=[],
                page="step",
                at=say(info.label),
            )
            for info in infos
        }
