"""Shares of what all addresses have together: none takes so much that others find nothing.

An address may have as much as it leaves free for others: half of all if it comes alone, less as
more addresses have something. So one newcomer after another still finds room.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

from ui.server.visitor import this_address


def has_share(most: int, taken: int, own: int, wanted: int = 1, times: int = 1) -> bool:
    """Tell if one that has so much of it may have more.

    Args:
        most: all that there is.
        taken: how much of it all have by now.
        own: how much of that is its own.
        wanted: how much more it wants.
        times: how much of what is free it may have in all: 2 for twice as much.
    """
    free = most - taken
    return wanted <= free and own + wanted <= times * free


class Places:
    """A number of places, of which each address has its share."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: Counter[str] = Counter()
        self._lock = threading.Lock()

    def has_room(self, address: str) -> bool:
        """Tell if the address may have a further place."""
        return has_share(self._most, self._held.total(), self._held[address])

    def take(self, address: str) -> bool:
        """Take a place; False, and none taken, if the address has its share."""
        with self._lock:
            if not self.has_room(address):
                return False
            self._held[address] += 1
            return True

    def leave(self, address: str) -> None:
        """Give a place back."""
        with self._lock:
            self._held[address] -= 1
            self._held += Counter()  # without those that have none


class SharedPool(ThreadPoolExecutor):
    """A pool of threads, of which the address of each asker has its share; the rest waits."""

    def __init__(self, threads: int, name: str) -> None:
        super().__init__(threads, name)
        self._places = Places(threads)
        self._waiting: deque[tuple[str, Future, Callable[[], Any]]] = deque()
        self._door = threading.Lock()

    def submit(self, work: Callable[..., Any], /, *arguments: Any) -> Future:
        """Have it done in a thread, for the address of the visitor that asks."""
        future: Future = Future()
        with self._door:
            self._waiting.append((this_address(), future, partial(work, *arguments)))
        self._let_in()
        return future

    def _let_in(self) -> None:
        with self._door:
            for one in [one for one in self._waiting if self._places.take(one[0])]:
                self._waiting.remove(one)
                super().submit(self._done, *one)

    def _done(self, address: str, future: Future, work: Callable[[], Any]) -> None:
        try:
            if future.set_running_or_notify_cancel():
                future.set_result(work())
        except BaseException as error:
            future.set_exception(error)
        finally:
            self._places.leave(address)
            self._let_in()
