"""Base of every measurement: parts that are measured one after the other, with results so far.

>>> for seconds_left in measurement.run(): ...
>>> measurement.result
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar, Generic, TypeVar

AnyResult = TypeVar("AnyResult")
MOST_POSITIONS = 131_072  # of a text that is measured


class Measurement(ABC, Generic[AnyResult]):
    """Something that is measured in parts.

    Args:
        costs: how long each part is expected to take, in any unit; for the time left.

    Class attributes:
        noun: what a part is called.

    Attributes:
        done: parts that are measured. Running again goes on from here.
        took: how long that has taken, in seconds.
    """

    noun: ClassVar[str] = "part"

    def __init__(self, costs: Sequence[float]) -> None:
        self.done = 0
        self._costs = tuple(costs)
        self.took = 0.0

    @abstractmethod
    def _measure(self, part: int) -> None:
        """Measure a part.

        Where it raises, such as `CancelledError`, the part is measured again from its beginning the
        next time.
        """

    @property
    @abstractmethod
    def result(self) -> AnyResult | None:
        """The result so far, None before there is any; may be read from any thread."""

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
        """Measure what is not measured yet; yields the estimated seconds left after each part.

        Raises:
            DecodingError: a part cannot be measured; the parts before it stay.
        """
        while not self.is_done:
            start = time.perf_counter()
            self._measure(self.done)
            self.took += time.perf_counter() - start
            self.done += 1
            before, after = sum(self._costs[: self.done]), sum(self._costs[self.done :])
            yield self.took * after / max(before, 1e-9)
