"""A model on a measuring page: every section measured with it, and how fast its passes are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.measure.machine import Machine, Setting
from engine.measure.pace import Pace, PaceMeasurement
from engine.measure.report import Report
from engine.model import LanguageModel
from ui.jobs import Owner
from ui.labs.inputs import PlainInputs
from ui.measurements.held import Held
from ui.measurements.section import Section
from ui.measurements.work import MeasureWork
from ui.visits.records import BrokenRecord


class Bench:
    """What one visitor has measured of one model.

    Args:
        name: names its sections within the session.
        model: what is measured.
        sections: of the page, in their order.
        inputs: of the sections, by key; those that have none begin anew.

    Attributes:
        sections: by key, in the order of the page.
        pacing: times a few passes, from which the duration of everything else is estimated; None
            before the page is drawn first.
        busy: the machine, if it was busy as they were timed: they say nothing of an idle one.
    """

    def __init__(
        self,
        name: str,
        model: LanguageModel,
        sections: Sequence[Section],
        inputs: Mapping[str, PlainInputs],
    ) -> None:
        self.model = model
        self.sections = {
            one.key: Held(f"{name}_{one.key}", one, model, inputs.get(one.key)) for one in sections
        }
        self.pacing: MeasureWork[Pace] | None = None
        self.busy: Machine | None = None

    def look(self, owner: Owner) -> None:
        """Time a few passes, once; again where the machine was busy then and is no longer."""
        if self.pacing is not None and (self.busy is None or self.pacing.is_running):
            return
        machine = Machine.here()
        if self.pacing is not None and machine.is_busy:
            return
        self.busy = machine if machine.is_busy else None
        self.pacing = MeasureWork(PaceMeasurement(self.model)).start(owner)

    @property
    def pace(self) -> Pace | None:
        """How fast passes are; None while that is not known."""
        if self.pacing is None or not self.pacing.is_done:
            return None
        return self.pacing.result

    @property
    def inputs(self) -> dict[str, PlainInputs]:
        """The inputs of its sections, by key."""
        return {key: held.inputs for key, held in self.sections.items()}

    def report(self) -> Report | None:
        """All that is measured or computed so far; None where there is nothing yet."""
        results = {key: held.result() for key, held in self.sections.items()}
        parts = {key: result for key, result in results.items() if result is not None}
        begun = (held.setting for held in self.sections.values() if held.setting is not None)
        return Report(next(begun, None) or Setting.here(self.model), parts) if parts else None

    def records(self) -> dict[str, Any]:
        """Results of its sections that are whole, by key, for a record."""
        records = {key: held.results for key, held in self.sections.items()}
        return {key: record for key, record in records.items() if record is not None}

    def restore(self, data: dict[str, Any]) -> list[str]:
        """The inverse of `records`; gives the keys of results that cannot be read."""
        broken = []
        for key, held in self.sections.items():
            record = data.get(key)
            try:
                if record is not None:
                    held.take_results(record)
            except BrokenRecord:
                broken.append(key)
        return broken

    def release(self) -> None:
        """End what nobody waits for any more."""
        if self.pacing is not None:
            self.pacing.cancel()
        for held in self.sections.values():
            held.release()
