"""Passes as the scheduler saw them: what ran, what runs, who waits. Plain values for a picture.

Nobody has a name here. A pass has its kind and its times; one of a simulated visitor has a number.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Kind(IntEnum):
    """What a forward pass is for; lower goes first."""

    STEP = 0
    BATCH = 1
    PREFILL = 2


class Pass(NamedTuple):
    """One turn at the device. Times are seconds of `time.monotonic`.

    A pass may be longer than the model's own time: the thread also needs the interpreter.

    Attributes:
        kind: what it was asked for as.
        came: when it was asked for.
        began: when its turn came; None while it waits.
        ended: when it was over; None before.
        visitor: number of the simulated visitor that it is for; None for everybody else.
    """

    kind: Kind
    came: float
    began: float | None
    ended: float | None
    visitor: int | None


class Snapshot(NamedTuple):
    """The line in front of a device at one moment.

    Attributes:
        now: when it was taken.
        running: the pass that has the device; None where it is free.
        waiting: passes that wait, the next one first.
        recent: passes that are over, the oldest first; as many as the scheduler remembers.
    """

    now: float
    running: Pass | None
    waiting: tuple[Pass, ...]
    recent: tuple[Pass, ...]
