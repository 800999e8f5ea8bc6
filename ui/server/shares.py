"""Fair shares of a resource among addresses: none can use it all up.

An address may have as much as it leaves free for others: half of everything if it is the only one,
less as others use some. So there is always room for a newcomer.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ui.server.visitor import this_address


def has_share(most: int, taken: int, own: int, wanted: int = 1, times: int = 1) -> bool:
    """Return whether an owner may have `wanted` more.

    Args:
        most: the total amount.
        taken: the amount in use by all owners.
        own: the owner's part of that.
        wanted: the amount that the owner asks for.
        times: the most that the owner may have, as a multiple of the free rest.
    """
    free = most - taken
    return wanted <= free and own + wanted <= times * free


class Places:
    """A fixed number of places, shared fairly among addresses."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: Counter[str] = Counter()
        self._lock = threading.Lock()

    def has_room(self, address: str) -> bool:
        """Return whether the address may have one more place."""
        return has_share(self._most, self._held.total(), self._held[address])

    def take(self, address: str) -> bool:
        """Take a place and return True; False if the address already has its share."""
        with self._lock:
            if not self.has_room(address):
                return False
            self._held[address] += 1
            return True

    def leave(self, address: str) -> None:
        """Give a place back."""
        with self._lock:
            self._held[address] -= 1
            self._held += Counter()  # drops addresses without a place


# The visitor for whom the work is done; an object that lives as long as they are connected.
ASKER: ContextVar[object] = ContextVar("asker", default=None)
LONG_SECONDS = 0.5


class _Work(NamedTuple):
    address: str
    asker: object
    is_long: bool  # judging by the last work of the same asker
    future: Future
    call: Callable[[], Any]


class SharedPool(ThreadPoolExecutor):
    """A thread pool in which each address has a fair share of the threads; other work waits.

    Long work has half of the pool, so that a click does not wait for other visitors' long prompts.
    """

    def __init__(self, threads: int, name: str) -> None:
        super().__init__(threads, name)
        self._places, self._long_places = Places(threads), Places(threads // 2)
        self._waiting: deque[_Work] = deque()
        self._took: WeakKeyDictionary[object, float] = WeakKeyDictionary()  # seconds, by asker
        self._door = threading.Lock()

    def submit(self, call: Callable[..., Any], /, *arguments: Any) -> Future:
        """Queue a call for a thread, on behalf of the current visitor; return its future."""
        future, asker = Future(), ASKER.get()
        with self._door:
            is_long = asker is not None and self._took.get(asker, 0.0) > LONG_SECONDS
            call = partial(call, *arguments)
            self._waiting.append(_Work(this_address(), asker, is_long, future, call))
        self._let_in()
        return future

    def _let_in(self) -> None:
        with self._door:
            entering = [one for one in self._waiting if self._takes_place(one)]
            for one in entering:
                self._waiting.remove(one)
        for one in entering:
            is_wanted, began = one.future.set_running_or_notify_cancel(), time.monotonic()
            work = super().submit(one.call if is_wanted else lambda: None)
            work.add_done_callback(partial(self._left, one, began))

    def _takes_place(self, one: _Work) -> bool:
        if one.is_long and not self._long_places.take(one.address):
            return False
        has_place = self._places.take(one.address)
        if one.is_long and not has_place:
            self._long_places.leave(one.address)
        return has_place

    def _left(self, one: _Work, began: float, work: Future) -> None:
        error = work.exception()
        if error is not None:
            one.future.set_exception(error)
        elif not one.future.cancelled():
            one.future.set_result(work.result())
        with self._door:
            if one.asker is not None:
                self._took[one.asker] = time.monotonic() - began
            self._places.leave(one.address)
            if one.is_long:
                self._long_places.leave(one.address)
        self._let_in()
