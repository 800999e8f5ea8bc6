"""A sweep in the background: its result so far, summed up where the page need not wait for it.

Every visitor who opens the page sees the same sweep, so it is made once for all of them
(`opening_sweep`); the sweeps that they begin themselves are their own.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence

from engine.model import LanguageModel
from engine.study.sweep import Sweep, SweepProgress, SweepResult
from ui.skeleton.background import BackgroundWork
from ui.words.language import marked

MAX_ROWS = 32  # that go together: a Cancel loses at most one token of each
SUM_UP_SECONDS = 2.0  # at least, between two summaries

_speeds: weakref.WeakKeyDictionary[LanguageModel, float] = weakref.WeakKeyDictionary()


def tokens_per_second(model: LanguageModel) -> float | None:
    """How fast the last sweep of this model went, None before there was one."""
    return _speeds.get(model)


class SweepWork(BackgroundWork):
    """One sweep.

    The thread that generates also sums up, for a tenth of its time at most, so that a page which
    asks for the result never waits.

    Args:
        sweep: what is asked for.
        model: the model.
        prompts: the prompts as their author wrote them; the sweep may hold token ids.
        chat: whether they went through the chat template.
        result: of the same sweep, where some of it, or all, has been made before.

    Attributes:
        sweep, model, prompts, chat: as given.
        result: texts and metrics so far, None before the first text has begun.
        version: counts the results; each text more on screen is a new one.

    Raises:
        PromptError, TokenizerError, SettingError: what does not fit this model.
    """

    doing = marked("the sweep")

    def __init__(
        self,
        sweep: Sweep,
        model: LanguageModel,
        prompts: Sequence[str],
        *,
        chat: bool = False,
        result: SweepResult | None = None,
    ) -> None:
        super().__init__(sweep.count)
        self.sweep = sweep
        self.model = model
        self.prompts = tuple(prompts)
        self.chat = chat
        self.version = 0
        self.result = result
        self._progress: SweepProgress | None = None
        self._run = None
        if result is None or not result.is_complete:
            self._run = sweep.run(model, cancel=self._cancel, max_rows=MAX_ROWS, done=result)

    def _passes(self) -> Iterator[float | None]:
        first = last = None
        next_sum, summed = 0.0, -1
        for last in self._run:
            first = first or last
            self._progress = last
            now = time.monotonic()
            if last.texts_done != summed and now >= next_sum:
                self._sum_up()
                summed, spent = last.texts_done, time.monotonic() - now
                next_sum = now + max(SUM_UP_SECONDS, 10 * spent)
            yield last.seconds_left
        if last is not None and last.tokens_done > first.tokens_done:
            took = last.seconds - first.seconds
            _speeds[self.model] = (last.tokens_done - first.tokens_done) / max(took, 1e-9)

    def _ended(self) -> None:
        self._sum_up()

    def _sum_up(self) -> None:
        result = self._run.result()
        _ = result.cells  # computed here, once, and not in the thread that draws the page
        self.result = result
        self.version += 1

    @property
    def is_done(self) -> bool:
        """Whether every text has ended."""
        return self._run is None or self._run.is_done

    @property
    def texts_done(self) -> int:
        """Texts that have ended."""
        if self._progress is not None:
            return self._progress.texts_done
        return 0 if self.result is None else int(self.result.texts["ended"].sum())


# --- the sweep with which the page opens ----------------------------------------------------------

_made: weakref.WeakKeyDictionary[LanguageModel, SweepResult] = weakref.WeakKeyDictionary()
_under_way: list[_ForAll] = []
_lock = threading.Lock()


class _ForAll(SweepWork):
    """A sweep that several visitors wait for; it ends early when the last of them has left."""

    def __init__(self, sweep: Sweep, model: LanguageModel, prompts: Sequence[str], chat: bool):
        super().__init__(sweep, model, prompts, chat=chat)
        self.visitors: dict[OpeningSweep, Callable[[], bool]] = {}

    def is_anybody_there(self) -> bool:
        """Whether any of those who wait is connected just now."""
        return any(is_there() for is_there in list(self.visitors.values()))

    def _ended(self) -> None:
        try:
            super()._ended()
        finally:
            with _lock:
                if self in _under_way:
                    _under_way.remove(self)
                if self.result is not None and self.result.is_complete:
                    _made[self.model] = self.result


class OpeningSweep:
    """One visitor's view of a sweep that is made for all who ask for it: see `SweepWork`.

    Whoever cancels it keeps what was there, while it goes on for the others.
    """

    def __init__(self, work: _ForAll) -> None:
        self._work = work
        self._left: tuple[SweepResult | None, int] | None = None  # result and texts at that time
        self._changes = 0
        self.count = work.count
        self.sweep, self.model = work.sweep, work.model
        self.prompts, self.chat = work.prompts, work.chat

    def start(self, is_there: Callable[[], bool] = lambda: True) -> None:
        """Wait for it with the others, also after a cancel."""
        with _lock:
            self._work.visitors[self] = is_there
            if self._left is not None:
                self._left = None
                self._changes += 1
        if self._work.is_cancelled:
            self._work.wait()  # till the pass in work is over
        self._work.start(self._work.is_anybody_there)

    def cancel(self) -> None:
        """Wait no longer; where nobody else does, it ends."""
        with _lock:
            self._work.visitors.pop(self, None)
            if not self._work.is_done:
                self._left = self._work.result, self._work.texts_done
                self._changes += 1
            if not self._work.visitors:
                self._work.cancel()

    def wait(self, seconds: float | None = None) -> None:
        """Until it has ended for this visitor, at most so long."""
        if self._left is None or self._work.is_cancelled:
            self._work.wait(seconds)

    @property
    def is_running(self) -> bool:
        """Whether this visitor waits for texts."""
        return self._left is None and self._work.is_running

    @property
    def is_done(self) -> bool:
        """Whether every text has ended, and this visitor has them."""
        return self._left is None and self._work.is_done

    @property
    def is_waiting(self) -> bool:
        """Whether the work of other visitors goes first."""
        return self._left is None and self._work.is_waiting

    @property
    def result(self) -> SweepResult | None:
        """Texts and metrics so far."""
        return self._work.result if self._left is None else self._left[0]

    @property
    def texts_done(self) -> int:
        """Texts that have ended."""
        return self._work.texts_done if self._left is None else self._left[1]

    @property
    def version(self) -> int:
        """Counts the results that this visitor has seen."""
        return self._work.version + self._changes

    @property
    def problem(self) -> str:
        """Why it ended early, empty if it did not."""
        return self._work.problem

    @property
    def seconds_left(self) -> float | None:
        """Estimate of the rest."""
        return self._work.seconds_left

    @property
    def share(self) -> float:
        """How much of its time is over, 0 to 1."""
        return self._work.share

    @property
    def progress(self) -> str:
        """How far it has come, in words."""
        return self._work.progress


def opening_sweep(
    sweep: Sweep, model: LanguageModel, prompts: Sequence[str], *, chat: bool = False
) -> SweepWork | OpeningSweep:
    """This sweep as it is made once for all who ask for it, to be started: done, or under way.

    Raises:
        PromptError, TokenizerError, SettingError: what does not fit this model.
    """
    with _lock:
        made = _made.get(model)
        if made is not None and made.sweep == sweep:
            return SweepWork(sweep, model, prompts, chat=chat, result=made)
        for work in _under_way:
            same = work.model is model and (work.sweep, work.chat) == (sweep, chat)
            if same and not work.is_cancelled:
                return OpeningSweep(work)
        work = _ForAll(sweep, model, prompts, chat)
        _under_way.append(work)
        return OpeningSweep(work)
