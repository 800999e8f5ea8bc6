"""What the engine says, in the language of the visitor: refusals, notices, notes of exported code.

    told(error)       "Top-p muss über 0 und höchstens 1 sein, gegeben: 1.4; …"
    told(sentence)    of a notice

The engine knows of no language: it builds whole English sentences. Here such a sentence is
recognised by the templates that `engine_sentences.py` finds in the engine's source. What stood in a
place of it is recognised in its turn, as a message may hold a remedy or another message. What is
not recognised stays English.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from engine.errors import SettingError, shown_value
from engine.sampling import STAGES
from ui.words.engine_sentences import PLACE, fixed
from ui.words.language import ENGLISH, engine_sentences, language, marked, say

FRAME = marked("{setting} {problem}, got {value}; {remedy}.")  # as `SettingError` has it
DEEPEST = 5  # a message in a message
LONGEST = 5_000  # characters; no sentence of the engine has more
_FRAMED = re.compile(r"(?P<setting>\S+) (?P<problem>.+?), got (?P<value>.+?); (?P<remedy>.+)\.", re.S)


@dataclass(frozen=True)
class _Template:
    """A sentence with places, by which one with values is recognised."""

    pattern: re.Pattern[str]
    needed: str  # its longest fixed piece: what lacks it needs no search
    said: str

    @classmethod
    def of(cls, english: str, said: str) -> _Template:
        places, pieces = PLACE.findall(english), PLACE.split(english)
        pieces = [fixed(piece) for piece in pieces]
        pattern = re.escape(pieces[0])
        for place, piece in zip(places, pieces[1:], strict=True):
            pattern += f"(?P<{place[1:-1]}>.+?){re.escape(piece)}"
        return cls(re.compile(pattern, re.DOTALL), max(pieces, key=len), said)


@cache
def _templates(code: str) -> tuple[dict[str, str], tuple[_Template, ...]]:
    """Sentences without places, and those with: the most fixed characters first."""
    said = engine_sentences(code)
    plain = {fixed(one): fixed(said[one]) for one in said if not PLACE.search(one)}
    longest = sorted((one for one in said if PLACE.search(one)), key=lambda one: -len(fixed(one)))
    return plain, tuple(_Template.of(one, said[one]) for one in longest)


def told(error: Exception | str) -> str:
    """An error or a sentence of the engine as pages say it, a sampler by its label: ``Top-p``."""
    code = language()
    if not isinstance(error, SettingError):
        return str(error) if code == ENGLISH else _said(str(error), code)
    if code == ENGLISH:
        name = _name(error.setting, code)
        return str(error).replace(error.setting, name, 1)
    value = error.value
    return say(
        FRAME,
        setting=_name(error.setting, code),
        problem=_said(error.problem, code),
        value=shown_value(_said(value, code) if isinstance(value, str) else value),
        remedy=_said(error.remedy, code),
    )


def _name(setting: str, code: str) -> str:
    if setting in STAGES:
        return say(STAGES[setting].info.label)
    return setting if code == ENGLISH else _said(setting, code)


def _said(sentence: str, code: str) -> str:
    found = _recognised(sentence, code, DEEPEST)
    return sentence if found is None else found


def _recognised(sentence: str, code: str, depth: int) -> str | None:
    """The sentence in a language; None where it is none of the engine's."""
    plain, templates = _templates(code)
    if sentence in plain:
        return plain[sentence]
    if not depth or len(sentence) > LONGEST:
        return None
    for template in templates:
        found = template.needed in sentence and template.pattern.fullmatch(sentence)
        if found:
            return template.said.format(**_values(found, code, depth))
    found = _FRAMED.fullmatch(sentence)  # a refused setting, within another message
    if found and _recognised(found["problem"], code, depth - 1) is not None:
        return say(FRAME, **_values(found, code, depth))
    return None


def _values(found: re.Match[str], code: str, depth: int) -> dict[str, str]:
    return {
        name: value if (said := _recognised(value, code, depth - 1)) is None else said
        for name, value in found.groupdict().items()
    }
