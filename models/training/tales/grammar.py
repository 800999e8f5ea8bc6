"""The notation of plots, and how one is told.

A plot file holds plots, separated by a line `---`. A plot begins with its slots, one a line:

    hero: child
    thing: toy

After an empty line come its paragraphs, separated by empty lines. In them

    [red|blue|]       is one of these, the empty one included; brackets may stand in brackets
    {hero}            is the name in that slot, {a thing} the same with its article
    {hero.he} .him .his .himself   are its pronouns; {hero.He} begins a sentence
    {hero.kind}       what it is ("boy", "old fox"); {thing.many} its plural
    {Thing} {A thing} begin a sentence

Two slots of one plot never hold the same word.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass

_SLOT = re.compile(r"\{(?:(?P<article>[Aa]n?) )?(?P<name>[A-Za-z_]+)(?:\.(?P<form>[A-Za-z]+))?\}")
_VOWELS = "aeiou"


@dataclass(frozen=True)
class Word:
    """What can fill a slot.

    Attributes:
        text: how it is called.
        kind: what it is, where `text` is a name; otherwise the same as `text`.
        pronoun: "he", "she" or "it".
        many: the plural.
    """

    text: str
    kind: str = ""
    pronoun: str = "it"
    many: str = ""


_FORMS = {
    "he": {"he": "he", "him": "him", "his": "his", "himself": "himself"},
    "she": {"he": "she", "him": "her", "his": "her", "himself": "herself"},
    "it": {"he": "it", "him": "it", "his": "its", "himself": "itself"},
}


@dataclass(frozen=True)
class Plot:
    """A plot: the class of words of every slot, and its paragraphs in the notation above."""

    slots: Mapping[str, str]
    paragraphs: tuple[str, ...]

    def tell(self, words: Mapping[str, tuple[Word, ...]], chance: random.Random) -> str:
        """One story: every choice made, every slot filled; paragraphs separated by empty lines."""
        filled: dict[str, Word] = {}
        for slot, group in self.slots.items():
            free = [word for word in words[group] if word not in filled.values()]
            filled[slot] = chance.choice(free)
        told = (_fill(_choose(text, chance), filled) for text in self.paragraphs)
        return "\n\n".join(re.sub(r"\s+", " ", text).strip() for text in told)


def parse_plots(text: str) -> list[Plot]:
    """The plots of a file.

    Raises:
        ValueError: a plot has no slots or paragraphs, brackets that do not match, or uses a slot
            that it does not declare; the sentence names the place.
    """
    return [_parse(block) for block in re.split(r"^---$", text, flags=re.M) if block.strip()]


def _parse(block: str) -> Plot:
    parts = [part.strip() for part in re.split(r"\n\s*\n", block.strip())]
    slots = {}
    for line in parts[0].splitlines():
        name, colon, group = line.partition(":")
        if not colon:
            raise ValueError(f"a plot must begin with lines like 'hero: child', got {line!r}")
        slots[name.strip()] = group.strip()
    if len(parts) < 2:
        raise ValueError(f"the plot with slots {', '.join(slots)} has no paragraphs")
    for text in parts[1:]:
        if text.count("[") != text.count("]"):
            raise ValueError(f"brackets do not match in: {text}")
        for match in _SLOT.finditer(text):
            if match["name"].lower() not in slots:
                raise ValueError(f"slot {match['name']} is used but not declared in: {text}")
        if re.search(r"[{}]", _SLOT.sub("", text)):
            raise ValueError(f"something in braces is no slot in: {text}")
    return Plot(slots, tuple(parts[1:]))


def _choose(text: str, chance: random.Random) -> str:
    innermost = re.compile(r"\[([^\[\]]*)\]")
    while match := innermost.search(text):
        picked = chance.choice(match[1].split("|"))
        text = text[: match.start()] + picked + text[match.end() :]
    return text


def _fill(text: str, filled: Mapping[str, Word]) -> str:
    def replace(match: re.Match[str]) -> str:
        name = match["name"]
        word = filled[name.lower()]
        form = match["form"]
        if form is None:
            said = word.text
        elif form == "kind":
            said = word.kind or word.text
        elif form == "many":
            said = word.many or word.text + "s"
        else:
            said = _FORMS[word.pronoun][form.lower()]
        if match["article"]:
            said = f"{'an' if said[0].lower() in _VOWELS else 'a'} {said}"
        begins = (form or match["article"] or name)[0].isupper() or (
            form == "kind" and name[0].isupper()
        )
        return said[0].upper() + said[1:] if begins else said

    return _SLOT.sub(replace, text)
