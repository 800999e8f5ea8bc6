"""A sweep in the background: progress, Cancel, Continue, and the result so far.

The thread that generates also sums up, every two seconds at most and for a tenth of its time, so
that a page which asks for the result never waits.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Sequence

from engine.errors import DecodingError
from engine.model import LanguageModel
from engine.sweep import Sweep, SweepProgress, SweepResult

MAX_ROWS = 32  # in one forward pass: others' steps wait for one, and a Cancel loses at most these
SWEEPS_AT_ONCE = 2  # of all visitors; the others wait in line
SUM_UP_SECONDS = 2.0
GRACE_SECONDS = 60.0  # that a lost connection may take to come back
LOOK_SECONDS = 2.0  # between two looks whether the visitor is still there

room = threading.BoundedSemaphore(SWEEPS_AT_ONCE)
_speeds: weakref.WeakKeyDictionary[LanguageModel, float] = weakref.WeakKeyDictionary()
_openings: weakref.WeakKeyDictionary[LanguageModel, SweepResult] = weakref.WeakKeyDictionary()


def tokens_per_second(model: LanguageModel) -> float | None:
    """How fast the last sweep of this model went, None before there was one."""
    return _speeds.get(model)


class SweepWork:
    """One sweep, made by a thread of its own.

    Args:
        sweep: what is asked for.
        model: the model.
        prompts: the prompts as their author wrote them; the sweep may hold token ids.
        chat: whether they went through the chat template.
        keep_for_all: whether the finished result is kept for the next who asks for this sweep with
            this model, as every visitor does whose page opens.

    Attributes:
        sweep, model, prompts, chat: as given.
        result: texts and metrics so far, None before the first text has begun.
        version: counts the results; each text more on screen is a new one.
        problem: why it ended early, empty if it did not.
        is_waiting: whether other visitors' sweeps go first.

    Raises:
        PromptError, TokenizerError, SettingError: what does not fit this model.
    """

    def __init__(
        self,
        sweep: Sweep,
        model: LanguageModel,
        prompts: Sequence[str],
        *,
        chat: bool = False,
        keep_for_all: bool = False,
    ) -> None:
        self.sweep = sweep
        self.model = model
        self.prompts = tuple(prompts)
        self.chat = chat
        self.version = 0
        self.problem = ""
        self.is_waiting = False
        self.result: SweepResult | None = None
        self._keep_for_all = keep_for_all
        self._cancel = threading.Event()
        self._progress: SweepProgress | None = None
        self._share = 0.0
        self._thread: threading.Thread | None = None
        kept = _openings.get(model) if keep_for_all else None
        if kept is not None and kept.sweep == sweep:
            self.result = kept
        self._run = (
            None if self.result else sweep.run(model, cancel=self._cancel, max_rows=MAX_ROWS)
        )

    def start(self, is_wanted: Callable[[], bool] = lambda: True) -> None:
        """Begin, or go on after a cancel.

        Args:
            is_wanted: asked now and then; where nobody has been there for a minute, it ends.
        """
        if self.is_running or self.is_done:
            return
        self._cancel.clear()
        self.problem = ""
        # A daemon: ending the app does not wait for texts.
        self._thread = threading.Thread(
            target=self._work, args=(is_wanted,), name="sweep", daemon=True
        )
        self._thread.start()

    def _work(self, is_wanted: Callable[[], bool]) -> None:
        try:
            if self._has_room():
                try:
                    self._generate(is_wanted)
                finally:
                    room.release()
        except DecodingError as error:  # for the page to show: here it would be lost
            self.problem = str(error)
        finally:
            self._sum_up()
        if self.result.is_complete and self._keep_for_all:
            _openings[self.model] = self.result

    def _has_room(self) -> bool:
        """Wait for a place; False if cancelled meanwhile."""
        self.is_waiting = True
        try:
            while not room.acquire(timeout=0.1):
                if self._cancel.is_set():
                    return False
            return True
        finally:
            self.is_waiting = False

    def _generate(self, is_wanted: Callable[[], bool]) -> None:
        first = last = None
        started = seen = looked = time.monotonic()
        next_sum, summed = 0.0, -1
        for last in self._run:
            first = first or last
            self._progress = last
            now = time.monotonic()
            left = 0.0 if last.seconds_left is None else last.seconds_left
            self._share = (now - started) / max(now - started + left, 1e-9)
            if last.texts_done != summed and now >= next_sum:
                self._sum_up()
                summed, spent = last.texts_done, time.monotonic() - now
                next_sum = now + max(SUM_UP_SECONDS, 10 * spent)
            if now - looked > LOOK_SECONDS:
                looked = now
                if is_wanted():
                    seen = now
                elif now - seen > GRACE_SECONDS:
                    self._cancel.set()
        if last is not None and last.tokens_done > first.tokens_done:
            took = last.seconds - first.seconds
            _speeds[self.model] = (last.tokens_done - first.tokens_done) / max(took, 1e-9)

    def _sum_up(self) -> None:
        result = self._run.result()
        _ = result.cells  # computed here, once, and not in the thread that draws the page
        self.result = result
        self.version += 1

    def cancel(self) -> None:
        """End it after the token in work; what is there stays."""
        self._cancel.set()

    def wait(self, seconds: float | None = None) -> None:
        """Until it has ended, at most so long."""
        if self._thread is not None:
            self._thread.join(seconds)

    @property
    def is_running(self) -> bool:
        """Whether texts are being made."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def is_done(self) -> bool:
        """Whether every text has ended."""
        return self._run is None or self._run.is_done

    @property
    def texts_done(self) -> int:
        """Texts that have ended."""
        if self._progress is not None:
            return self._progress.texts_done
        return self.sweep.count if self.is_done else 0

    @property
    def share(self) -> float:
        """How much of the time of this run is over, 0 to 1."""
        return 1.0 if self.is_done else min(1.0, self._share)

    @property
    def seconds_left(self) -> float | None:
        """Estimate of the rest, None before there is anything to go by."""
        return self._progress.seconds_left if self._progress else None
