"""Playing of texts: one step per press, steps at a given speed, or catching up to a given length.

A page has one text, or several side by side, of any strategy in `engine.decoding`. Steps are taken
in a job. A press waits a moment for the job; longer work continues while the page remains usable.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Protocol, Self, TypeVar

from engine.decoding import Generation
from ui.jobs import Call, Owner
from ui.words.language import marked

PATIENCE_SECONDS = 0.8  # that a button press waits; longer work shows progress
BUDGET_SECONDS = 0.6  # of steps in a row while a text catches up
LOOK_SECONDS = 0.3  # between two looks at a slow step

AnyGeneration = TypeVar("AnyGeneration", bound=Generation)


def taken(steps: Iterable[object], most: int | None, seconds: float) -> int:
    """Take at least one step, at most `most`, and none after `seconds`; return the number taken."""
    end, number = time.monotonic() + seconds, 0
    for number, _ in enumerate(steps, start=1):
        if number == most or time.monotonic() >= end:
            break
    return number


@dataclass(eq=False, kw_only=True)
class PlayedText(Generic[AnyGeneration]):
    """A text that a page plays.

    Attributes:
        text: the generation; None if it could not begin.
        wanted: the number of steps to catch up to, that of the text it replaced.
    """

    text: AnyGeneration | None = None
    wanted: int = 0

    @property
    def steps(self) -> list[Any]:
        """The steps taken so far."""
        return self.text.steps if self.text else []

    @property
    def length(self) -> int:
        """The number of steps taken so far."""
        return len(self.steps)

    @property
    def aim(self) -> int:
        """The number of steps that it has, or that it is catching up to."""
        return max(self.wanted, self.length)

    def can_go_on(self, limit: int | None) -> bool:
        """Return True if it can take a further step, within a limit on their number."""
        return self.text is not None and self.text.can_go_on(limit)

    def is_behind(self, limit: int | None) -> bool:
        """Return True if it has steps to catch up on, and can take them."""
        return self.length < self.wanted and self.can_go_on(self._within(limit))

    def _within(self, limit: int | None) -> int | None:
        """Return the limit, or `wanted` if a new limit is below it."""
        return limit and max(limit, self.wanted)

    def step(self, limit: int | None) -> None:
        """Take a step, if one is possible."""
        next(self.text.run(self._within(limit)), None)

    def rewind(self, length: int) -> None:
        """Keep at most `length` steps."""
        if self.length > length:
            self.text.rewind(length)

    def copy(self) -> Self:
        """Return a copy with an independent text."""
        return replace(self, text=self.text and self.text.fork())

    def release(self) -> None:
        """Release the memory of its cache."""
        if self.text is not None:
            self.text.release_cache()


AnyText = TypeVar("AnyText", bound=PlayedText)


class Played(Protocol):
    """The state of a page with texts that play.

    Attributes:
        error: the last failure, empty if there was none.
        owner: the person it belongs to.
    """

    error: str
    owner: Owner

    def pressed(self) -> None:
        """Handle a press of Step, Play, Back or Rewind on the page's side."""


