"""Timing that works on a shared machine.

Cases to compare take turns within one run, so that other load on the machine hits all alike, and
their medians are compared. In addition to the wall clock, the CPU time of the calling thread is
measured. It hardly counts the moments when another program had the core.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import numpy as np

try:
    import resource
except ImportError:  # not on Windows
    resource = None


_BUSY = 1.25  # wall clock over CPU time from which the machine counts as busy


@dataclass(frozen=True)
class Case:
    """One case to be timed.

    Attributes:
        run: runs it once.
        inside: makes the context in which it runs; entering and leaving are not timed.
    """

    run: Callable[[], object]
    inside: Callable[[], AbstractContextManager] = nullcontext


@dataclass
class Times:
    """Durations of one case.

    Attributes:
        wall: milliseconds by the wall clock.
        cpu: milliseconds of CPU time of the calling thread.
        faults: pages of memory that the system had to provide during each run. A hundred page
            faults cost as much as a pass over a large row, so they explain figures that differ from
            run to run.
    """

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    faults: list[int] = field(default_factory=list)

    @property
    def ms(self) -> float:
        """Median by the wall clock."""
        return float(np.median(self.wall))

    @property
    def cpu_ms(self) -> float:
        """Median CPU time of the calling thread."""
        return float(np.median(self.cpu))

    @property
    def best_ms(self) -> float:
        """Shortest duration by the wall clock."""
        return float(np.min(self.wall))

    @property
    def p90_ms(self) -> float:
        """90th percentile by the wall clock."""
        return float(np.percentile(self.wall, 90))

    @property
    def page_faults(self) -> float:
        """Mean number of page faults."""
        return float(np.mean(self.faults)) if self.faults else 0.0

    @property
    def busy(self) -> bool:
        """Tell whether other programs used the processor for much of the time."""
        return self.ms > _BUSY * self.cpu_ms

    @property
    def own_ms(self) -> float:
        """Median by the wall clock or, on a busy machine, of CPU time."""
        return self.cpu_ms if self.busy else self.ms

    def extend(self, other: Times) -> None:
        """Add the durations of another round."""
        self.wall += other.wall
        self.cpu += other.cpu
        self.faults += other.faults

    def to_dict(self) -> dict[str, float]:
        """Return plain numbers for the JSON line."""
        return {
            "ms": self.ms,
            "cpu_ms": self.cpu_ms,
            "best_ms": self.best_ms,
            "p90_ms": self.p90_ms,
            "page_faults": self.page_faults,
            "samples": len(self.wall),
        }


def in_turns(
    cases: Mapping[str, Case],
    turns: int,
    *,
    in_a_row: int = 1,
    warm_up: int = 1,
    synchronize: Callable[[], None] | None = None,
) -> dict[str, Times]:
    """Run every case in each turn; the order rotates, so that none always follows the same one.

    Args:
        cases: the cases to time, by name.
        turns: number of turns.
        in_a_row: number of runs of a case before the next has its turn.
        warm_up: additional turns beforehand, not counted.
        synchronize: waits for a GPU; called before each run, and after it within the timing.
    """
    names = list(cases)
    times = {name: Times() for name in names}
    for turn in range(warm_up + turns):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            for _ in range(in_a_row):
                timed = _run(cases[name], synchronize)
                if turn >= warm_up:
                    times[name].extend(timed)
    return times


def _run(case: Case, synchronize: Callable[[], None] | None) -> Times:
    with case.inside():
        if synchronize:
            synchronize()
        faults = _page_faults()
        wall, cpu = time.perf_counter(), time.thread_time()
        case.run()
        if synchronize:
            synchronize()
        wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
        faults = _page_faults() - faults
    return Times([wall * 1e3], [cpu * 1e3], [faults])


def _page_faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt if resource else 0


@dataclass(frozen=True)
class Ratio:
    """Ratio of the times of two cases.

    Attributes:
        wall, cpu: ratio by the wall clock, and by CPU time.
        busy: whether other programs used the processor for much of the time. The wall clock then
            measures them, so `value` uses CPU time.
    """

    wall: float
    cpu: float
    busy: bool

    @property
    def value(self) -> float:
        """The ratio to use."""
        return self.cpu if self.busy else self.wall

    @property
    def words(self) -> str:
        """Give the ratio by the other clock; on a busy machine, explain why CPU time counts."""
        if self.busy:
            return f"by CPU time, as the machine is busy (wall clock {self.wall:.3g}x)"
        return f"by CPU time {self.cpu:.3g}x"


def ratio(over: Times, under: Times, *, by_wall: bool = False) -> Ratio:
    """Compute `over` in units of `under`, both measured in turns.

    Args:
        over, under: the times of the two cases.
        by_wall: always use the wall clock, for example if a GPU does the work.
    """
    busy = not by_wall and (over.busy or under.busy)
    return Ratio(over.ms / under.ms, over.cpu_ms / under.cpu_ms, busy)


def timed_ms(run: Callable[[], object]) -> float:
    """Return the wall time of one run in milliseconds."""
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e3
