"""A queue of threads that wait for one of a few places."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

WAIT_SECONDS = 0.1  # between two checks for a cancel while waiting


class Line:
    """A fixed number of places, given to threads in the order of their requests.

    A thread with `goes_last` comes after all others.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: deque[object] = deque()
        self._last: deque[object] = deque()
        self._changed = threading.Condition()

    def enter(
        self,
        gives_up: Callable[[], bool],
        told: Callable[[int], None] = lambda behind: None,
        *,
        goes_last: bool = False,
    ) -> bool:
        """Wait for a place; returns False if `gives_up` ends the wait first.

        `told` repeatedly receives the number of threads ahead.
        """
        ticket = object()
        line = self._last if goes_last else self._waiting
        with self._changed:
            line.append(ticket)
        try:
            while not self._is_in(ticket):
                told(self._in_order().index(ticket))
                if gives_up():
                    return False
            return True
        finally:  # even if `gives_up` fails: otherwise no thread behind would ever get in
            with self._changed:
                if ticket in line:
                    line.remove(ticket)
                    self._changed.notify_all()

    def _in_order(self) -> list[object]:
        with self._changed:
            return [*self._waiting, *self._last]

    def _is_in(self, ticket: object) -> bool:
        with self._changed:
            if not self._is_next(ticket):
                self._changed.wait(WAIT_SECONDS)
            if not self._is_next(ticket):
                return False
            (self._waiting or self._last).popleft()
            self._free -= 1
            self._changed.notify_all()
            return True

    def _is_next(self, ticket: object) -> bool:
        return self._free > 0 and (self._waiting or self._last)[0] is ticket

    def leave(self) -> None:
        """Give the place back."""
        with self._changed:
            self._free += 1
            self._changed.notify_all()
