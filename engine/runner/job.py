"""A job that a visitor waits for: it may be cancelled, and says how far it is.

with as_job(should_stop, told):       # in this thread
    decoder.step()                    # takes its turn, tells its place, may be cancelled
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from engine.errors import CancelledError
from engine.guarded import asking


@dataclass(frozen=True)
class Job:
    """A piece of work, made of forward passes, that a visitor waits for.

    Attributes:
        should_stop: asked before every pass; if it says yes, `CancelledError` is raised.
        told: hears what is done, how much of it, and of how much (None if that is unknown).
        waits: hears how many passes go first when this one waits for long, and 0 once it has its
            turn. None: `told` hears of them in words.
    """

    should_stop: Callable[[], bool] = lambda: False
    told: Callable[[str, int, int | None], None] = lambda what, done, total: None
    waits: Callable[[int], None] | None = None

    def check(self) -> None:
        """Raise `CancelledError` if the work is no longer wanted."""
        if self.should_stop():
            raise CancelledError(
                "This was cancelled before it was done; the text so far is unchanged."
            )


_NO_JOB = Job()
_job: ContextVar[Job] = ContextVar("job", default=_NO_JOB)


@contextmanager
def as_job(
    should_stop: Callable[[], bool],
    told: Callable[[str, int, int | None], None] = _NO_JOB.told,
    waits: Callable[[int], None] | None = None,
) -> Iterator[Job]:
    """Do all that follows in this thread as one job, which may be cancelled."""
    token = _job.set(Job(should_stop, told, waits))
    try:
        with asking(gives_up=should_stop):
            yield _job.get()
    finally:
        _job.reset(token)


def this_job() -> Job:
    """The job that this thread works on."""
    return _job.get()
