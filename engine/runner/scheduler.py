"""Scheduler of forward passes for many visitors who share one model.

The next pass in line gets the device. Single steps go before the passes of a batch, and those
before the chunks of a prompt. Within each kind, it is first come, first served. A pass that has
waited long goes before all others, so that a stream of steps cannot keep a prompt from being read.

Passes are short, or split into short chunks. Those of a large model on a CPU are not. So between
two layers, a pass that is not a single step yields to any that goes before it by the same rule.

Code outside this folder uses `engine.runner.turns`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum

from engine.model import preemption
from engine.runner.job import Job, this_job

__all__ = ["SCHEDULER", "Kind", "Scheduler"]

LOOK_SECONDS = 0.05  # between two checks whether a waiting job was cancelled
PATIENCE_SECONDS = 1.0  # of waiting, after which a pass counts as the next kind up


class Kind(IntEnum):
    """Purpose of a forward pass; lower goes first."""

    STEP = 0
    BATCH = 1
    PREFILL = 2


@dataclass(eq=False)
class _Ticket:
    kind: Kind
    number: int
    since: float  # decides its place in line
    work: Job
    began: float = 0.0  # when its turn came
    go: threading.Lock = field(default_factory=threading.Lock)  # held until the turn comes

    def __post_init__(self) -> None:
        self.began = self.since
        self.go.acquire()

    def rank(self, now: float) -> tuple[int, int]:
        """Return the place in line; lower goes first."""
        steps_up = int((now - self.since) / PATIENCE_SECONDS)
        return max(Kind.STEP, self.kind - steps_up), self.number


class Turn:
    """A thread's turn on the device, which others may interrupt between two layers of a pass.

    Attributes:
        seconds: time that others took during the turn.
    """

    def __init__(self, scheduler: Scheduler, ticket: _Ticket) -> None:
        self._scheduler = scheduler
        self._ticket = ticket
        self.seconds = 0.0

    @property
    def is_wished(self) -> bool:
        """True if a waiting pass goes before this one; single steps never yield."""
        return self._ticket.kind is not Kind.STEP and self._scheduler.has_before(self._ticket)

    def take(self) -> None:
        """Yield to the passes that go before this one."""
        self.seconds += self._scheduler.stand_still(self._ticket)


class Scheduler:
    """The queue of forward passes for one device.

    The end of a turn wakes only the next thread. If all woke up to check which is next, then with a
    hundred visitors that would take as long as a pass.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards all that follows; nothing waits while holding it
        self._waiting: list[_Ticket] = []
        self._numbers = 0
        self._running: Kind | None = None
        self._owner: int | None = None  # thread that has its turn
        self._turn: Turn | None = None  # the owner's
        self._depth = 0
        self._steps = 0  # single steps that wait or run
        self._calm = threading.Condition(self._lock)  # notified when none are left

    @contextmanager
    def turn(self, kind: Kind) -> Iterator[Turn]:
        """Wait for the device and take it for one pass; the `Turn` counts interrupted time.

        A thread that has its turn may nest another one, and is not interrupted during it.

        Raises:
            CancelledError: this thread's job was cancelled before its turn came.
        """
        me = threading.get_ident()
        if self._owner == me:
            self._depth += 1
            try:
                yield self._turn
            finally:
                self._depth -= 1
            return
        ticket, told = self._enter(kind)
        self._owner, self._depth, self._turn = me, 1, Turn(self, ticket)
        try:
            if told and this_job().waits is not None:
                this_job().waits(0)
            with preemption.allowed(self._turn):
                yield self._turn
        finally:
            self._owner = self._turn = None
            with self._lock:
                self._leave()

    def _enter(self, kind: Kind) -> tuple[_Ticket, bool]:
        """Wait for the turn; returns its ticket, and whether the job was told its place."""
        work, told = this_job(), False
        work.check()
        with self._lock:
            self._steps += kind is Kind.STEP
            self._numbers += 1
            ticket = _Ticket(kind, self._numbers, time.monotonic(), work)
            if self._running is None:  # then the line is empty
                self._running = kind
                return ticket, False
            self._waiting.append(ticket)
        try:
            while not ticket.go.acquire(timeout=LOOK_SECONDS):
                work.check()
                told = self._tell_place(ticket) or told
        except BaseException:
            with self._lock:
                if ticket in self._waiting:
                    self._waiting.remove(ticket)
                    self._count_off(kind)
                else:  # its turn has come
                    self._leave()
            raise
        ticket.began = time.monotonic()
        return ticket, told

    def has_before(self, ticket: _Ticket) -> bool:
        """Return whether a waiting pass goes before the running one; does not take the lock."""
        if not self._waiting:
            return False
        now, mine = time.monotonic(), ticket.rank(ticket.began)
        return any(one.rank(now) < mine for one in tuple(self._waiting))

    def stand_still(self, ticket: _Ticket) -> float:
        """Yield to the passes that go before the running one; returns the seconds they took.

        A pass keeps its place in line and does not age while it runs, so only passes that go before
        it get in between. It cannot be cancelled here, since it is half done.

        Args:
            ticket: ticket of the pass that this thread runs.
        """
        with self._lock:
            if self._depth > 1 or not self.has_before(ticket):
                return 0.0
            now, turn = time.monotonic(), self._turn
            ticket.since += now - ticket.began
            self._waiting.append(ticket)
            self._owner = self._turn = None
            self._leave()
        ticket.go.acquire()
        ticket.began = time.monotonic()
        self._owner, self._depth, self._turn = threading.get_ident(), 1, turn
        return ticket.began - now

    def _leave(self) -> None:
        """End the running turn and begin the next one; the caller holds the lock."""
        now, ended = time.monotonic(), self._running
        self._running = None
        if self._waiting:
            ticket = min(self._waiting, key=lambda one: one.rank(now))
            self._waiting.remove(ticket)
            self._running = ticket.kind
            ticket.go.release()
        self._count_off(ended)

    def _count_off(self, kind: Kind) -> None:
        if kind is Kind.STEP:
            self._steps -= 1
            if not self._steps:
                self._calm.notify_all()

    def _tell_place(self, ticket: _Ticket) -> bool:
        """Report to the job how many passes go first; returns False if it has not waited long."""
        now, work = time.monotonic(), ticket.work
        if now - ticket.since < PATIENCE_SECONDS:
            return False
        with self._lock:
            before = 1 + sum(one.rank(now) < ticket.rank(now) for one in self._waiting)
        if work.waits is not None:
            work.waits(before)
        else:
            work.told("Waiting behind other passes", before, None)
        return True

    def give_way(self, at_most: float = PATIENCE_SECONDS) -> float:
        """Pause while single steps wait or run; returns the seconds it took.

        For long work between two passes, such as a loop over the rows of a batch. It occupies the
        interpreter, which a forward pass needs some hundred times, and so slows concurrent passes.

        Args:
            at_most: seconds after which to continue in any case.

        Raises:
            CancelledError: this thread's job was cancelled during the pause.
        """
        if not self._steps or self._owner == threading.get_ident():
            return 0.0
        start, work = time.monotonic(), this_job()
        waited = 0.0
        while waited < at_most:
            with self._lock:
                if not self._steps:
                    break
                self._calm.wait(min(LOOK_SECONDS, at_most - waited))
            work.check()
            waited = time.monotonic() - start
        return waited

    def line(self) -> dict[str, int]:
        """Count the passes that run and wait, by kind: ``running``, ``step``, ``batch``, ..."""
        with self._lock:
            counts = {kind.name.lower(): 0 for kind in Kind}
            for ticket in self._waiting:
                counts[ticket.kind.name.lower()] += 1
            return {"running": int(self._running is not None), **counts}


SCHEDULER = Scheduler()
