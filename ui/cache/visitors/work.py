"""Simulated visitors in the background, until their time is over or somebody sends them away."""

from __future__ import annotations

import time
from collections.abc import Iterator

from engine.measure.visitors import Guests, Visitors, VisitorsResult
from engine.model import LanguageModel
from ui.measurements.work import SectionWork
from ui.words.language import marked

EVERY_SECONDS = 0.25  # between two looks at the line


class VisitorsWork(SectionWork[VisitorsResult]):
    """Simulated visitors, and what the line looks like meanwhile.

    They leave when their time is over, when it is cancelled, or a minute after the tab is closed.

    Args:
        model: what they use.
        guests: how many do what.
        seconds: how long they stay.

    Raises:
        SettingError: a time out of range.
    """

    doing = marked("the simulated visitors")
    noun = "second"

    def __init__(self, model: LanguageModel, guests: Guests, seconds: int) -> None:
        super().__init__(seconds)
        self._model = model
        self._guests = guests
        self._visitors = Visitors(model, guests, seconds)
        self._stayed = 0.0  # before the last cancel

    def _passes(self) -> Iterator[float | None]:
        left = self.count - self._stayed
        visitors = self._visitors = Visitors(self._model, self._guests, max(1.0, left))
        before, start = self._stayed, time.monotonic()
        visitors.start()
        try:
            while not self.is_done and not self._cancel.wait(EVERY_SECONDS):
                visitors.look()
                self._stayed = before + time.monotonic() - start
                yield max(0.0, self.count - self._stayed)
        finally:
            visitors.stop()

    @property
    def is_done(self) -> bool:
        """Whether their time is over."""
        return self._stayed >= self.count

    @property
    def texts_done(self) -> int:
        """Seconds that they have stayed."""
        return min(self.count, int(self._stayed))

    @property
    def result(self) -> VisitorsResult | None:
        """The line as it was seen last."""
        return self._visitors.result
