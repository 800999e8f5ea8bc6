"""A measurement in the background, in turns with the work of all visitors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from engine.measure.measurement import Measurement
from ui.jobs import Job
from ui.words.language import marked

AnyResult = TypeVar("AnyResult")


class SectionWork(Job, Generic[AnyResult]):
    """Work of a section: background work that has results so far."""

    doing = marked("the measurement")
    noun = "part"
    breaks_off = True

    @property
    def result(self) -> AnyResult | None:
        """What there is so far, None before there is anything."""
        raise NotImplementedError

    @property
    def took(self) -> float | None:
        """Seconds that it has taken so far, None where nobody counts them."""
        return None


class KeptWork(SectionWork[AnyResult]):
    """A measurement that ended earlier, as a record has it.

    Args:
        result: all of it.
        took: seconds that it took; None if it was not counted.
    """

    is_done = True
    texts_done = 1

    def __init__(self, result: AnyResult, took: float | None) -> None:
        super().__init__(1)
        self._kept, self._took = result, took

    @property
    def result(self) -> AnyResult:
        """All of it."""
        return self._kept

    @property
    def took(self) -> float | None:
        """Seconds that it took."""
        return self._took


class MeasureWork(SectionWork[AnyResult]):
    """A measurement of the engine.

    Args:
        measurement: what is measured; a cancelled one goes on where it was.
    """

    def __init__(self, measurement: Measurement[AnyResult]) -> None:
        super().__init__(measurement.parts)
        self.measurement = measurement
        self.noun = measurement.noun
        self._result: AnyResult | None = None  # of all parts: what it computes is kept with it

    def _passes(self) -> Iterator[float | None]:
        for seconds_left in self.measurement.run():
            yield seconds_left
            if self.is_cancelled:
                return

    @property
    def is_done(self) -> bool:
        """Whether all is measured."""
        return self.measurement.is_done

    @property
    def texts_done(self) -> int:
        """Parts that are measured."""
        return self.measurement.done

    @property
    def result(self) -> AnyResult | None:
        """What there is so far."""
        if self._result is None and self.is_done:
            self._result = self.measurement.result
        return self.measurement.result if self._result is None else self._result

    @property
    def took(self) -> float:
        """Seconds that its parts have taken so far."""
        return self.measurement.took
