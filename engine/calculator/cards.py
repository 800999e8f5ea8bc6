"""Accelerators with their published memory and bandwidth; the list is `cards.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

from engine.calculator.cited import citation

_FILE = Path(__file__).with_name("cards.toml")


@dataclass(frozen=True)
class Card:
    """An accelerator, or any memory with a bandwidth.

    Attributes:
        name: display name.
        gigabytes: memory in GB of 1,000,000,000 bytes.
        bandwidth: bandwidth of that memory, in GB/s.
        source: where both are published; empty for a visitor's own numbers.
        address: address of that publication.
        checked: the day on which both were found there.
    """

    name: str
    gigabytes: float
    bandwidth: float
    source: str = ""
    address: str = ""
    checked: date | None = None

    @property
    def cited(self) -> str:
        """Citation of its figures; empty for a visitor's own numbers."""
        return citation(self.source, self.address, self.checked) if self.checked else ""


@cache
def known_cards() -> dict[str, Card]:
    """Return all cards by name, in the order of the file."""
    made = (Card(**entry) for entry in tomllib.loads(_FILE.read_text("utf-8"))["card"])
    return {card.name: card for card in made}
