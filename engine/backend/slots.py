"""The slots of a server: limits the requests that it gets at once, in the order of asking."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from engine.errors import CancelledError
from engine.guarded import is_given_up

LOOK_SECONDS = 0.05  # between two checks whether a waiting job was cancelled

T = TypeVar("T")


class Slots:
    """A number of slots; may be used from any thread.

    Requests are made in threads of their own, so a job can be cancelled while a server does not
    answer. They are daemons, so the process can end meanwhile.

    Args:
        count: most requests at once.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._lock = threading.Lock()
        self._free = count
        self._line: deque[threading.Lock] = deque()

    def run(self, calls: Sequence[Callable[[], T]]) -> list[T]:
        """Return the results of calls, each made once a slot is free.

        A call that fails ends the others that have not begun, and its error is raised.

        Raises:
            CancelledError: the job of this thread was cancelled; calls under way are left alone.
        """
        found: dict[int, T] = {}
        failures: list[BaseException] = []
        over, following = threading.Event(), iter(list(enumerate(calls)))

        def work() -> None:
            for place, call in following:
                with self._slot():
                    if over.is_set():
                        return
                    try:
                        found[place] = call()
                    except BaseException as error:  # raised again by `run`
                        failures.append(error)
                        over.set()

        threads = [
            threading.Thread(target=work, name="request", daemon=True)
            for _ in range(min(self.count, len(calls)))
        ]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(LOOK_SECONDS)
                    if is_given_up():
                        raise CancelledError(
                            "This was cancelled before it was done; the text so far is unchanged."
                        )
        finally:
            over.set()
        if failures:
            raise failures[0]
        return [found[place] for place in range(len(calls))]

    @contextmanager
    def _slot(self) -> Iterator[None]:
        gate = None
        with self._lock:
            if self._free:
                self._free -= 1
            else:
                gate = threading.Lock()
                gate.acquire()
                self._line.append(gate)
        if gate is not None:
            gate.acquire()  # released by the request that hands its slot over
        try:
            yield
        finally:
            with self._lock:
                if self._line:
                    self._line.popleft().release()
                else:
                    self._free += 1
