"""The line in front of the model while visitors use it: who waits, what runs, for how long.

Simulated visitors of the real engine can be let in (see `engine.measure.company`): they step, write
batches or read long prompts with the loaded model, beside everybody else who uses it. Real visitors
are kinds and counts here, and never names.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from engine.checks import is_whole
from engine.errors import SettingError
from engine.measure.company import LENGTH, Crowd, Pace, Work, batches, prefills, steps
from engine.model import LanguageModel
from engine.runner.scheduler import REMEMBERED, SCHEDULER, Scheduler
from engine.runner.snapshot import Kind, Pass, Snapshot
from engine.trace.values import OneOf, Real, Record, Row, Whole, of

MOST_VISITORS = 60
LONGEST_SECONDS = 120
EVERY_SECONDS = 1.0  # from one step of a simulated visitor to the next
ROWS = 16  # texts of a simulated visitor's batch
SPAN_SECONDS = 10.0  # of the picture, and of all figures: what was before is forgotten
KINDS = tuple(kind.name.lower() for kind in Kind)
LEAVING_SECONDS = 5.0  # that simulated visitors have to leave
_MOST_SHOWN = REMEMBERED + 1_000


@dataclass(frozen=True)
class Guests:
    """How many simulated visitors do what.

    Attributes:
        stepping: take a step each second.
        batching: write batches of 16 texts, one after the other.
        prompting: read prompts of 1,000 tokens, one after the other; fewer in a short context.

    Raises:
        SettingError: fewer than none, or more than 60 together.
    """

    stepping: int = 0
    batching: int = 0
    prompting: int = 0

    def __post_init__(self) -> None:
        for name in ("stepping", "batching", "prompting"):
            value = getattr(self, name)
            if not is_whole(value) or not 0 <= value <= MOST_VISITORS:
                remedy = f"use a whole number from 0 to {MOST_VISITORS}"
                raise SettingError(name, value, "is no number of visitors", remedy)
        if self.count > MOST_VISITORS:
            remedy = f"use at most {MOST_VISITORS} of all kinds together"
            raise SettingError("visitors", self.count, "are too many", remedy)

    @property
    def count(self) -> int:
        """All of them."""
        return self.stepping + self.batching + self.prompting

    def makers(self, model: LanguageModel, seconds: float) -> list[Callable[[], Work]]:
        """What makes the work of each; those who step come last."""
        pace = Pace(EVERY_SECONDS, seconds)
        longest = (model.context_length or LENGTH + 1) - 1
        return [
            *(partial(batches, model, ROWS) for _ in range(self.batching)),
            *(partial(prefills, model, min(LENGTH, longest)) for _ in range(self.prompting)),
            *(partial(steps, model, pace, seed) for seed in range(1, self.stepping + 1)),
        ]


@dataclass(frozen=True)
class ShownPass:
    """A pass in the picture; times are seconds before the picture was taken.

    Attributes:
        kind: ``step``, ``batch`` or ``prefill``.
        visitor: number of the simulated visitor; None for everybody else.
        came: when it was asked for.
        began: when its turn came; None while it waits.
        ended: when it was over; None before.
    """

    kind: str = of(OneOf(KINDS))
    visitor: int | None = of(Whole(1), optional=True)
    came: float = of(Real(0))
    began: float | None = of(Real(0), optional=True)
    ended: float | None = of(Real(0), optional=True)


@dataclass(frozen=True)
class KindWaits:
    """The passes of one kind.

    Attributes:
        kind: ``step``, ``batch`` or ``prefill``.
        passes: how many there were.
        wait_p50, wait_p95, wait_most: how long they waited for their turn, in milliseconds.
        pass_p50, pass_p95: how long they had the device, in milliseconds.
    """

    kind: str = of(OneOf(KINDS))
    passes: int = of(Whole(1))
    wait_p50: float = of(Real(0))
    wait_p95: float = of(Real(0))
    wait_most: float = of(Real(0))
    pass_p50: float = of(Real(0))
    pass_p95: float = of(Real(0))


@dataclass(frozen=True)
class VisitorsResult:
    """The line as it stands, and what was seen of it in the last seconds.

    Attributes:
        stepping, batching, prompting: simulated visitors of each kind.
        seconds: how long it has been watched.
        span: seconds that all that follows is taken over, the last ones.
        shown: the passes of everybody, the oldest first; then what runs, then those that wait.
        kinds: figures of every kind of pass that ended.
        longest_line: most passes that waited at one moment.
        busy: share of the time in which a pass had the device.
        steps: steps that simulated visitors took.
        step_p50, step_p95: how long these took from the press to the end, in milliseconds; None
            without any.
    """

    stepping: int = of(Whole())
    batching: int = of(Whole())
    prompting: int = of(Whole())
    seconds: float = of(Real(0))
    span: float = of(Real(0, SPAN_SECONDS, rounded=True))
    shown: tuple[ShownPass, ...] = of(Row(Record(ShownPass), _MOST_SHOWN))
    kinds: tuple[KindWaits, ...] = of(Row(Record(KindWaits), len(KINDS)))
    longest_line: int = of(Whole())
    busy: float = of(Real(0, 1, rounded=True))
    steps: int = of(Whole())
    step_p50: float | None = of(Real(0), optional=True)
    step_p95: float | None = of(Real(0), optional=True)


class Visitors:
    """Simulated visitors, and the line in front of the model while they are there.

    Args:
        model: what they use.
        guests: how many do what.
        seconds: when they leave by themselves.
        scheduler: whose line is watched.

    Attributes:
        result: what was seen last; None before the first look.

    Raises:
        SettingError: a time out of range.
    """

    def __init__(
        self,
        model: LanguageModel,
        guests: Guests,
        seconds: float,
        scheduler: Scheduler = SCHEDULER,
    ) -> None:
        if not 1 <= seconds <= LONGEST_SECONDS:
            remedy = f"use 1 to {LONGEST_SECONDS}"
            raise SettingError("seconds", seconds, "is out of range", remedy)
        self.seconds = seconds
        self.result: VisitorsResult | None = None
        self._guests = guests
        self._scheduler = scheduler
        self._crowd = Crowd(guests.makers(model, seconds), leaves_at_once=True)
        self._start = 0.0

    def start(self) -> None:
        """Let them in, and begin to watch."""
        self._start = time.monotonic()
        self._crowd.start()

    def look(self) -> None:
        """Take a look at the line.

        Raises:
            DecodingError: what a simulated visitor met with.
        """
        if self._crowd.failure is not None:
            raise self._crowd.failure
        self.result = self._result(self._scheduler.look())

    def stop(self) -> None:
        """Send them away, and wait until they have gone."""
        self._crowd.stop()
        self._crowd.join(LEAVING_SECONDS)

    def _result(self, snapshot: Snapshot) -> VisitorsResult:
        now = snapshot.now
        first = max(self._start, now - SPAN_SECONDS)
        if len(snapshot.recent) == REMEMBERED:  # more passes than the scheduler remembers
            first = max(first, snapshot.recent[0].ended)
        ended = [one for one in snapshot.recent if one.ended > first]
        running = [snapshot.running] if snapshot.running else []
        everybody = [*ended, *running, *snapshot.waiting]
        each = self._crowd.seen[self._guests.count - self._guests.stepping :]
        steps_ms = [ms for seen in each for ms in seen.ms[-int(SPAN_SECONDS / EVERY_SECONDS) :]]
        span = max(now - first, 1e-9)
        return VisitorsResult(
            stepping=self._guests.stepping,
            batching=self._guests.batching,
            prompting=self._guests.prompting,
            seconds=now - self._start,
            span=span,
            shown=tuple(_shown(one, now) for one in everybody),
            kinds=tuple(_figures(ended)),
            longest_line=_longest_line(everybody),
            busy=min(1.0, sum(one.ended - max(one.began, first) for one in ended) / span),
            steps=len(steps_ms),
            step_p50=float(np.percentile(steps_ms, 50)) if steps_ms else None,
            step_p95=float(np.percentile(steps_ms, 95)) if steps_ms else None,
        )


def _shown(one: Pass, now: float) -> ShownPass:
    def ago(moment: float | None) -> float | None:
        return None if moment is None else max(0.0, now - moment)

    return ShownPass(
        one.kind.name.lower(), one.visitor, ago(one.came), ago(one.began), ago(one.ended)
    )


def _figures(passes: list[Pass]) -> list[KindWaits]:
    found = []
    for kind in Kind:
        some = [one for one in passes if one.kind is kind]
        if not some:
            continue
        waits = np.array([one.began - one.came for one in some]) * 1e3
        took = np.array([one.ended - one.began for one in some]) * 1e3
        figures = (*np.percentile(waits, (50, 95, 100)), *np.percentile(took, (50, 95)))
        found.append(KindWaits(kind.name.lower(), len(some), *map(float, figures)))
    return found


def _longest_line(passes: list[Pass]) -> int:
    """Most passes that waited at one moment: a pass waits from its coming to its turn."""
    if not passes:
        return 0
    came = [one.came for one in passes]
    began = [one.began for one in passes if one.began is not None]
    moments = np.array(came + began)
    changes = np.array([1] * len(came) + [-1] * len(began))
    # Whoever has its turn at once, or as another one comes, does not wait: ends go first.
    order = np.lexsort((changes, moments))
    return int(max(0, np.cumsum(changes[order]).max()))
