"""State of a section for one visitor: its inputs, the work started from them, and errors."""

from __future__ import annotations

from typing import Any

from engine.errors import DecodingError
from engine.measure import Pace, Setting
from engine.model import LanguageModel
from ui.jobs import Owner
from ui.labs.inputs import PlainInputs
from ui.measurements.job import KeptJob, SectionJob
from ui.measurements.section import Drawn, Section
from ui.visits.in_hand import Prompt


class SectionState(Drawn):
    """A section in one visitor's state; fields show its inputs and change them.

    Attributes, besides those of `Drawn`:
        section: the section.
        name: name of its fields, unique within the session.
    """

    def __init__(
        self, name: str, section: Section, model: LanguageModel, inputs: PlainInputs | None = None
    ) -> None:
        super().__init__(model, inputs or section.first_inputs(model))
        self.name = name
        self.section = section

    @property
    def mark(self) -> str:
        """Return the section's sign in the list; empty for none."""
        return self.section.mark(self)

    @property
    def setting(self) -> Setting | None:
        """The machine and the model of the last work, None before the first."""
        return self.work and self.work.setting

    def take_prompt(self, prompt: Prompt, settings: Any = None) -> None:
        """Take a prompt for the next measurement; its settings are not the sampler's."""
        self.change(prompt=prompt.text)

    def begin(self, owner: Owner) -> None:
        """Measure with the inputs; a refusal keeps the last results."""
        self.begin_work("work", self._measurement, owner)
        self.began_alone = True

    def _measurement(self) -> SectionJob:
        work = self.section.begin(self.model, self.inputs)
        work.setting = Setting.here(self.model)
        return work

    def begin_alone(self, owner: Owner) -> None:
        """Measure the first inputs once without a button press, if this visitor's pages may."""
        if self.section.begin is None or not self.section.begins_alone:
            return
        if self.inputs == self.section.first_inputs(self.model):
            super().begin_alone(owner)
        self.began_alone = True

    @property
    def results(self) -> dict[str, Any] | None:
        """Return complete results for a record; None without any, or if they are too large."""
        return self.work.kept if self.work is not None and self.work.is_done else None

    def take_results(self, data: Any) -> None:
        """Take results from a record; raises `BrokenRecord` and then changes nothing."""
        self.work = KeptJob(data, self.section.inputs, self.section.result)
        self.began_alone = True

    def take_over(self, other: SectionState) -> None:
        """Take the inputs of the same section elsewhere, and results of the same model."""
        self.inputs = other.inputs
        if other.model is self.model and other.work is not None:
            self.release()
            self.work, self.began_alone = other.work, True

    def seconds(self, pace: Pace, inputs: PlainInputs | None = None) -> float | None:
        """Estimate the seconds to measure with these inputs or its own; None if they allow none."""
        try:
            return self.section.seconds(self.model, inputs or self.inputs, pace)
        except DecodingError:
            return None  # pressing the button shows why

    def result(self) -> Any | None:
        """Return results to show; None before there are any, with `error` set if refused."""
        if self.section.computed is None:
            return super().result()
        try:
            return self.section.computed(self.model, self.inputs)
        except DecodingError as error:
            self.refuse(error)
            return None
