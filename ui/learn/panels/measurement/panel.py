"""A section of a measuring page as a panel of a lesson."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar, NoReturn

import streamlit as st
from msgspec import field

from engine.errors import DecodingError
from engine.model import LanguageModel
from ui.jobs import UNKNOWN
from ui.labs.inputs import PlainInputs
from ui.learn.functions import Call, Functions
from ui.learn.panels.inputs import InputsPanel, input_measures
from ui.learn.panels.panel import LoadModel
from ui.learn.source import check_known
from ui.measurements.page import STYLE, MeasurementPage
from ui.measurements.section import Section
from ui.measurements.state import MeasurementState
from ui.shell.navigation import PAGES
from ui.visits.visits import Visit

MEASURES = Functions(input_measures(lambda state: state.held.inputs))
ACTIONS = Functions()


class MeasurementPanel(InputsPanel[MeasurementState], kw_only=True):
    """One section, complete except for the choice of other sections.

    Attributes in addition to those of `InputsPanel`:
        key: the key of the section.

    A kind also sets `measured_on`, its page.
    """

    key: str = field(name="section")

    measures: ClassVar[Functions] = MEASURES
    actions: ClassVar[Functions] = ACTIONS
    measured_on: ClassVar[MeasurementPage]

    @property
    def page(self) -> str:
        return PAGES[self._file()]

    @classmethod
    def _file(cls) -> str:
        return f"pages/{cls.measured_on.name}.py"

    def __post_init__(self) -> None:
        check_known("section", [self.key], [each.key for each in self.measured_on.sections])
        super().__post_init__()

    @property
    def section(self) -> Section:
        """The section of the page."""
        return next(each for each in self.measured_on.sections if each.key == self.key)

    def usual(self) -> PlainInputs:
        return self.section.inputs()

    @property
    def _name(self) -> str:
        return f"lesson_{self.measured_on.name}"

    def begun(self, model: LanguageModel) -> MeasurementState:
        inputs = {self.section.key: self.inputs}
        return _at_a_press(MeasurementState(self._name, model, [self.section], inputs))

    def restored(self, record: dict[str, Any], load: LoadModel) -> MeasurementState:
        return _at_a_press(MeasurementState.restored(self._name, record, load, [self.section]))

    def begin_anew(self, live: MeasurementState, actions: Iterable[Call] = ()) -> None:
        live.load(live.model)
        _at_a_press(live).held.inputs = self.inputs
        for action in actions:
            action(live)
            if live.held.error:
                raise DecodingError(live.held.error)

    def draw(self, live: MeasurementState, address: str, key: str) -> None:
        page = self.measured_on
        for sheet in filter(None, (STYLE, page.style)):
            st.html(f"<style>{sheet.read_text('utf-8')}</style>")
        replace(page, sections=[self.section], has_second=False).draw_section(live)

    def open_page(self, live: MeasurementState, visit: Visit) -> NoReturn:
        state = self.measured_on.visit_page.of(visit)
        state.choose(self.section.key)
        state.held.take_over(live.held)
        st.switch_page(self._file())


def _at_a_press(state: MeasurementState) -> MeasurementState:
    """Prevent measuring before the person asks for it, which may be their task."""
    state.held.began_alone = True
    return state


@MEASURES.add
def measured(state: MeasurementState) -> bool:
    """True if all measurements of the section are complete."""
    held = state.held
    return held.result() is not None and (held.work is None or held.work.is_done)


@MEASURES.add
def cell(state: MeasurementState, table: str, row: str, column: str) -> float | None:
    """A number in a table of the section.

    Name the table by the beginning of its name, the row by the text of its first cell, the column
    by its head. The page shows the tables, or offers them as CSV files.
    """
    result = state.held.result()
    if result is None:
        return None
    tables = {one.name: one for one in state.held.section.tables(result)}
    found = next((one for name, one in tables.items() if name.startswith(table)), None)
    if found is None:
        raise DecodingError(f'There is no table "{table}" here; there is {", ".join(tables)}.')
    if column not in found.head:
        named = ", ".join(found.head)
        raise DecodingError(f'"{found.name}" has no column "{column}"; it has {named}.')
    cells = next((cells for cells in found.rows if str(cells[0]) == row), None)
    value = None if cells is None else cells[list(found.head).index(column)]
    return value if isinstance(value, (int, float)) else None


@ACTIONS.add
def measure(state: MeasurementState) -> None:
    """Press the button that measures, and wait until the measurement has ended."""
    state.begin(UNKNOWN)
    if state.held.work is not None:
        state.held.work.wait()


@ACTIONS.add
def inputs(state: MeasurementState, **values: Any) -> None:
    """Change inputs of the section, by name."""
    state.held.change(**values)