class Player(Generic[AnyText]):
    """Playback of a page's texts: steps on a press or at a speed, taken in jobs.

    Args:
        page: the page; failures become its `error`.
        speeds: by name, seconds between two looks, and seconds of stepping in each (at least one
            step).
        speed: the name of one of them.
        limit: the most steps that a text may have; None for no limit.

    Attributes:
        texts: the texts; `take` replaces them.
        playing: True if steps are being added.
        job: the latest work; None before the first.
    """

    def __init__(
        self, page: Played, speeds: Mapping[str, tuple[float, float]], speed: str, limit: int | None
    ) -> None:
        self.page, self.speeds, self.speed, self.limit = page, speeds, speed, limit
        self.texts: Sequence[AnyText] = ()
        self.playing = False
        self.job: Call[Any] | None = None
        self._then: Callable[[Any], None] | None = None

    def take(self, texts: Sequence[AnyText], *, now: bool = True) -> None:
        """Play these texts from now on; work in progress is cancelled.

        Args:
            texts: the texts, some of which may already be here.
            now: True to let them catch up at once, False at the next look.
        """
        if self.job is not None:
            self.job.cancel()
            self.job = None
        for gone in set(self.texts).difference(texts):
            gone.release()
        self.texts = texts
        if now:
            self._catch_up()

    # --- progress ---------------------------------------------------------------------------------

    @property
    def aim(self) -> int:
        """The number of steps that the longest text has, or is catching up to."""
        return max((text.aim for text in self.texts), default=0)

    @property
    def can_go_on(self) -> bool:
        """True if any text can take a further step."""
        return any(text.can_go_on(self.limit) for text in self.texts)

    @property
    def is_behind(self) -> bool:
        """True if a text has steps to catch up on."""
        return any(text.is_behind(self.limit) for text in self.texts)

    @property
    def is_busy(self) -> bool:
        """True if a job is at work on the texts."""
        return self.job is not None and self.job.is_running

    @property
    def is_growing(self) -> bool:
        """True if the next look adds steps, because a text plays or catches up."""
        return self.is_behind or (self.playing and self.can_go_on)

    @property
    def look_every(self) -> float | None:
        """Seconds between two redraws; None if nothing changes."""
        if self.playing and self.can_go_on:
            return self.speeds[self.speed][0]
        return LOOK_SECONDS if self.is_behind or self.is_busy else None

    @property
    def version(self) -> object:
        """A value that changes whenever the texts or the speed do."""
        return self.speed, tuple((id(text.text), text.aim) for text in self.texts)

    # --- buttons ----------------------------------------------------------------------------------

    def step(self) -> None:
        """Take a step with every text that is not ahead of the others."""
        self.stop()
        self.page.pressed()
        self.do("Taking a step", partial(taken, self._rounds(self.texts), 1, 0.0))

    def back(self) -> None:
        """Undo the last step of the longest texts."""
        self.rewind(max((text.length for text in self.texts), default=0) - 1)

    def rewind(self, length: int = 0) -> None:
        """Keep the first `length` steps."""
        self.stop()
        self.page.pressed()
        if not self.is_busy and length >= 0:
            self.page.error = ""
            for text in self.texts:
                text.rewind(length)

    def play(self) -> None:
        """Add steps until the texts end or `stop` is called."""
        self.page.pressed()
        self.playing, self.page.error = self.can_go_on, ""

    def stop(self) -> None:
        """Stop adding steps, including those to catch up on."""
        self.playing = False
        for text in self.texts:
            text.wanted = 0

    def cancel(self) -> None:
        """Stop, and cancel the job."""
        self.stop()
        if self.job is not None:
            self.job.cancel()

    # --- at work ----------------------------------------------------------------------------------

    def do(
        self, doing: str, work: Callable[[], Any], then: Callable[[Any], None] | None = None
    ) -> None:
        """Run work on the texts in a job, unless a job is at work.

        Args:
            doing: the name of the work, as progress shows it.
            work: the function to call.
            then: receives the result, in the thread that looks next.
        """
        self._take_note()
        if not self.is_busy:
            self.page.error = ""
            self._begin(doing, work, then)

    def _begin(
        self, doing: str, work: Callable[[], Any], then: Callable[[Any], None] | None = None
    ) -> None:
        self.job, self._then = Call(doing, work).start(self.page.owner), then
        if self.job.wait(PATIENCE_SECONDS):
            self._take_note()

    def look(self) -> None:
        """Handle finished work, and add steps; every redraw calls this first."""
        self._take_note()
        if self.is_busy:
            return
        if self.is_behind:
            self._catch_up()
        elif self.playing and self.can_go_on:
            self._grow(self.speeds[self.speed][1])
        if not self.is_growing:
            self.playing = False

    def settle(self, seconds: float) -> bool:
        """Look until nothing grows; return False if a job takes longer than `seconds`."""
        self.look()
        while self.is_growing or self.is_busy:
            if self.is_busy and not self.job.wait(seconds):
                return False
            self.look()
        return True

    def _take_note(self) -> None:
        job = self.job
        if job is None or job.is_running:
            return
        then, self._then = self._then, None
        if job.problem:
            self.page.error, job.problem = job.problem, ""
            self.stop()
        elif then is not None:
            then(job.result)

    def _catch_up(self) -> None:
        if self.is_behind and not self.is_busy:
            self._grow(BUDGET_SECONDS, again=True)

    def _grow(self, seconds: float, *, again: bool = False) -> None:
        rounds = self._rounds(self.texts, again=again)
        self._begin(marked("Taking steps"), partial(taken, rounds, None, seconds))

    def _rounds(self, texts: Sequence[AnyText], *, again: bool = False) -> Iterator[None]:
        """Take rounds of steps with the shortest texts, or if `again`, with those that catch up."""
        while True:
            if again:
                turn = [text for text in texts if text.is_behind(self.limit)]
            else:
                going_on = [text for text in texts if text.can_go_on(self.limit)]
                shortest = min((text.length for text in going_on), default=0)
                turn = [text for text in going_on if text.length == shortest]
            if not turn:
                return
            for text in turn:
                text.step(self.limit)
            yield

    # --- copy and release -------------------------------------------------------------------------

    def copy(self, page: Played) -> Player[AnyText]:
        """Return a copy for another tab's page, stopped."""
        twin = Player(page, self.speeds, self.speed, self.limit)
        twin.texts = [text.copy() for text in self.texts]
        return twin

    def release(self) -> None:
        """Cancel the work, and release the memory of the texts' caches."""
        self.cancel()
        for text in self.texts:
            text.release()
