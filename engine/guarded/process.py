"""The parent's side of a guarded process: start, ask, watch and end it.

A request has limits on processor time and on memory, which apply in the child (see `child`). One
thread watches the requests under way. It ends a child when the request's wall time is over, when
the answer is no longer wanted (`asking`), or when this process ends.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple
from weakref import WeakSet

from engine.errors import CancelledError
from engine.guarded.child import receive, send

LOOK_SECONDS = 0.05  # between two checks of the requests under way
QUIET_SECONDS = 2.0  # without requests, after which the checks stop
# Wall time on a busy machine: until the process has started, and for one request, as a multiple of
# its processor time.
START_SECONDS = 60.0
WALL = 10.0
_ROOT = str(Path(__file__).resolve().parents[2])


class Asker(NamedTuple):
    """The visitor for whom a thread sends requests.

    Attributes:
        person: identifies the visitor; empty for no visitor in particular.
        gives_up: returns True once the answer is no longer wanted.
    """

    person: str = ""
    gives_up: Callable[[], bool] = lambda: False


_ANYBODY = Asker()
_asker: ContextVar[Asker] = ContextVar("asker", default=_ANYBODY)


class TooLongError(Exception):
    """The child was ended because its time was over."""


class TooLargeError(Exception):
    """The child was ended because it had no memory left."""


class EndedError(Exception):
    """The child cannot be started, or has ended for any other reason."""


@contextlib.contextmanager
def asking(
    *, person: str | None = None, gives_up: Callable[[], bool] | None = None
) -> Iterator[None]:
    """Send this thread's requests for a visitor; omitted arguments stay as they were.

    `gives_up` may be called from any thread. Once it returns True, the current request ends.
    """
    given = {"person": person, "gives_up": gives_up}
    given = {name: value for name, value in given.items() if value is not None}
    token = _asker.set(this_asker()._replace(**given))
    try:
        yield
    finally:
        _asker.reset(token)


def this_asker() -> Asker:
    """Return the visitor for whom this thread sends requests."""
    return _asker.get()


def is_given_up() -> bool:
    """Return whether this thread's request was cancelled, or this process is ending."""
    return this_asker().gives_up() or not threading.main_thread().is_alive()


