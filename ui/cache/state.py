"""What a visitor has of the cache page: model, sections, and a measurement laid over ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from engine.errors import DecodingError
from engine.measure.machine import Setting
from engine.measure.pace import PaceMeasurement
from engine.measure.report import Report
from engine.model import LanguageModel
from ui.cache.held import Held
from ui.cache.section import Laid, Section
from ui.cache.sections import SECTIONS
from ui.cache.work import MeasureWork
from ui.visits.records import BrokenRecord, Fields, choice_of, choice_record
from ui.words.catalogue import told


class CacheState:
    """One visitor's cache page.

    Attributes:
        model: what is measured.
        sections: by key, in the order of the page.
        chosen: key of the section in sight.
        pacing: times a few passes, from which the duration of everything else is estimated; None
            before the page is drawn first.
        other: a measurement of another machine, laid over ours; None without.
        error: what went wrong with the page as a whole, empty if nothing did.
    """

    name: ClassVar[str] = "cache"

    def __init__(self, model: LanguageModel, sections: Sequence[Section] = SECTIONS) -> None:
        self.model = model
        self.sections = {section.key: Held(section, model) for section in sections}
        self.chosen = next(iter(self.sections))
        self.pacing: MeasureWork | None = None
        self.other: Report | None = None
        self.error = ""

    @property
    def held(self) -> Held:
        """The section in sight."""
        return self.sections[self.chosen]

    def choose(self, key: str) -> None:
        """Look at another section; what runs in this one goes on."""
        self.chosen = key

    def look(self, is_there: Callable[[], bool]) -> None:
        """What every drawing does first: time a few passes, then measure what takes no longer."""
        if self.pacing is None:
            self.pacing = MeasureWork(PaceMeasurement(self.model))
            self.pacing.start(is_there)
        if self.pacing.is_done:
            self.held.begin_alone(self.pacing.result, is_there)

    def load(self, model: LanguageModel) -> None:
        """Go on with another model from the same inputs; all is measured anew."""
        self.release()
        self.model, self.pacing, self.error = model, None, ""
        self.sections = {
            key: Held(held.section, model, held.inputs) for key, held in self.sections.items()
        }

    # --- files ------------------------------------------------------------------------------------

    def report(self) -> Report | None:
        """All that is measured or computed so far; None where there is nothing yet."""
        results = {key: held.result() for key, held in self.sections.items()}
        parts = {key: result for key, result in results.items() if result is not None}
        begun = (held.setting for held in self.sections.values() if held.setting is not None)
        return Report(next(begun, None) or Setting.here(self.model), parts) if parts else None

    def lay_over(self, text: str) -> None:
        """Draw the measurement in a file beside ours; a bad one leaves what was there."""
        self.error = ""
        kinds = {key: held.section.result for key, held in self.sections.items()}
        try:
            self.other = Report.from_json(text, kinds)
        except DecodingError as error:
            self.error = told(error)

    def refuse(self, sentence: str) -> None:
        """Say why something was not done."""
        self.error = sentence

    def take_off(self) -> None:
        """Draw ours alone."""
        self.other, self.error = None, ""

    def laid(self, key: str) -> Laid | None:
        """What the other machine measured in a section; None where it did not."""
        if self.other is None or key not in self.other.parts:
            return None
        return Laid(self.other.setting.name, self.other.parts[key])

    # --- to disk and back -------------------------------------------------------------------------

    @property
    def version(self) -> object:
        """Compares unequal once the record would be another."""
        inputs = tuple(held.inputs for held in self.sections.values())
        return id(self.model), self.chosen, inputs

    def record(self) -> dict[str, Any]:
        """Model, section and inputs; all is measured again."""
        return {
            "model": choice_record(self.model),
            "chosen": self.chosen,
            "inputs": {key: held.inputs.record() for key, held in self.sections.items()},
        }

    @classmethod
    def restored(
        cls,
        data: Any,
        load: Callable[[str, str | None], LanguageModel],
        sections: Sequence[Section] = SECTIONS,
    ) -> CacheState:
        """The inverse of `record`; a section that the record does not know begins anew.

        Raises:
            DecodingError: a record that cannot be used, or a model that cannot be loaded.
        """
        data = Fields(data)
        inputs, chosen = data.inner("inputs"), data.text("chosen", 100)
        state = cls(load(*choice_of(data.inner("model"))), sections)
        for key, held in state.sections.items():
            kept = inputs.optional(key)
            if kept is not None:
                held.inputs = held.section.inputs.restored(kept)
        if chosen not in state.sections:
            raise BrokenRecord("Its section is not known.")
        state.chosen = chosen
        return state

    def release(self) -> None:
        """End what nobody waits for any more."""
        if self.pacing is not None:
            self.pacing.cancel()
        for held in self.sections.values():
            held.release()
