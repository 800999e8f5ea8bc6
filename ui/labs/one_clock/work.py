"""The runs in the background: each decoder in turn, three times."""

from __future__ import annotations

import time
from collections.abc import Iterator

from engine.errors import CancelledError, DecodingError
from engine.measure.machine import Machine
from engine.runner.scheduler import job
from engine.study.one_clock import OneClock, Timed
from ui.labs.one_clock.decoders import DECODERS, Beginning
from ui.skeleton.background import BackgroundWork
from ui.words.language import marked, say
from ui.words.refusals import told


class ClockWork(BackgroundWork):
    """All decoders on one prompt.

    Args:
        beginning: what they begin with.

    Attributes:
        beginning: as given.
        running: name of the decoder at work; empty before and after.
        was_busy: whether other programs had the cores when the runs began.

    Raises:
        DecodingError: the prompt does not fit the model.
    """

    doing = marked("the runs")
    noun = "run"

    def __init__(self, beginning: Beginning) -> None:
        self.beginning = beginning
        self.running = ""
        self.was_busy = Machine.here().is_busy
        prompt_ids = beginning.model.vocabulary.encode(beginning.prompt)
        entrants, self._refused = [], {}
        for decoder in DECODERS:
            try:
                entrants.append(decoder.entrant(decoder.name, beginning))
            except DecodingError as error:
                self._refused[decoder.name] = told(error)
        self._clock = OneClock(beginning.model, prompt_ids, entrants)
        super().__init__(self._clock.runs)

    def _passes(self) -> Iterator[float | None]:
        began, done = time.monotonic(), self._clock.done
        try:
            with job(lambda: self.is_cancelled):
                for name in self._clock.run():
                    if self.is_cancelled:
                        return
                    self.running = name
                    ran = self._clock.done - done
                    each = (time.monotonic() - began) / ran if ran else None
                    yield each and each * (self.count - self._clock.done)
        except CancelledError:
            return
        finally:
            self.running = ""

    @property
    def progress(self) -> str:
        """How far it has come, and what runs just now."""
        return f"{super().progress}: {say(self.running)}" if self.running else super().progress

    @property
    def is_done(self) -> bool:
        """Whether every run is over."""
        return self._clock.done == self._clock.runs

    @property
    def texts_done(self) -> int:
        """Runs that are over."""
        return self._clock.done

    @property
    def timed(self) -> dict[str, Timed]:
        """Results so far, by decoder, in the page's order."""
        timed = self._clock.timed
        return {one.name: timed[one.name] for one in DECODERS if one.name in timed}

    @property
    def failed(self) -> dict[str, str]:
        """Why decoders could not be run."""
        return self._refused | self._clock.failed
