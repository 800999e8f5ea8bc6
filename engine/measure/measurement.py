"""Base of every measurement: parts measured one after the other, with results so far.

>>> for seconds_left in measurement.run(): ...
>>> measurement.result
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar, Generic, TypeVar

AnyResult = TypeVar("AnyResult")
MOST_POSITIONS = 131_072  # of a measured text


class Measurement(ABC, Generic[AnyResult]):
    """A measurement in parts.

    Args:
        costs: expected duration of each part, in any unit, to estimate the time left.

    Class attributes:
        noun: the word for a part.

    Attributes:
        done: number of measured parts. A new run continues from here.
        took: seconds spent on these parts.
    """

    noun: ClassVar[str] = "part"

    def __init__(self, costs: Sequence[float]) -> None:
        self.done = 0
        self._costs = tuple(costs)
        self.took = 0.0

    @abstractmethod
    def _measure(self, part: int) -> None:
        """Measure a part.

        If it raises, as with `CancelledError`, the next run measures the part again from the
        beginning.
        """

    @property
    @abstractmethod
    def result(self) -> AnyResult | None:
        """The result so far, None before the first part; any thread may read it."""

    @property
    def costs(self) -> tuple[float, ...]:
        """Expected duration of each part, in any unit."""
        return self._costs

    @property
    def parts(self) -> int:
        """Number of parts."""
        return len(self._costs)

    @property
    def is_done(self) -> bool:
        """True once all parts are measured."""
        return self.done == self.parts

    def run(self) -> Iterator[float]:
        """Measure the remaining parts; yields the estimated seconds left after each one.

        Raises:
            DecodingError: a part cannot be measured; the parts before it remain.
        """
        while not self.is_done:
            start = time.perf_counter()
            self._measure(self.done)
            self.took += time.perf_counter() - start
            self.done += 1
            before, after = sum(self._costs[: self.done]), sum(self._costs[self.done :])
            yield self.took * after / max(before, 1e-9)
