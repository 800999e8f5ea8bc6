"""The smallest possible section: the time to read a prompt."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from engine.measure.measurement import Measurement
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.runner.runner import open_sequence
from engine.values import Amount, Row
from ui.labs import fields
from ui.labs.inputs import Inputs
from ui.measurements.job import MeasureJob
from ui.measurements.section import Section, Shown, Table
from ui.measurements.section_state import SectionState
from ui.texts.texts import check_prompt


@dataclass(frozen=True)
class ReadingInputs(Inputs):
    """A prompt, and the number of readings."""

    prompt: str = "Once upon a time"
    times: int = 3


@dataclass(frozen=True)
class Readings:
    """Milliseconds per reading."""

    ms: Row[Amount]


class ReadingMeasurement(Measurement[Readings]):
    """A measurement that reads a prompt several times."""

    noun = "reading"

    def __init__(self, model: LanguageModel, inputs: ReadingInputs) -> None:
        check_prompt("prompt", inputs.prompt)
        super().__init__([1.0] * inputs.times)
        self._model = model
        self._ids = model.vocabulary.encode(inputs.prompt)
        self._ms: list[float] = []

    def _measure(self, part: int) -> None:
        self._ms[part:] = [open_sequence(self._model).extend(self._ids).forward_ms]

    @property
    def result(self) -> Readings | None:
        return Readings(tuple(self._ms)) if self._ms else None


def _fields(held: SectionState) -> None:
    fields.prompt(held, {"Story": "Once upon a time"})
    with fields.row():
        fields.whole(held, "times", "Readings", 1, 64)


def _picture(result: Readings, shown: Shown) -> None:
    st.text(", ".join(f"{ms:.1f} ms" for ms in result.ms))
    if shown.other is not None:
        st.text(f"{shown.other.name}: {shown.other.result.ms}")


def _notice(result: Readings) -> str:
    return f"The slowest of {len(result.ms)} readings took {max(result.ms):.1f} ms."


def _tables(result: Readings) -> list[Table]:
    return [Table("Readings", ("reading", "ms"), list(enumerate(result.ms, start=1)))]


def _seconds(model: LanguageModel, inputs: ReadingInputs, pace: Pace) -> float:
    return inputs.times * pace.read_seconds(len(model.vocabulary.encode(inputs.prompt)))


SECTION = Section(
    key="reading",
    name="Reading",
    about="How long the model reads the prompt. Notice the spread.",
    inputs=ReadingInputs,
    result=Readings,
    fields=_fields,
    picture=_picture,
    notice=_notice,
    tables=_tables,
    begin=lambda model, inputs: MeasureJob(ReadingMeasurement(model, inputs)),
    seconds=_seconds,
)
