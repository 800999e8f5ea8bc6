"""A table of facts: its file format, and the sentences from it.

A file contains tables, separated by a line `---`. A table has three parts with an empty line
between:

    animal; home

    {A animal} lives in {a home}.
    Where does {a animal} live? In {a home}.

    bird; nest
    mouse/mice; hole

the slots, the wordings in the notation of `notation`, and the facts, one per line.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass

from models.training.own_texts.notation import Word, check, choose, fill

Fact = Mapping[str, Word]  # slot name -> word


@dataclass(frozen=True)
class Table:
    """Facts of one sort and their wordings."""

    wordings: tuple[str, ...]
    facts: tuple[Fact, ...]

    def say(self, fact: Fact, chance: random.Random) -> str:
        """State the fact in one of the wordings, as a sentence or two."""
        said = fill(choose(chance.choice(self.wordings), chance), fact)
        return said[0].upper() + said[1:]


def parse_tables(text: str) -> list[Table]:
    """Parse the tables of a file.

    Raises:
        ValueError: a table does not have three parts, a wording is malformed or uses an undeclared
            slot, or a fact does not have one word per slot; the sentence names the place.
    """
    return [_parse(block) for block in re.split(r"^---$", text, flags=re.M) if block.strip()]


def _parse(block: str) -> Table:
    parts = [part.strip() for part in re.split(r"\n\s*\n", block.strip())]
    if len(parts) != 3:
        raise ValueError(f"a table must have slots, wordings and facts, got {len(parts)} parts")
    slots = [name.strip() for name in parts[0].split(";")]
    wordings = tuple(parts[1].splitlines())
    for wording in wordings:
        check(wording, slots)
    facts = []
    for line in parts[2].splitlines():
        entries = line.split(";")
        if len(entries) != len(slots):
            raise ValueError(f"a fact must have {', '.join(slots)}, got {line!r}")
        facts.append(dict(zip(slots, map(Word.parse, entries), strict=True)))
    return Table(wordings, tuple(facts))
