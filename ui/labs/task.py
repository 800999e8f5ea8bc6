"""Something done in a worker: how far it is, how it is cancelled, how it ended."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from engine.errors import CancelledError, DecodingError, panics_as_errors
from engine.runner.scheduler import job
from ui.server.problems import report
from ui.words.language import language, marked, say, speaking
from ui.words.refusals import told

# Streamlit runs a script in a new thread every time, and PyTorch gives each a new pool to warm up.
# These threads stay; forward passes take turns with those of everybody else.
_WORKERS = ThreadPoolExecutor(max_workers=4, thread_name_prefix="lab")

KEPT = marked("The steps so far are kept; try again.")
CANCELLED = marked("Cancelled: the steps so far are kept.")


@dataclass(frozen=True)
class Progress:
    """How far a task is: what is done, marked; how much of it, of how much (None if unknown)."""

    what: str
    done: int = 0
    total: int | None = None


class Task:
    """One piece of work, from its start to its end.

    Args:
        doing: what it does, as the page says it; marked.
        work: does it, in a worker; what it raises becomes `problem`.

    Attributes:
        progress: how far it is.
        problem: why it ended early, empty if it did not.
    """

    def __init__(self, doing: str, work: Callable[[], None]) -> None:
        self.progress = Progress(doing)
        self.problem = ""
        self._doing = doing
        self._language = language()  # which a worker does not know
        self._work = work
        self._cancel = threading.Event()
        self._future: Future[None] = _WORKERS.submit(self._run)

    def _run(self) -> None:
        with speaking(self._language):
            self._do()

    def _do(self) -> None:
        def tell(what: str, done: int, total: int | None) -> None:
            self.progress = Progress(what, done, total)

        try:
            with panics_as_errors(), job(self._cancel.is_set, tell) as work:
                work.check()
                self._work()
        except CancelledError:
            self.problem = say(CANCELLED)
        except DecodingError as error:
            self.problem = told(error)
        except Exception as error:  # for the page to show: here it would be lost
            self.problem = report(error, self._doing, KEPT)

    def wait(self, seconds: float) -> bool:
        """Whether it has ended, at most so many seconds from now."""
        try:
            self._future.result(seconds)
        except TimeoutError:
            return False
        return True

    @property
    def is_running(self) -> bool:
        """Whether it waits or is at work."""
        return not self._future.done()

    def cancel(self) -> None:
        """End it before its next forward pass."""
        self._cancel.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether it was told to end."""
        return self._cancel.is_set()
