"""A plot: its file format, and the stories from it.

A plot file contains plots, separated by a line `---`. A plot begins with its slots, one per line:

    hero: child
    thing: toy

Its paragraphs follow after an empty line, separated by empty lines, in the notation of `notation`.
Two slots of one plot never have the same word.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass

from models.training.own_texts.notation import Word, check, choose, fill


@dataclass(frozen=True)
class Plot:
    """A plot: the class of words of every slot, and its paragraphs in the notation above."""

    slots: Mapping[str, str]
    paragraphs: tuple[str, ...]

    def tell(self, words: Mapping[str, tuple[Word, ...]], chance: random.Random) -> str:
        """Tell one story: choices made, slots filled, paragraphs separated by empty lines."""
        filled: dict[str, Word] = {}
        for slot, group in self.slots.items():
            taken = tuple(filled.values())
            free = [word for word in words[group] if word not in taken]
            filled[slot] = chance.choice(free)
        told = (fill(choose(text, chance), filled) for text in self.paragraphs)
        return "\n\n".join(" ".join(text.split()) for text in told)


def parse_plots(text: str) -> list[Plot]:
    """Parse the plots of a file.

    Raises:
        ValueError: a plot has no slots or paragraphs, has unmatched brackets, or uses an undeclared
            slot; the sentence names the place.
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
        check(text, slots)
    return Plot(slots, tuple(parts[1:]))
