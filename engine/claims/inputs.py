"""Inputs of experiments, each with a label, an initial value and a range.

Records and form fields contain the text or number as typed. `value` converts it into the
experiment's argument.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.checks import typed_list
from engine.claims.experiment import checked_range
from engine.errors import SettingError, msg

MOST_LINES = 200
MOST_NUMBERS = 16
LARGEST = 2**53 - 1  # a browser's numbers represent it exactly


@dataclass(frozen=True)
class Input:
    """An input of an experiment.

    Attributes:
        name: name of the argument.
        label: display name.
        first: initial value.
        help: further explanation; empty for none.
    """

    name: str
    label: str
    first: Any
    help: str = ""

    def value(self, typed: Any) -> Any:
        """Convert to the experiment's argument; raises `DecodingError` if the value is invalid."""
        return typed


@dataclass(frozen=True)
class Text(Input):
    """A text of several lines, in a field `height` pixels high."""

    height: int = 150


class Lines(Text):
    """Texts, one per line."""

    def value(self, typed: str) -> list[str]:
        """Return the lines that are not blank."""
        found = [line for line in typed.splitlines() if line.strip()]
        if len(found) > MOST_LINES:
            problem = msg("must number at most {most}", MOST_LINES)
            raise SettingError(msg("Lines"), len(found), problem, "remove some")
        return found


@dataclass(frozen=True)
class Line(Input):
    """A text on one line; a wide one has a row of the form to itself."""

    is_wide: bool = False


@dataclass(frozen=True)
class Numbers(Input):
    """Numbers separated by commas, ascending, without duplicates.

    Further attributes:
        low, high: the range of each.
        least, most: limits on how many there are.
    """

    low: float = -math.inf
    high: float = math.inf
    least: int = 1
    most: int = MOST_NUMBERS

    def value(self, typed: str) -> list[float]:
        """Parse the numbers."""
        try:
            found = sorted({float(part) for part in typed_list(typed).split(",") if part.strip()})
        except ValueError:
            found = []
        if not 1 <= len(found) <= self.most or not all(map(math.isfinite, found)):
            problem = msg("must be 1 to {most} numbers with commas between them", self.most)
            raise SettingError(self.label, typed, problem, "write them as in 0.5, 1, 2")
        if len(found) < self.least:
            remedy = msg("give at least {least}, as in {example}", (self.least, self.first))
            raise SettingError(self.label, found, "are too few", remedy)
        return [checked_range(self.label, number, self.low, self.high) for number in found]


class Wholes(Numbers):
    """Whole numbers, otherwise like `Numbers`."""

    def value(self, typed: str) -> list[int]:
        """Parse the numbers."""
        found = super().value(typed)
        for number in found:
            if not number.is_integer():
                raise SettingError(
                    self.label, number, "is not a whole number", "use whole numbers as in 4, 12"
                )
        return [int(number) for number in found]


@dataclass(frozen=True)
class Whole(Input):
    """A whole number from `low` to `high`; a `high` of None means the size of the vocabulary."""

    low: int = 0
    high: int | None = LARGEST

    def value(self, typed: int) -> int:
        """Check the number."""
        return checked_range(
            self.label, typed, self.low, LARGEST if self.high is None else self.high
        )


@dataclass(frozen=True)
class Real(Input):
    """A number from `low` to `high`; the buttons of its field change it by `step`."""

    low: float = -math.inf
    high: float = math.inf
    step: float = 0.1

    def value(self, typed: float) -> float:
        """Check the number."""
        return checked_range(self.label, typed, self.low, self.high)


@dataclass(frozen=True)
class Choice(Input):
    """One of several keys, each with a display name."""

    names: Mapping[str, str] = field(default_factory=dict)


def prompts(first: str, height: int = 150) -> Lines:
    """Return the input for an experiment's prompts."""
    return Lines("prompts", msg("Prompts, one per line"), first, height=height)


def tokens(first: int, low: int, high: int) -> Whole:
    """Return the input for the exact or maximum number of tokens of each text."""
    return Whole("tokens", msg("Tokens of a text"), first, low=low, high=high)


STORY_PROMPTS = """Once upon a time, there was a little
The old house stood
In the middle of the forest
One day, the king
The girl opened the box and found
My favourite thing in the world is"""
