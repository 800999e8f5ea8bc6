"""A record of the actions done for each page, so that a resent action is not done twice."""

from __future__ import annotations

from collections import OrderedDict

MOST_CLIENTS = 8


class Acknowledged:
    """The number of the last action done, by client; a client is a page in a browser."""

    def __init__(self) -> None:
        self._numbers: OrderedDict[str, int] = OrderedDict()

    def __contains__(self, client: str) -> bool:
        return client in self._numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def covers(self, client: str, number: int) -> bool:
        """Return whether an action was done before, so that this is a resend."""
        return number <= self._numbers.get(client, 0)

    def add(self, client: str, number: int) -> None:
        """Record an action; if there are too many clients, forget the one silent longest."""
        self._numbers[client] = max(number, self._numbers.get(client, 0))
        self._numbers.move_to_end(client)
        while len(self._numbers) > MOST_CLIENTS:
            self._numbers.popitem(last=False)

    def to_list(self) -> list:
        """Return the numbers as plain values."""
        return [[client, number] for client, number in self._numbers.items()]

    @classmethod
    def from_list(cls, values: object) -> Acknowledged:
        """Rebuild the record from the output of `to_list`; malformed entries are skipped."""
        made = cls()
        for entry in (values if isinstance(values, list) else [])[-MOST_CLIENTS:]:
            client, number = entry if isinstance(entry, list) and len(entry) == 2 else (None, None)
            if isinstance(client, str) and isinstance(number, int):
                made.add(client, number)
        return made
