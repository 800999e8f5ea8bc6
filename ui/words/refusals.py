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

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

from engine.errors import SettingError, shown_value
from engine.sampling import STAGES
from ui.words.engine_sentences import PLACE, fixed
from ui.words.language import ENGLISH, engine_sentences, language, localised, marked, say

FRAME = marked("{setting} {problem}, got {value}; {remedy}.")  # as `SettingError` has it
DEEPEST = 5  # a message in a message
LONGEST = 1_000  # characters; few sentences of the engine have more, and those stay English


@dataclass(frozen=True)
class _Template:
    """A sentence with places, by which one with values is recognised.

    Attributes:
        places: names of the places, in their order.
        pieces: what stands before, between and behind them.
        said: the sentence in another language, with the same places.
        fixed: how many characters the pieces have.
    """

    places: tuple[str, ...]
    pieces: tuple[str, ...]
    said: str
    fixed: int

    @classmethod
    def of(cls, english: str, said: str) -> _Template:
        places = tuple(place[1:-1] for place in PLACE.findall(english))
        pieces = tuple(map(fixed, PLACE.split(english)))
        return cls(places, pieces, said, sum(map(len, pieces)))

    def values(self, sentence: str) -> dict[str, str] | None:
        """What stands in the places, as short as it can be; None where the sentence is another.

        Piece by piece, so that it takes no longer than reading the sentence once: an expression
        with several places may go through all ways to share a hostile text among them.
        """
        first, *between, last = self.pieces
        end = len(sentence) - len(last)
        if not (sentence.startswith(first) and sentence.endswith(last)):
            return None
        found, start = {}, len(first)
        for place, piece in zip(self.places, between, strict=False):
            stop = sentence.find(piece, start + 1, end)
            if stop < 0:
                return None
            found[place] = sentence[start:stop]
            start = stop + len(piece)
        if start >= end:
            return None
        return found | {self.places[-1]: sentence[start:end]}


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


@lru_cache(maxsize=4096)
def _recognised(sentence: str, code: str, depth: int) -> _Said | None:
    """The sentence in a language, by what recognises most of it; None where nothing does."""
    plain, templates = _templates(code)
    if sentence in plain:
        return _Said(plain[sentence], len(sentence))
    if not depth or len(sentence) > LONGEST:
        return None
    best = None
    for template in templates:
        values = template.values(sentence)
        if values:
            best = _better(best, _filled(template.said, template.fixed, values, code, depth))
    values = _FRAMED.values(sentence)  # a refused setting, within another message
    if values and _recognised(values["problem"], code, depth - 1):
        best = _better(best, _filled(say(FRAME), 1, values, code, depth))
    return best


def _better(one: _Said | None, other: _Said) -> _Said:
    return one if one and one.fixed >= other.fixed else other


def _filled(said: str, fixed: int, values: dict[str, str], code: str, depth: int) -> _Said:
    """A sentence with what stood in its places, said as well."""
    values = dict(values)
    for name, value in values.items():
        inner = _recognised(value, code, depth - 1)
        if inner:
            values[name], fixed = inner.text, fixed + inner.fixed
    return _Said(said.format(**{name: localised(value) for name, value in values.items()}), fixed)


_FRAMED = _Template.of(FRAME, FRAME)
