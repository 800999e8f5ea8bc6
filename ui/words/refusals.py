"""What the engine says, in the language of the visitor: refusals, notices, notes of exported code.

    told(error)        "Top-p muss über 0 und höchstens 1 sein, gegeben: 1.4; …"
    in_words(error)    "top_p muss …", as where settings go by their names in code
    told(sentence)     of a notice

The engine knows of no language: it builds whole English sentences. Here such a sentence is
recognised by the templates that `engine_sentences.py` finds in the engine's source. What stood in a
place of it is recognised in its turn, as a message may hold a remedy or another message. What is
not recognised stays English.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from engine.errors import SettingError, shown_value
from engine.sampling import STAGES
from ui.words.engine_sentences import PLACE, fixed
from ui.words.language import ENGLISH, engine_sentences, language, marked, say

FRAME = marked("{setting} {problem}, got {value}; {remedy}.")  # as `SettingError` has it
DEEPEST = 5  # a message in a message
LONGEST = 5_000  # characters; no sentence of the engine has more
_FRAMED = re.compile(
    r"(?P<setting>\S+) (?P<problem>.+?), got (?P<value>.+?); (?P<remedy>.+)\.", re.S
)


@dataclass(frozen=True)
class _Template:
    """A sentence with places, by which one with values is recognised."""

    pattern: re.Pattern[str]
    needed: str  # its longest fixed piece: what lacks it needs no search
    said: str
    fixed: int  # how many characters are fixed

    @classmethod
    def of(cls, english: str, said: str) -> _Template:
        places, pieces = PLACE.findall(english), PLACE.split(english)
        pieces = [fixed(piece) for piece in pieces]
        pattern = re.escape(pieces[0])
        for place, piece in zip(places, pieces[1:], strict=True):
            pattern += f"(?P<{place[1:-1]}>.+?){re.escape(piece)}"
        return cls(
            re.compile(pattern, re.DOTALL), max(pieces, key=len), said, sum(map(len, pieces))
        )


class _Said(NamedTuple):
    """A sentence that was recognised, and how many of its English characters by."""

    text: str
    fixed: int


@cache
def _templates(code: str) -> tuple[dict[str, str], tuple[_Template, ...]]:
    """Sentences without places, and those with."""
    said = engine_sentences(code)
    plain = {fixed(one): fixed(said[one]) for one in said if not PLACE.search(one)}
    return plain, tuple(_Template.of(one, said[one]) for one in said if PLACE.search(one))


def told(error: Exception | str) -> str:
    """An error or a sentence of the engine in the language spoken here; a sampler by its label."""
    if isinstance(error, SettingError) and error.setting in STAGES:
        return _refusal(error, say(STAGES[error.setting].info.label))
    return in_words(error)


def in_words(error: Exception | str) -> str:
    """The same with every setting as code has it: ``top_p``; in English the engine's own words."""
    if isinstance(error, SettingError):
        return _refusal(error, error.setting)
    code = language()
    return str(error) if code == ENGLISH else _said(str(error), code)


def _refusal(error: SettingError, name: str) -> str:
    code = language()
    if code == ENGLISH:
        return str(error).replace(error.setting, name, 1)
    value = error.value
    return say(
        FRAME,
        setting=_said(name, code),
        problem=_said(error.problem, code),
        value=shown_value(_said(value, code) if isinstance(value, str) else value),
        remedy=_said(error.remedy, code),
    )


def _said(sentence: str, code: str) -> str:
    found = _recognised(sentence, code, DEEPEST)
    return found.text if found else sentence


def _recognised(sentence: str, code: str, depth: int) -> _Said | None:
    """The sentence in a language, by what recognises most of it; None where nothing does."""
    plain, templates = _templates(code)
    if sentence in plain:
        return _Said(plain[sentence], len(sentence))
    if not depth or len(sentence) > LONGEST:
        return None
    best = None
    for template in templates:
        found = template.needed in sentence and template.pattern.fullmatch(sentence)
        if found:
            best = _better(best, _filled(template.said, template.fixed, found, code, depth))
    found = _FRAMED.fullmatch(sentence)  # a refused setting, within another message
    if found and _recognised(found["problem"], code, depth - 1):
        best = _better(best, _filled(say(FRAME), 1, found, code, depth))
    return best


def _better(one: _Said | None, other: _Said) -> _Said:
    return one if one and one.fixed >= other.fixed else other


def _filled(said: str, fixed: int, found: re.Match[str], code: str, depth: int) -> _Said:
    """A sentence with what stood in its places, said as well."""
    values = found.groupdict()
    for name, value in values.items():
        inner = _recognised(value, code, depth - 1)
        if inner:
            values[name], fixed = inner.text, fixed + inner.fixed
    return _Said(said.format(**values), fixed)
