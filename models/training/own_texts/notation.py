"""The notation of our own texts: choices in brackets, words in slots.

[red|blue|]       is one of these, possibly empty; brackets may be nested
{hero}            is the name in that slot, {a thing} the same with its article
{hero.he} .him .his .himself   are its pronouns; {hero.He} begins a sentence
{hero.kind}       is its kind ("boy", "old fox"); {thing.many} its plural
{Thing} {A thing} {Thing.many} begin a sentence
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

_SLOT = re.compile(r"\{(?:(?P<article>[Aa]n?) )?(?P<name>[A-Za-z_]+)(?:\.(?P<form>[A-Za-z]+))?\}")
_INNERMOST = re.compile(r"\[([^\[\]]*)\]")
_TAKES_AN = re.compile(r"[aeio]|u(?!n[ai])|hour", re.IGNORECASE)


@dataclass(frozen=True)
class Word:
    """A word for a slot.

    Attributes:
        text: its name in the story.
        kind: its kind, if `text` is a name; otherwise the same as `text`.
        pronoun: "he", "she" or "it".
        many: the plural.
    """

    text: str
    kind: str = ""
    pronoun: str = "it"
    many: str = ""

    @classmethod
    def parse(cls, entry: str) -> Word:
        """Parse a thing: its name, then after a slash its plural unless that just adds an s."""
        one, _, many = entry.strip().partition("/")
        return cls(one, one, "it", many or one + "s")


_FORMS = {
    "he": {"he": "he", "him": "him", "his": "his", "himself": "himself"},
    "she": {"he": "she", "him": "her", "his": "her", "himself": "herself"},
    "it": {"he": "it", "him": "it", "his": "its", "himself": "itself"},
}


def choose(text: str, chance: random.Random) -> str:
    """Pick one of the choices in each pair of brackets."""
    begin = 0
    while match := _INNERMOST.search(text, begin):
        picked = chance.choice(match[1].split("|"))
        before = text[: match.start()]
        text = before + picked + text[match.end() :]
        # Every open bracket before, except the last, contains another one, so it cannot be next.
        opened = before.rfind("[")
        begin = len(before) if opened < 0 else opened
    return text


def fill(text: str, filled: Mapping[str, Word]) -> str:
    """Fill the slots of a text: slot name -> word."""

    def replace(match: re.Match[str]) -> str:
        name, article, form, begins = _asked(match[0])
        word = filled[name]
        if form is None:
            said = word.text
        elif form == "kind":
            said = word.kind or word.text
        elif form == "many":
            said = word.many or word.text + "s"
        else:
            said = _FORMS[word.pronoun][form.lower()]
        if article:
            said = f"{'an' if _TAKES_AN.match(said) else 'a'} {said}"
        return said[0].upper() + said[1:] if begins else said

    return _SLOT.sub(replace, text)


@cache
def _asked(slot: str) -> tuple[str, bool, str | None, bool]:
    """Parse a slot: its name, whether it has an article, its form, whether it is capitalised."""
    match = _SLOT.fullmatch(slot)
    begins = any(part and part[0].isupper() for part in match.groups())
    return match["name"].lower(), bool(match["article"]), match["form"], begins


def check(text: str, slots: Iterable[str]) -> None:
    """Refuse a text that `choose` and `fill` could not finish.

    Raises:
        ValueError: brackets do not match, or a slot is not in `slots`; the sentence names it.
    """
    if text.count("[") != text.count("]"):
        raise ValueError(f"brackets do not match in: {text}")
    for match in _SLOT.finditer(text):
        if match["name"].lower() not in slots:
            raise ValueError(f"slot {match['name']} is used but not declared in: {text}")
    if re.search(r"[{}]", _SLOT.sub("", text)):
        raise ValueError(f"something in braces is no slot in: {text}")
