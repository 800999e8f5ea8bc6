"""What a visitor has of a section: its inputs, the work begun from them, what went wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from msgspec import Struct

from engine.errors import DecodingError
from engine.measure.machine import Setting
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.values import Real, plain
from ui.jobs import Owner
from ui.labs.inputs import PlainInputs
from ui.measurements.section import Section
from ui.measurements.work import KeptWork, SectionWork
from ui.models.chooser import begins_alone
from ui.visits.in_hand import Prompt
from ui.visits.records import read
from ui.words.refusals import told

MOST_KEPT = 2**18  # characters of results in a record


class _KeptResult(Struct):
    inputs: dict[str, Any]
    setting: Setting
    took: Real | None
    result: Any


class Held:
    """A section as one visitor has it; fields show its inputs and change them.

    Attributes:
        section: which it is.
        model: what is measured.
        name: of its fields, within the session.
        inputs: what the next measurement begins with.
        work: the last work; None before the first, and where nothing is measured.
        measured: the inputs that it was begun with, None before the first.
        setting: machine and model of that work, None before the first.
        error: what went wrong last, empty if nothing did.
        began_alone: whether the first measurement was begun, or left to a press.
    """

    def __init__(
        self, name: str, section: Section, model: LanguageModel, inputs: PlainInputs | None = None
    ) -> None:
        self.name = name
        self.section = section
        self.model = model
        self.inputs: Any = inputs or section.first_inputs(model)
        self.work: SectionWork | None = None
        self.measured: Any | None = None
        self.setting: Setting | None = None
        self.error = ""
        self.began_alone = False
        self._recorded: tuple[SectionWork | None, dict[str, Any] | None] = None, None

    @property
    def mark(self) -> str:
        """What a list says of the section; empty for nothing."""
        return self.section.mark(self)

    @property
    def is_running(self) -> bool:
        """Whether it is being measured, or waits for its turn."""
        return self.work is not None and self.work.is_running

    def change(self, **changes: Any) -> None:
        """Other inputs, by name; what was measured stays until the next measurement begins."""
        self.error = ""
        self.inputs = replace(self.inputs, **changes)

    @property
    def prompt_held(self) -> Prompt:
        """Its prompt, for `ui.visits.in_hand`; only sections that follow are asked."""
        return Prompt(self.inputs.prompt)

    def take_prompt(self, prompt: Prompt, settings: Any = None) -> None:
        """Another prompt for the next measurement; its settings are not the sampler's."""
        self.change(prompt=prompt.text)

    def refuse(self, error: DecodingError) -> None:
        """Say why something was not done."""
        self.error = told(error)

    def begin(self, owner: Owner) -> None:
        """Measure with the inputs; what is refused leaves the last results."""
        self.error = ""
        try:
            work = self.section.begin(self.model, self.inputs)
            setting = Setting.here(self.model)
        except DecodingError as error:
            self.refuse(error)
        else:
            work.start(owner)  # first: a page may be drawn again at any word, before it began
            self.release()
            self.work, self.setting, self.measured = work, setting, self.inputs
        self.began_alone = True

    def record(self) -> dict[str, Any] | None:
        """Results that are whole, as plain values; None without any, or if they are too large."""
        work = self.work
        if work is None or not work.is_done:
            return None
        if self._recorded[0] is not work:
            data = {
                "inputs": self.measured.record(),
                "setting": plain(self.setting),
                "took": work.took,
                "result": plain(work.result),
            }
            self._recorded = work, data if len(json.dumps(data)) <= MOST_KEPT else None
        return self._recorded[1]

    def restore(self, data: Any) -> None:
        """The inverse of `record`; raises `BrokenRecord`, and leaves all as it is."""
        kept = read(data, _KeptResult)
        inputs = self.section.inputs.restored(kept.inputs)
        result = read(kept.result, self.section.result)
        self.work, self.setting, self.measured = KeptWork(result, kept.took), kept.setting, inputs
        self.began_alone = True

    def take_over(self, other: Held) -> None:
        """The inputs of the same section elsewhere, and what was measured of the same model."""
        self.inputs = other.inputs
        if other.model is self.model and other.work is not None:
            self.release()
            self.work, self.setting, self.measured = other.work, other.setting, other.measured
            self.began_alone = True

    def begin_alone(self, owner: Owner) -> None:
        """Measure the first inputs once without a press, if this visitor's pages may do so."""
        if self.began_alone or self.section.begin is None or not self.section.begins_alone:
            return
        if begins_alone(self.model) and self.inputs == self.section.first_inputs(self.model):
            self.begin(owner)
        self.began_alone = True

    def seconds(self, pace: Pace, inputs: PlainInputs | None = None) -> float | None:
        """How long measuring with its inputs, or others, would take; None where they allow none."""
        try:
            return self.section.seconds(self.model, inputs or self.inputs, pace)
        except DecodingError:
            return None  # the press says why

    def result(self) -> Any | None:
        """What there is to show; None before there is anything, and `error` where it is refused."""
        if self.section.computed is None:
            return self.work.result if self.work is not None else None
        try:
            return self.section.computed(self.model, self.inputs)
        except DecodingError as error:
            self.refuse(error)
            return None

    def release(self) -> None:
        """End what nobody waits for any more."""
        if self.work is not None:
            self.work.cancel()
