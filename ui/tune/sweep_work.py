"""A sweep in the background: its result so far, summed up where the page need not wait for it."""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterator, Sequence

from engine.model import LanguageModel
from engine.sweep import Sweep, SweepProgress, SweepResult
from ui.shared.background import BackgroundWork

MAX_ROWS = 32  # in one forward pass: others' steps wait for one, and a Cancel loses at most these
SUM_UP_SECONDS = 2.0  # at least, between two summaries

_speeds: weakref.WeakKeyDictionary[LanguageModel, float] = weakref.WeakKeyDictionary()
_openings: weakref.WeakKeyDictionary[LanguageModel, SweepResult] = weakref.WeakKeyDictionary()


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
        keep_for_all: whether the finished result is kept for the next who asks for this sweep with
            this model, as every visitor does whose page opens.

    Attributes:
        sweep, model, prompts, chat: as given.
        result: texts and metrics so far, None before the first text has begun.
        version: counts the results; each text more on screen is a new one.

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
        super().__init__(sweep.count)
        self.sweep = sweep
        self.model = model
        self.prompts = tuple(prompts)
        self.chat = chat
        self.version = 0
        self.result: SweepResult | None = None
        self._keep_for_all = keep_for_all
        self._progress: SweepProgress | None = None
        kept = _openings.get(model) if keep_for_all else None
        if kept is not None and kept.sweep == sweep:
            self.result = kept
        self._run = (
            None if self.result else sweep.run(model, cancel=self._cancel, max_rows=MAX_ROWS)
        )

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
        if self.result.is_complete and self._keep_for_all:
            _openings[self.model] = self.result

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
        return self.count if self.is_done else 0
