"""Published sizes of caches, to compare with those computed here; from `published.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

from engine.cache_formula import CacheFormula
from engine.calculator.cited import citation

_FILE = Path(__file__).with_name("published.toml")
_UNITS = {"kB": 1000, "KiB": 2**10, "GiB": 2**30}


@dataclass(frozen=True)
class Published:
    """A published cache size with its source, for 16 bits per value and one text.

    Attributes:
        shape: the model, by its name in `known_shapes`.
        positions: length of the text; 0 if the figure is for one more token.
        value: the figure.
        decimals: number of digits that the source gives after the point.
        unit: kB (1,000 bytes), KiB or GiB; the unit that the source means if it says KB or GB.
        source: who published it.
        address: where.
        checked: the day on which the figure was found there.
    """

    shape: str
    positions: int
    value: float
    decimals: int
    unit: str
    source: str
    address: str
    checked: date

    @property
    def cited(self) -> str:
        """Citation of the figure."""
        return citation(self.source, self.address, self.checked)

    def ours(self, formula: CacheFormula) -> float:
        """Return the size that the formula gives, in the unit of the figure."""
        positions = self.positions
        bytes_ = formula.bytes_at(positions) if positions else formula.bytes_per_token
        return bytes_ / _UNITS[self.unit]

    def agrees(self, formula: CacheFormula) -> bool:
        """Return whether the formula agrees with the figure to its last digit, however rounded."""
        return abs(self.ours(formula) - self.value) < 10**-self.decimals


@cache
def published_sizes() -> tuple[Published, ...]:
    """Return all published figures, in the order of the file."""
    return tuple(Published(**entry) for entry in tomllib.loads(_FILE.read_text("utf-8"))["figure"])
