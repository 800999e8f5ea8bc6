"""The walk over all texts of a small constraint, in the background."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

from engine.model import LanguageModel
from engine.sampling.stages import Constraint
from engine.study.whole_texts import Progress, Walk, WholeTexts
from ui.jobs import Job
from ui.words.language import marked

MOST_PASSES = 300


class WalkWork(Job):
    """A walk over all texts of a constraint.

    Raises:
        DecodingError: the constraint or the prompt does not fit the model.
    """

    doing = marked("the walk over all texts")
    noun = "beginning"
    breaks_off = True

    def __init__(self, model: LanguageModel, prompt: str, constraint: Constraint) -> None:
        super().__init__(MOST_PASSES)
        self._walk = Walk(model, prompt, constraint, most_passes=MOST_PASSES)
        self._ended_by_itself = False
        self._last: Progress | None = None
        self._result: tuple[Progress | None, WholeTexts] | None = None
        self._reading = threading.Lock()

    def _passes(self) -> Iterator[float | None]:
        began, done = time.monotonic(), self.texts_done
        for progress in self._walk.run(self._cancel):
            self._last = progress
            each = (time.monotonic() - began) / (progress.passes - done)
            yield each * (progress.passes_at_most - progress.passes)
        self._ended_by_itself = not self.is_cancelled

    @property
    def is_done(self) -> bool:
        """Whether the walk is over: everything found, or all passes used."""
        return self._ended_by_itself

    @property
    def texts_done(self) -> int:
        """Beginnings that were looked at."""
        return self._last.passes if self._last else 0

    @property
    def result(self) -> WholeTexts | None:
        """What was found; None while it runs."""
        if self.is_running:
            return None
        with self._reading:
            if self._result is None or self._result[0] is not self._last:
                self._result = (self._last, self._walk.result)
        return self._result[1]
