"""Many different tales from all plots."""

import random
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path

from models.training.own_texts.tales.plot import Plot, parse_plots
from models.training.own_texts.tales.words import WORDS

PLOTS = Path(__file__).parent / "plots"
OPENING = "Once upon a time"  # prompts often begin with it, so a large share of tales should
TRIES = 4  # attempts to begin with it


@cache
def all_plots() -> tuple[Plot, ...]:
    """Load the plots of all files, in the order of the file names.

    Raises:
        ValueError: a plot is malformed, or names a class of words that is not in `WORDS`.
    """
    plots = []
    for file in sorted(PLOTS.glob("*.txt")):
        for plot in parse_plots(file.read_text(encoding="utf-8")):
            for slot, group in plot.slots.items():
                if group not in WORDS:
                    known = ", ".join(WORDS)
                    raise ValueError(f"{file.name}: {slot} must be one of {known}, got {group}")
            plots.append(plot)
    return tuple(plots)


def tales(count: int, seed: int) -> list[str]:
    """Return `count` different tales, with every plot equally often; a seed fixes them."""
    return list(islice(_told(random.Random(seed)), count))


def _told(chance: random.Random) -> Iterator[str]:
    told = set()
    while True:
        for plot in all_plots():
            for _ in range(TRIES):
                text = plot.tell(WORDS, chance)
                if text.startswith(OPENING):
                    break
            if text not in told:
                told.add(text)
                yield text
