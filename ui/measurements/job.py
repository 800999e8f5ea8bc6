"""A measurement in the background, which takes turns with all visitors' work."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Generic, TypeVar

from msgspec import Struct

from engine.measure import Measurement, Setting
from engine.values import Real, plain
from ui.jobs import Job
from ui.labs.inputs import PlainInputs
from ui.visits.records import read
from ui.words.language import marked

MOST_KEPT = 2**18  # characters of a result in a record

AnyResult = TypeVar("AnyResult")


class SectionJob(Job, Generic[AnyResult]):
    """The background job of a section, with its results so far.

    Attributes:
        setting: the machine and the model when the job started.
    """

    doing = marked("the measurement")
    noun = "part"
    breaks_off = True
    setting: Setting

    @property
    def result(self) -> AnyResult | None:
        """The result so far; None before there is any."""
        raise NotImplementedError

    @property
    def took(self) -> float | None:
        """Seconds taken so far; None if they are not counted."""
        return None

    @cached_property
    def kept(self) -> dict[str, Any] | None:
        """The complete result as plain values for a record; None if it is too large."""
        data = {
            "inputs": self.inputs.record(),
            "setting": plain(self.setting),
            "took": self.took,
            "result": plain(self.result),
        }
        return data if len(json.dumps(data)) <= MOST_KEPT else None


class _Kept(Struct):
    inputs: dict[str, Any]
    setting: Setting
    took: Real | None
    result: Any


class KeptJob(SectionJob[AnyResult]):
    """A finished measurement, restored from a record.

    Args:
        data: the value of `kept`.
        inputs, result: the classes of the inputs and the result.

    Raises:
        BrokenRecord: the record cannot be used.
    """

    is_done = True
    texts_done = 1
    result = took = None  # set below

    def __init__(self, data: Any, inputs: type[PlainInputs], result: type[AnyResult]) -> None:
        super().__init__(1)
        kept = read(data, _Kept)
        self.inputs, self.result = inputs.restored(kept.inputs), read(kept.result, result)
        self.setting, self.took = kept.setting, kept.took


class MeasureJob(SectionJob[AnyResult]):
    """Runs a measurement of the engine.

    Args:
        measurement: the measurement to run; a cancelled one continues where it stopped.
    """

    def __init__(self, measurement: Measurement[AnyResult]) -> None:
        super().__init__(measurement.parts)
        self.measurement = measurement
        self.noun = measurement.noun
        self._result: AnyResult | None = None  # the complete result, kept for its cached properties

    def _passes(self) -> Iterator[float | None]:
        for seconds_left in self.measurement.run():
            yield seconds_left
            if self.is_cancelled:
                return

    @property
    def is_done(self) -> bool:
        """True if everything is measured."""
        return self.measurement.is_done

    @property
    def texts_done(self) -> int:
        """Number of measured parts."""
        return self.measurement.done

    @property
    def result(self) -> AnyResult | None:
        """The result so far."""
        if self._result is None and self.is_done:
            self._result = self.measurement.result
        return self.measurement.result if self._result is None else self._result

    @property
    def took(self) -> float:
        """Seconds that the measured parts have taken."""
        return self.measurement.took
