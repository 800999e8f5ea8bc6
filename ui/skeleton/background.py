"""Work that takes many seconds: a thread of its own, in line with that of all other visitors.

A class of work says what is done between two looks; here is what all have in common. Texts made in
the background share forward passes' time with everybody's steps, so only so many are made at once.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Iterator
from weakref import WeakSet

from engine.errors import panics_as_errors
from engine.guarded import Line
from ui.server.problems import report
from ui.words.labels import about, counted
from ui.words.language import language, marked, say, speaking

AT_ONCE = 2  # works of all visitors; the others wait in line
LOOK_SECONDS = 2.0  # between two looks whether the visitor is still there
EXIT_SECONDS = 5.0  # that the app waits at its end for works to take note of it
GRACE_SECONDS = 60.0  # that a lost connection may take to come back
_ORDINALS = (
    marked("first"),
    marked("second"),
    marked("third"),
    marked("fourth"),
    marked("fifth"),
    marked("sixth"),
    marked("seventh"),
    marked("eighth"),
    marked("ninth"),
    marked("tenth"),
)
KEPT = marked("The texts that were finished are kept; press Continue to go on.")


_line = Line(AT_ONCE)


def place_in_line(behind: int) -> str:
    """A place in line in words: ``third in line, behind 2 others``."""
    if not behind:
        return say("first in line, until the work of another visitor ends")
    if behind < len(_ORDINALS):
        place = say(_ORDINALS[behind])
    else:
        place = say("number {place}", place=f"{behind + 1:,}")
    if behind == 1:
        return say("{place} in line, behind {count} other", place=place, count=behind)
    return say("{place} in line, behind {count} others", place=place, count=f"{behind:,}")


class _Visitor:
    """Whether anybody still waits for the work: asked seldom, and patient with a lost connection.

    Args:
        is_there: whether the visitor is connected just now.
    """

    def __init__(self, is_there: Callable[[], bool]) -> None:
        self._is_there = is_there
        self._seen = self._looked = time.monotonic()

    def has_gone(self) -> bool:
        now = time.monotonic()
        if now - self._looked < LOOK_SECONDS:
            return False
        self._looked = now
        if self._is_there():
            self._seen = now
            return False
        return now - self._seen > GRACE_SECONDS


class BackgroundWork:
    """Texts for one visitor: begun in their turn, cancelled, gone on with.

    A class of work adds `_passes`, which makes the texts until they are done or `_cancel` is set,
    and says how many there are.

    Attributes:
        doing: what this is, marked, for a sentence on an error that nobody expected.
        noun: what is counted, where that is not texts.
        count: texts in all.
        problem: why it ended early, empty if it did not.
        behind: how many works of others wait before it in line; None while it does not wait.
        seconds_left: estimate of the rest, None before there is anything to go by.
    """

    doing = marked("this work")
    noun = "text"

    def __init__(self, count: int) -> None:
        self.count = count
        self.problem = ""
        self.behind: int | None = None
        self.seconds_left: float | None = None
        self._cancel = threading.Event()
        self._share = 0.0
        self._thread: threading.Thread | None = None

    # --- what a class of work says ----------------------------------------------------------------

    def _passes(self) -> Iterator[float | None]:
        """Do the work; yields `seconds_left` after every token of the texts in work."""
        raise NotImplementedError

    def _ended(self) -> None:
        """What is done last, in the thread, whether all texts are there or not."""

    @property
    def is_done(self) -> bool:
        """Whether every text has ended."""
        raise NotImplementedError

    @property
    def texts_done(self) -> int:
        """Texts that have ended."""
        raise NotImplementedError

    # --- what all have in common ------------------------------------------------------------------

    def start(self, is_there: Callable[[], bool] = lambda: True) -> None:
        """Begin, or go on after a cancel.

        Args:
            is_there: asked now and then whether the visitor is connected; where nobody has been for
                a minute, the work ends.
        """
        if self.is_running or self.is_done:
            return
        self._cancel.clear()
        self.problem = ""
        _begun.add(self)
        # A daemon: ending the app does not wait for texts.
        self._thread = threading.Thread(
            target=self._work,
            args=(_Visitor(is_there), language()),
            name=type(self).__name__,
            daemon=True,
        )
        self._thread.start()

    def _work(self, visitor: _Visitor, code: str) -> None:
        with speaking(code):  # this thread draws no page
            try:
                if self._comes_in(visitor):
                    try:
                        with panics_as_errors():
                            self._make(visitor)
                    finally:
                        _line.leave()
            except Exception as error:  # for the page to show: here it would be lost
                self.problem = report(error, self.doing, KEPT)
            try:
                self._ended()
            except Exception as error:
                self.problem = self.problem or report(error, self.doing, KEPT)

    def _comes_in(self, visitor: _Visitor) -> bool:
        """Wait for a place in line; False if cancelled or left meanwhile."""
        try:
            return _line.enter(
                lambda: self._cancel.is_set() or self._ends_without(visitor),
                lambda behind: setattr(self, "behind", behind),
            )
        finally:
            self.behind = None

    def _ends_without(self, visitor: _Visitor) -> bool:
        """End if the visitor has gone, and say why for their return; return whether it ends."""
        if not self.is_done and visitor.has_gone():
            self.problem = say("It ended because its page was closed or out of reach for a minute.")
            self._cancel.set()
        return self._cancel.is_set()

    def _make(self, visitor: _Visitor) -> None:
        started = time.monotonic()
        for left in self._passes():
            self.seconds_left = left
            if left is not None:
                took = time.monotonic() - started
                self._share = took / max(took + left, 1e-9)
            self._ends_without(visitor)

    def cancel(self) -> None:
        """End it after the token in work; what is there stays."""
        self._cancel.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether it ends, or has ended, because it was cancelled or its visitor has gone."""
        return self._cancel.is_set()

    def wait(self, seconds: float | None = None) -> None:
        """Until it has ended, at most so long."""
        if self._thread is not None:
            self._thread.join(seconds)

    @property
    def is_running(self) -> bool:
        """Whether texts are being made, or wait for their turn."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def is_waiting(self) -> bool:
        """Whether the work of other visitors goes first."""
        return self.behind is not None

    @property
    def share(self) -> float:
        """How much of the time of this run is over, 0 to 1."""
        return 1.0 if self.is_done else self._share

    @property
    def progress(self) -> str:
        """How far it has come, in words."""
        behind = self.behind
        if behind is not None:
            return say("Waiting: {place}", place=place_in_line(behind))
        words = say(
            "{one} of {things}", one=f"{self.texts_done:,}", things=counted(self.count, self.noun)
        )
        if self.is_running and self.seconds_left is not None:
            return say("{done}, {time} left", done=words, time=about(self.seconds_left))
        return words


_begun: WeakSet[BackgroundWork] = WeakSet()


@atexit.register
def end_all() -> None:
    """Cancel every work. A thread that is within PyTorch as the process ends would abort it."""
    works = [work for work in _begun if work.is_running]
    for work in works:
        work.cancel()
    end = time.monotonic() + EXIT_SECONDS
    for work in works:
        work.wait(max(0.0, end - time.monotonic()))
