"""A job that a visitor waits for: it may be cancelled, and reports its progress.

with as_job(should_stop, told):       # in this thread
    decoder.step()                    # takes its turn, reports its place, may be cancelled
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
        should_stop: asked before every pass; if it returns True, `CancelledError` is raised.
        told: receives the activity, the amount done, and the total (None if unknown).
        waits: receives the number of passes ahead during a long wait, and 0 once the turn comes. If
            None, `told` receives it in words.
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
    """Run the block in this thread as one job, which may be cancelled."""
    token = _job.set(Job(should_stop, told, waits))
    try:
        with asking(gives_up=should_stop):
            yield _job.get()
    finally:
        _job.reset(token)


def this_job() -> Job:
    """Return the job that this thread is running."""
    return _job.get()
