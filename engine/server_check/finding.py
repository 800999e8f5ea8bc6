"""A check's finding: its outcome, sentences and tables, all computed from its figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from engine.errors import Message

AS_EXPECTED = "as expected"
DIFFERS = "differs"
OPEN = "open"  # the figures decide nothing, or the server does not tell

Cell = str | int | float | None


class TokenText(str):
    """The text of a token, to be shown with its invisible characters."""

    @property
    def quoted(self) -> str:
        """The text on one line, in quotation marks."""
        return json.dumps(self, ensure_ascii=False)


@dataclass(frozen=True)
class Sheet:
    """A table of figures.

    Attributes:
        name: its caption.
        head: column names with units.
        rows: the cells; None is an empty cell.
    """

    name: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


class Finding(Protocol):
    """Result of a check, as a dataclass of plain figures.

    Class attributes:
        title: the check's name.
    """

    title: ClassVar[str]

    @property
    def outcome(self) -> str:
        """`AS_EXPECTED`, `DIFFERS` or `OPEN`."""

    @property
    def sentences(self) -> Sequence[Message]:
        """The verdict, one sentence each."""

    @property
    def sheets(self) -> Sequence[Sheet]:
        """Tables of the figures."""


@dataclass(frozen=True)
class Failed:
    """A check that could not be made.

    Attributes:
        title: the check's name.
        reason: the error, a sentence.
    """

    title: str
    reason: Message

    outcome = OPEN
    sheets = ()

    @property
    def sentences(self) -> tuple[Message, ...]:
        """The reason."""
        return (self.reason,)
