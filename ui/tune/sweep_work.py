"""A sweep in the background: its result so far, summed up where the page need not wait for it.

Every visitor who opens the page sees the same sweep, so it is made once for all of them
(`opening_sweep`); the sweeps that they begin themselves are their own.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Self

from engine.model import LanguageModel
from engine.study import Sweep, SweepProgress, SweepResult
from ui.jobs import UNKNOWN, Job, Owner
from ui.words.language import marked

MAX_ROWS = 32  # that go together: a Cancel loses at most one token of each
SUM_UP_SECONDS = 2.0  # at least, between two summaries

_speeds: weakref.WeakKeyDictionary[LanguageModel, float] = weakref.WeakKeyDictionary()


def tokens_per_second(model: LanguageModel) -> float | None:
    """How fast the last sweep of this model went, None before there was one."""
    return _speeds.get(model)


class SweepWork(Job):
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
            _speeds[self.model] = (last.tokens_done - first.tokens_done) / max(self.worked, 1e-9)

    def _finish(self) -> None:
        self._sum_up()

    def left_by(self, owner: Owner) -> SweepWork:
        """End it, and return what this visitor keeps of it."""
        self.cancel()
        return self

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
        self._owners: list[Owner] = []

    def start(self, owner: Owner = UNKNOWN) -> Self:
        """Wait for it with the others."""
        with _lock:
            self._owners.append(owner)
        if self.is_cancelled:
            self.wait()  # until the pass in work is over
        return super().start(replace(owner, is_there=self._is_anyone_there))

    def _is_anyone_there(self) -> bool:
        return any(owner.is_there() for owner in list(self._owners))

    def left_by(self, owner: Owner) -> SweepWork:
        """Return what this visitor has of it; it continues as long as others want it."""
        with _lock:
            if self not in _under_way:  # the last who left has continued it, alone
                self._owners.clear()
            elif owner in self._owners:
                self._owners.remove(owner)
            if self._owners and not self.is_done:
                return SweepWork(
                    self.sweep, self.model, self.prompts, chat=self.chat, result=self.result
                )
        return super().left_by(owner)

    def _finish(self) -> None:
        try:
            super()._finish()
        finally:
            with _lock:
                if self in _under_way:
                    _under_way.remove(self)
                if self.result is not None and self.result.is_complete:
                    _made[self.model] = self.result


def opening_sweep(
    sweep: Sweep, model: LanguageModel, prompts: Sequence[str], *, chat: bool = False
) -> SweepWork:
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
                return work
        work = _ForAll(sweep, model, prompts, chat)
        _under_way.append(work)
        return work
