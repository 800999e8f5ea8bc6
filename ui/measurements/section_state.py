"""A visitor's state of a section: its inputs, its measurement, and errors."""

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
    """One visitor's state of a section; fields show and change its inputs.

    Attributes in addition to those of `Drawn`:
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
        """The section's sign in the list; empty for none."""
        return self.section.mark(self)

    @property
    def setting(self) -> Setting | None:
        """The machine and the model of the last measurement; None before the first."""
        return self.work and self.work.setting

    def take_prompt(self, prompt: Prompt, settings: Any = None) -> None:
        """Set the prompt for the next measurement; sampling settings are ignored."""
        self.change(prompt=prompt.text)

    def begin(self, owner: Owner) -> None:
        """Start measuring with the inputs; if they are refused, the last results stay."""
        self.begin_work("work", self._measurement, owner)
        self.began_alone = True

    def _measurement(self) -> SectionJob:
        work = self.section.begin(self.model, self.inputs)
        work.setting = Setting.here(self.model)
        return work

    def begin_alone(self, owner: Owner) -> None:
        """Measure the first inputs once without a button press, if this is allowed."""
        if self.section.begin is None or not self.section.begins_alone:
            return
        if self.inputs == self.section.first_inputs(self.model):
            super().begin_alone(owner)
        self.began_alone = True

    @property
    def results(self) -> dict[str, Any] | None:
        """Complete results for a record; None if there are none or they are too large."""
        return self.work.kept if self.work is not None and self.work.is_done else None

    def take_results(self, data: Any) -> None:
        """Restore results from a record; raises `BrokenRecord`, and then changes nothing."""
        self.work = KeptJob(data, self.section.inputs, self.section.result)
        self.began_alone = True

    def take_over(self, other: SectionState) -> None:
        """Copy the inputs of another state, and its results if the model is the same."""
        self.inputs = other.inputs
        if other.model is self.model and other.work is not None:
            self.release()
            self.work, self.began_alone = other.work, True

    def seconds(self, pace: Pace, inputs: PlainInputs | None = None) -> float | None:
        """Estimate the seconds to measure with `inputs` or its own; None if they are refused."""
        try:
            return self.section.seconds(self.model, inputs or self.inputs, pace)
        except DecodingError:
            return None  # pressing the button shows the reason

    def result(self) -> Any | None:
        """Return the results to show; None before there are any, or if the inputs are refused."""
        if self.section.computed is None:
            return super().result()
        try:
            return self.section.computed(self.model, self.inputs)
        except DecodingError as error:
            self.refuse(error)
            return None
