"""Quotas in a file of records: a share for each person and address, and eviction once it is full.

Beyond a person's share, their own oldest records are evicted. Beyond the share of an address, the
oldest record of the address with the most bytes is evicted. A record younger than `Terms.safe` is
evicted only for its own person. If too little can be evicted, the new record is not kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from ui.server.shares import has_share

DAY = 86_400.0
MIB = 2**20


@dataclass(frozen=True)
class Terms:
    """Limits on how much a file keeps, and for how long.

    Attributes:
        seconds: time for which an unchanged record is kept.
        safe: seconds in which it is not evicted for another person's record.
        bytes: the most bytes of all records together.
        of_person: the most bytes of one person's records.
    """

    seconds: float = 14 * DAY
    safe: float = DAY
    bytes: int = 64 * MIB
    of_person: int = 8 * MIB


VISITS = Terms()


class Row(NamedTuple):
    """A record in the file, without its content; person and address as digests."""

    visit: str
    page: str
    person: str
    address: str
    bytes: int
    changed: float

    @property
    def key(self) -> tuple[str, str]:
        """The digest of the visit's token, and the page."""
        return self.visit, self.page


class Quota:
    """The bytes in use by person and address, from which to choose the records to evict.

    Args:
        terms: the limits of the file.
        rows: all records in it, the oldest first.
    """

    def __init__(self, terms: Terms, rows: Iterable[Row]) -> None:
        self._terms = terms
        self._rows: dict[tuple[str, str], Row] = {}  # the oldest first
        self._of_address: Counter[str] = Counter()  # bytes
        self._of_person: Counter[str] = Counter()
        for row in rows:
            self._add(row)

    def admit(self, new: Row) -> list[Row] | None:
        """Add a record; return those evicted for it, or None if it cannot be kept."""
        replaced = self._rows.get(new.key)
        is_smaller = replaced is not None and new.bytes <= replaced.bytes
        gone = [] if is_smaller else self._evicted(new, replaced)
        if gone is not None:
            for row in gone if replaced is None else [*gone, replaced]:
                self._remove(row)
            self._add(new)
        return gone

    def _evicted(self, new: Row, replaced: Row | None) -> list[Row] | None:
        terms, held = self._terms, self._of_address.copy()
        of_person = self._of_person[new.person]
        # Newcomers of an address are refused before persons who already have records there.
        times = 2 if of_person else 1
        if replaced is not None:
            held[replaced.address] -= replaced.bytes
            of_person -= replaced.bytes if replaced.person == new.person else 0
        too_much = of_person + new.bytes - terms.of_person

        def fits() -> bool:
            own = held[new.address]
            return has_share(terms.bytes, held.total(), own, new.bytes, times)

        if too_much <= 0 and fits():
            return []
        gone, others = [], []
        for row in self._rows.values():
            if row is replaced:
                continue
            if row.person == new.person and too_much > 0:
                too_much -= row.bytes
                held[row.address] -= row.bytes
                gone.append(row)
            elif row.person == new.person or row.changed < new.changed - terms.safe:
                others.append(row)
        while too_much <= 0 and not fits():
            most = max((held[row.address] for row in others), default=-1)
            if most < held[new.address]:
                return None
            row = next(row for row in others if held[row.address] == most)
            held[row.address] -= row.bytes
            others.remove(row)
            gone.append(row)
        return None if too_much > 0 else gone

    def _add(self, row: Row) -> None:
        self._rows[row.key] = row
        self._of_address[row.address] += row.bytes
        self._of_person[row.person] += row.bytes

    def _remove(self, row: Row) -> None:
        del self._rows[row.key]
        for held, name in ((self._of_address, row.address), (self._of_person, row.person)):
            held[name] -= row.bytes
            if not held[name]:
                del held[name]
