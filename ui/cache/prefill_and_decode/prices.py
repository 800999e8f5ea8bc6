"""Prices per token that providers charge, to compare with the time that a token takes here."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import TypedDict

from engine.errors import SettingError
from engine.measure import Cell
from ui.words.language import marked, say

FILE = Path(__file__).with_suffix(".toml")
OWN = marked("Own prices")


class Price(TypedDict):
    """A published price: dollars per million tokens, its source, and the date it was checked."""

    input: float
    output: float
    source: str
    address: str
    checked: date


@cache
def published() -> dict[str, Price]:
    """Load the published prices, by model."""
    return tomllib.loads(FILE.read_text("utf-8"))


def source_of(input_price: float, output_price: float) -> str:
    """Return the model whose published prices these are; `OWN` if there is none."""
    prices = published().items()
    found = (
        name for name, one in prices if (one["input"], one["output"]) == (input_price, output_price)
    )
    return next(found, OWN)


def checked_price(field: str, price: float) -> float:
    """Return a price per million tokens; raises `SettingError` if it is out of range."""
    if not 0 <= price <= 1e6:
        raise SettingError(
            field, price, say("is not a price"), say("use dollars from 0 to 1,000,000")
        )
    return price


@dataclass(frozen=True)
class Cost:
    """Time and price of one request.

    Attributes:
        cell: the measured request.
        input_price, output_price: dollars per million tokens.
    """

    cell: Cell
    input_price: float
    output_price: float

    @property
    def input_ms(self) -> float:
        """Measured time of an input token: the prefill time per token."""
        return self.cell.first / self.cell.prompt

    @property
    def output_ms(self) -> float | None:
        """Measured time of an output token after the first; None if there is only one."""
        return self.cell.per_output

    @property
    def time_ratio(self) -> float | None:
        """Time of an output token divided by that of an input token; None if unknown."""
        return None if self.output_ms is None else self.output_ms / self.input_ms

    @property
    def price_ratio(self) -> float | None:
        """Price of an output token divided by that of an input token; None if input is free."""
        return self.output_price / self.input_price if self.input_price else None

    @property
    def input_dollars(self) -> float:
        """Price of the whole prompt in dollars."""
        return self.cell.prompt * self.input_price / 1e6

    @property
    def output_dollars(self) -> float:
        """Price of the whole output in dollars."""
        return self.cell.output * self.output_price / 1e6
