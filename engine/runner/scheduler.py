"""Whose forward pass is next, where many visitors share one model.

A pass is short, or is cut into chunks that are, so nobody is interrupted: whoever is next gets the
device for one pass. Single steps go before the passes of a batch, and these before the chunks of a
prompt; within each kind, who came first goes first. What has waited for long goes before all else,
so that a busy class cannot keep a prompt from being read.

    with job(should_stop, told):          # what a visitor waits for, in this thread
        decoder.step()                    # takes its turn, tells its place, may be cancelled
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import IntEnum

from engine.errors import CancelledError

LOOK_SECONDS = 0.05  # between two looks whether a job was cancelled while it waits
PATIENCE_SECONDS = 1.0  # of waiting, after which a pass counts as the next kind up


class Kind(IntEnum):
    """What a forward pass is for; lower goes first."""

    STEP = 0
    BATCH = 1
    PREFILL = 2


@dataclass(frozen=True)
class Job:
    """What somebody waits for, while it takes its passes.

    Attributes:
        should_stop: asked before every pass; where it says yes, `CancelledError` is raised.
        told: hears what is done, how much of it, and of how much (None where that is unknown).
    """

    should_stop: Callable[[], bool] = lambda: False
    told: Callable[[str, int, int | None], None] = lambda what, done, total: None

    def check(self) -> None:
        """Raise `CancelledError` where nobody wants this any more."""
        if self.should_stop():
            raise CancelledError(
                "This was cancelled before it was done; the text so far is unchanged."
            )


_NO_JOB = Job()
_job: ContextVar[Job] = ContextVar("job", default=_NO_JOB)


@contextmanager
def job(
    should_stop: Callable[[], bool], told: Callable[[str, int, int | None], None] = _NO_JOB.told
) -> Iterator[Job]:
    """Make all that is done within one job of somebody who may cancel it; holds for this thread."""
    token = _job.set(Job(should_stop, told))
    try:
        yield _job.get()
    finally:
        _job.reset(token)


def this_job() -> Job:
    """The job that this thread works on."""
    return _job.get()


@dataclass
class _Ticket:
    kind: Kind
    number: int
    since: float

    def rank(self, now: float) -> tuple[int, int]:
        """Place in line; lower goes first."""
        steps_up = int((now - self.since) / PATIENCE_SECONDS)
        return max(Kind.STEP, self.kind - steps_up), self.number


class Scheduler:
    """The line in front of one device."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[_Ticket] = []
        self._numbers = 0
        self._owner: int | None = None  # thread that has its turn
        self._kind: Kind | None = None
        self._depth = 0

    @contextmanager
    def turn(self, kind: Kind) -> Iterator[None]:
        """Wait for the device and have it for one pass.

        A thread that has its turn may ask for another one within it.

        Raises:
            CancelledError: this thread's job was cancelled before its turn came.
        """
        me = threading.get_ident()
        if self._owner == me:
            self._depth += 1
        else:
            self._enter(kind, me)
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                with self._changed:
                    self._owner = self._kind = None
                    self._changed.notify_all()

    def _enter(self, kind: Kind, me: int) -> None:
        work = this_job()
        work.check()
        with self._changed:
            self._numbers += 1
            ticket = _Ticket(kind, self._numbers, time.monotonic())
            self._waiting.append(ticket)
            try:
                while not self._is_next(ticket):
                    self._changed.wait(LOOK_SECONDS)
                    work.check()
                    self._tell_place(ticket, work)
            except BaseException:
                self._waiting.remove(ticket)
                self._changed.notify_all()
                raise
            self._waiting.remove(ticket)
            self._owner, self._kind, self._depth = me, kind, 1

    def _is_next(self, ticket: _Ticket) -> bool:
        if self._owner is not None:
            return False
        now = time.monotonic()
        return min(self._waiting, key=lambda one: one.rank(now)) is ticket

    def _tell_place(self, ticket: _Ticket, work: Job) -> None:
        now = time.monotonic()
        if now - ticket.since < PATIENCE_SECONDS:
            return
        before = sum(one.rank(now) < ticket.rank(now) for one in self._waiting)
        passes = "1 other pass" if not before else f"{before + 1:,} other passes"
        work.told(f"Waiting behind {passes}", 0, None)

    def line(self) -> dict[str, int]:
        """How many passes run and wait just now, by kind: ``running``, ``step``, ``batch``, ..."""
        with self._changed:
            counts = {kind.name.lower(): 0 for kind in Kind}
            for ticket in self._waiting:
                counts[ticket.kind.name.lower()] += 1
            return {"running": int(self._owner is not None), **counts}


SCHEDULER = Scheduler()
