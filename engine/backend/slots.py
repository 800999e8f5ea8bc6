"""The slots of a server: limits the requests that it gets at once, in the order of asking."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import TypeVar
from weakref import finalize

from engine.errors import CancelledError
from engine.guarded import is_given_up

LOOK_SECONDS = 0.05  # between two checks whether a waiting job was cancelled

T = TypeVar("T")
_Queue = SimpleQueue[Callable[[], None] | None]


class Slots:
    """A number of slots; may be used from any thread.

    Each slot is a thread, so a job can be cancelled while a server does not answer. The threads are
    daemons, so the process can end at any time.

    Args:
        count: most requests at once.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._queue: _Queue = SimpleQueue()
        self._threads = 0
        self._lock = threading.Lock()
        finalize(self, self._queue.put, None).atexit = False

    def run(self, calls: Sequence[Callable[[], T]]) -> list[T]:
        """Return the results of calls, each made once a slot is free.

        Between two of its calls, others get their turn. A call that fails ends those that have not
        begun, and its error is raised.

        Raises:
            CancelledError: the job of this thread was cancelled; calls under way are left alone.
        """
        queue, at_once = self._queue, min(self._count, len(calls))
        found: dict[int, T] = {}
        failures: list[BaseException] = []
        following, ended = iter(list(enumerate(calls))), threading.Semaphore(0)
        over = threading.Event()

        def turn() -> None:
            place, call = next(following, (None, None))
            if call is None or over.is_set():
                ended.release()
                return
            try:
                found[place] = call()
            except BaseException as error:  # raised again by `run`
                failures.append(error)
                over.set()
            queue.put(turn)

        self._start(at_once)
        for _ in range(at_once):
            queue.put(turn)
        try:
            for _ in range(at_once):
                while not ended.acquire(timeout=LOOK_SECONDS):
                    if is_given_up():
                        raise CancelledError(
                            "This was cancelled before it was done; the text so far is unchanged."
                        )
        finally:
            over.set()
        if failures:
            raise failures[0]
        return [found[place] for place in range(len(calls))]

    def _start(self, wanted: int) -> None:
        """Start threads, up to one for each slot."""
        with self._lock:
            for _ in range(min(wanted, self._count - self._threads)):
                self._threads += 1
                threading.Thread(
                    target=_work, args=(self._queue,), name="slot", daemon=True
                ).start()


def _work(queue: _Queue) -> None:
    """Take turns until the slots are gone; holds no reference to them."""
    while (turn := queue.get()) is not None:
        turn()
        del turn
    queue.put(None)