class Child:
    """One guarded process, started when it is first needed and again after it has ended.

    Args:
        module: the module that runs in it.
        seconds: processor time of one request.
        megabytes: memory of one request, on top of the process' memory before it.

    Attributes:
        lock: held by the thread that asks.
        process: the process; None before the first start.
        starts: number of starts so far.
    """

    def __init__(self, module: str, seconds: float, megabytes: int) -> None:
        self.seconds, self.megabytes = seconds, megabytes
        self.starts = 0
        self._module = module
        self._forget()
        _children.add(self)

    def _forget(self) -> None:
        self.lock = threading.RLock()
        self.process: subprocess.Popen[bytes] | None = None
        self._is_ready = False
        self._guard = threading.Lock()  # guards the watched request
        self._ends_at: float | None = None
        self._is_given_up: Callable[[], bool] = lambda: False
        self._why = ""

    def prepare(self) -> None:
        """Start the process without waiting for it, so that the first request finds it ready."""
        # If it cannot be started, the first request says so.
        with self.lock, contextlib.suppress(OSError):
            self._running()

    def ask(
        self, request: dict, data: bytes = b"", seconds: float | None = None
    ) -> tuple[dict, bytes]:
        """Return the answer to one request.

        Args:
            request, data: input of the module.
            seconds: limit of processor time, if not the usual one.

        Raises:
            TooLongError, TooLargeError: the request exceeds its limit of time or memory.
            EndedError: the child ends or fails for any other reason.
            CancelledError: the answer is no longer wanted.
        """
        seconds = seconds or self.seconds
        with self.lock:
            try:
                process = self._running()
                if not self._is_ready:
                    self._watched(process, START_SECONDS)
                    if self._why:
                        raise _NoAnswerError
                    self._is_ready = True
                send(process.stdin, {**request, "seconds": seconds}, data)
                answer, data = self._watched(process, seconds * WALL)
            except OSError as error:
                raise self._ended() or EndedError(str(error)) from error
            except _NoAnswerError:
                raise self._ended() from None
            except BaseException:
                self.end()  # else the answer to this request would be taken for the next one's
                raise
            if answer.pop("last", False) or self._why:  # ended just as it answered
                self.end()
            return answer, data

    def _running(self) -> subprocess.Popen[bytes]:
        if self.process is None or self.process.poll() is not None:
            self.end()
            self.process, self._is_ready = self._started(), False
            self.starts += 1
        return self.process

    def _started(self) -> subprocess.Popen[bytes]:
        if not threading.main_thread().is_alive():
            raise OSError("this process is ending")
        paths = filter(None, [_ROOT, os.environ.get("PYTHONPATH")])
        return subprocess.Popen(
            # -P: nothing is imported from the folder that this process runs in.
            [sys.executable, "-P", "-m", self._module, str(self.megabytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )

    def _watched(self, process: subprocess.Popen[bytes], seconds: float) -> tuple[dict, bytes]:
        """Return the next message; raises `_NoAnswerError` if the process ends instead."""
        with self._guard:
            self._ends_at, self._why = time.monotonic() + seconds, ""
            self._is_given_up = this_asker().gives_up
        _watch.wake()
        try:
            answer = receive(process.stdout)
        finally:
            with self._guard:
                self._ends_at = None
        if answer is None:
            raise _NoAnswerError
        return answer

    def look(self) -> bool:
        """End the process if its request must end; returns whether a request is still under way."""
        with self._guard:
            if self._ends_at is None:
                return False
            if time.monotonic() > self._ends_at:
                self._why = "late"
            elif self._is_given_up() or not threading.main_thread().is_alive():
                self._why = "given up"
            else:
                return True
            self._ends_at = None
            self.process.kill()
            return False

    def _ended(self) -> Exception | None:
        """Return the error that explains the end of the process; None if it was never started."""
        code = None if self.process is None else self.process.wait()
        has_started = self._is_ready
        self.end()
        if code is None:
            return None
        self.prepare()  # for the next request
        if self._why == "given up":
            return CancelledError("This was cancelled before it was done; nothing was changed.")
        if not has_started:
            return EndedError("its process does not start")
        if self._why == "late" or code == -getattr(signal, "SIGPROF", 0):
            return TooLongError()
        if code == -getattr(signal, "SIGABRT", 0):  # Rust aborts if memory runs out
            return TooLargeError()
        return EndedError(f"its process ended with code {code}")

    def end(self) -> None:
        """End the process, if there is one."""
        with self.lock:
            process, self.process = self.process, None
            if process is None:
                return
            process.kill()
            process.wait()
            process.stdout.close()
            with contextlib.suppress(OSError):  # data that it did not read
                process.stdin.close()

    def forget(self) -> None:
        """Forget the process in a fork, since it belongs to the parent."""
        if self.process is not None:
            for pipe in (self.process.stdin, self.process.stdout):
                pipe.raw.close()  # a thread that the fork lost may hold the lock of the buffer
            self.process.returncode = 0  # nothing to wait for
        self._forget()


class _NoAnswerError(Exception):
    """The process has ended instead of answering."""


class _Watch:
    """The thread that checks the requests under way; it sleeps while there are none."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def wake(self) -> None:
        if not self._asked.is_set():  # waking a thread costs more than most requests
            self._asked.set()
        if not self._is_running:
            with self._lock:
                if not self._is_running:
                    self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
                    self._thread.start()

    @property
    def _is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _run(self) -> None:
        while self._asked.wait():
            end = time.monotonic()
            while time.monotonic() - end < QUIET_SECONDS:
                time.sleep(LOOK_SECONDS)
                if self._look():
                    end = time.monotonic()
            self._asked.clear()
            if self._look():  # a request that came in between
                self._asked.set()

    def _look(self) -> bool:
        """Check every request; returns whether any is under way."""
        return sum(child.look() for child in list(_children)) > 0


_children: WeakSet[Child] = WeakSet()
_watch = _Watch()


@atexit.register
def end_all() -> None:
    """End every child; they would end by themselves after this process."""
    for child in list(_children):
        child.end()


def _after_fork() -> None:
    global _watch
    _watch = _Watch()
    for child in list(_children):
        child.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
