"""Whose turn it is, where only so many may be at work."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

WAIT_SECONDS = 0.1  # between two looks at a cancel while it waits


class Line:
    """A number of places, taken in the order in which they were asked for."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: deque[object] = deque()
        self._changed = threading.Condition()

    def enter(
        self, gives_up: Callable[[], bool], told: Callable[[int], None] = lambda behind: None
    ) -> bool:
        """Wait for a place; False without one, where `gives_up` says so meanwhile.

        `told` hears again and again how many others wait before this one.
        """
        ticket = object()
        with self._changed:
            self._waiting.append(ticket)
        try:
            while not self._is_in(ticket):
                told(self._behind(ticket))
                if gives_up():
                    return False
            return True
        finally:  # also where `gives_up` fails: else nobody behind would ever come in
            with self._changed:
                if ticket in self._waiting:
                    self._waiting.remove(ticket)
                    self._changed.notify_all()

    def _is_in(self, ticket: object) -> bool:
        with self._changed:
            if not self._free or self._waiting[0] is not ticket:
                self._changed.wait(WAIT_SECONDS)
            if not self._free or self._waiting[0] is not ticket:
                return False
            self._waiting.popleft()
            self._free -= 1
            self._changed.notify_all()
            return True

    def _behind(self, ticket: object) -> int:
        with self._changed:
            return self._waiting.index(ticket)

    def leave(self) -> None:
        """Give the place back."""
        with self._changed:
            self._free += 1
            self._changed.notify_all()
