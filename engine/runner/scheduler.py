"""Scheduler of forward passes for many visitors who share one model.

The next in line gets the device for one pass. Single steps go before the passes of a batch, and
those before the chunks of a prompt; within each kind, first come, first served. A pass that has
waited long goes before all others, so that a busy class cannot keep a prompt from being read.

A pass is short, or is cut into chunks that are. Those of a large model on a CPU are not: between
two layers, a pass that is not a single step yields to any that goes before it by the same rule.

`engine.runner.turns` is the way in from outside of this folder.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum

from engine.model import pauses
from engine.runner.job import Job, this_job

__all__ = ["SCHEDULER", "Kind", "Scheduler"]

LOOK_SECONDS = 0.05  # between two looks whether a job was cancelled while it waits
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
    since: float  # what its place in line goes by
    work: Job
    began: float = 0.0  # when its turn came
    go: threading.Lock = field(default_factory=threading.Lock)  # held until the turn comes

    def __post_init__(self) -> None:
        self.began = self.since
        self.go.acquire()

    def rank(self, now: float) -> tuple[int, int]:
        """Place in line; lower goes first."""
        steps_up = int((now - self.since) / PATIENCE_SECONDS)
        return max(Kind.STEP, self.kind - steps_up), self.number


class Turn:
    """One's turn at the device, which others may interrupt between two layers of a pass.

    Attributes:
        seconds: that others took meanwhile.
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
        """Let those go first who go before this pass."""
        self.seconds += self._scheduler.stand_still(self._ticket)


class Scheduler:
    """The line in front of one device.

    The end of a turn wakes the next one only: if all were woken to see who is next, a hundred
    visitors in line would take as long to look as the device takes for a pass.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # of all that follows; nothing under it waits
        self._waiting: list[_Ticket] = []
        self._numbers = 0
        self._running: Kind | None = None
        self._owner: int | None = None  # thread that has its turn
        self._turn: Turn | None = None  # the owner's
        self._depth = 0
        self._steps = 0  # single steps that wait or run
        self._calm = threading.Condition(self._lock)  # told when there are none any more

    @contextmanager
    def turn(self, kind: Kind) -> Iterator[Turn]:
        """Wait for the device and have it for one pass; what it gives says who interrupted it.

        A thread that has its turn may ask for another one within it, and is then not interrupted.

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
            with pauses.allowed(self._turn):
                yield self._turn
        finally:
            self._owner = self._turn = None
            with self._lock:
                self._leave()

    def _enter(self, kind: Kind) -> tuple[_Ticket, bool]:
        """Wait for the turn; its ticket, and whether the job was told of its place."""
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
                else:  # its turn came meanwhile
                    self._leave()
            raise
        ticket.began = time.monotonic()
        return ticket, told

    def has_before(self, ticket: _Ticket) -> bool:
        """Tell whether a waiting pass goes before the running one; does not take the lock."""
        if not self._waiting:
            return False
        now, mine = time.monotonic(), ticket.rank(ticket.began)
        return any(one.rank(now) < mine for one in tuple(self._waiting))

    def stand_still(self, ticket: _Ticket) -> float:
        """Yield to the passes that go before the running one; returns the seconds that it took.

        A pass keeps its place in line and does not age while it runs, so only those that go before
        it come in between. The pass cannot be cancelled here, as it is half done.

        Args:
            ticket: of the running pass, which this thread runs.
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
        """End the running turn and begin the next one; with the lock."""
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
        """Tell the job how many passes go first; False before it has waited for long."""
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
        """Stand still while single steps wait or run; returns the seconds that it took.

        For long work between two passes, as over the rows of a batch: it needs the interpreter,
        which a forward pass needs some hundred times, and so makes every pass beside it slower.

        Args:
            at_most: seconds after which to go on in any case.

        Raises:
            CancelledError: this thread's job was cancelled meanwhile.
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
        """Count the passes that run and wait now, by kind: ``running``, ``step``, ``batch``, ..."""
        with self._lock:
            counts = {kind.name.lower(): 0 for kind in Kind}
            for ticket in self._waiting:
                counts[ticket.kind.name.lower()] += 1
            return {"running": int(self._running is not None), **counts}


SCHEDULER = Scheduler()
