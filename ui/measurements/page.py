"""A measuring page, which shows one section at a time: its fields and its results."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from engine.measure import Machine, Setting
from engine.model import LanguageModel
from ui.labs import fields
from ui.labs.page import STYLE as LABS_STYLE
from ui.labs.page import notice_line
from ui.measurements.section import Laid, Section, Shown, Table
from ui.measurements.section_state import SectionState
from ui.measurements.state import Bench, MeasurementState
from ui.models.chooser import model_chooser
from ui.server.problems import guarded
from ui.shell.csv_file import NOTE, spreadsheet_csv
from ui.shell.fields import bound
from ui.shell.file_field import file_field
from ui.shell.theme import is_dark
from ui.shell.work import LOOK_SECONDS, look_every, owner, watching, work_buttons, work_state
from ui.visit_page import VisitPage
from ui.words.labels import about, markdown_text
from ui.words.language import ENGLISH, marked, say, say_counted, speaking

OVERLAID = marked(
    "Choose such a file from another machine, or from this one with another model: its "
    "figures are drawn beside these, dashed. Plotly's camera above a chart saves it as PNG."
)
BESIDE = marked(
    "Choose such a file from another machine, or from this one with another model: its "
    "results are shown beside these. Plotly's camera above a chart saves it as PNG."
)


def export(state: MeasurementState) -> None:
    """Draw the download buttons for results, and the field for another machine's file."""
    with st.expander(say("Export, and compare with another machine")):
        for bench in state.benches:
            _files(state, bench)
        st.caption(say(OVERLAID if state.held.section.overlays else BESIDE))
        with st.container(horizontal=True, vertical_alignment="center", key=f"{state.name}_other"):
            file_field(
                f"{state.name}_file",
                say("Measurement to overlay"),
                ".json",
                state.lay_over,
                state.refuse,
            )
            if state.other is not None:
                setting = state.other.setting
                st.caption(
                    markdown_text(
                        say(
                            "For comparison: {machine}, {model} in {dtype}, {threads}, {date}.",
                            machine=setting.name,
                            model=setting.model,
                            dtype=setting.dtype,
                            threads=say_counted(
                                setting.threads, "{count} thread", "{count} threads"
                            ),
                            date=setting.date,
                        )
                    ),
                    width="content",
                )
                st.button(say("Remove it"), key=f"{state.name}_take_off", on_click=state.take_off)


def _files(state: MeasurementState, bench: Bench) -> None:
    """Draw the download buttons for one model's results."""
    held = bench.sections[state.chosen]
    result = held.result()
    is_second = bench is state.second
    if is_second:
        st.caption(markdown_text(say("Of {model}, the second model:", model=bench.model.name)))
    with st.container(horizontal=True):
        with speaking(ENGLISH):
            tables = held.section.tables(result) if result is not None else ()
        for table in tables:
            _csv(held, table, "second-" if is_second else "")
        st.download_button(
            say("Whole measurement as JSON"),
            partial(_json, bench),
            "second-measurement.json" if is_second else "measurement.json",
            "application/json",
            key=f"{held.name}_json",
            on_click="ignore",
            disabled=result is None,
            help=say("All sections that have results, with machine, versions, dtype and threads."),
        )


def _csv(held: SectionState, table: Table, prefix: str) -> None:
    name = re.sub(r"\W+", "-", table.name.lower()).strip("-")
    st.download_button(
        say("{table} as CSV", table=say(table.name)),
        lambda: spreadsheet_csv(pd.DataFrame(list(table.rows), columns=list(table.head))),
        f"{prefix}{held.section.key}-{name}.csv",
        "text/csv",
        key=f"{held.name}_csv_{name}",
        on_click="ignore",
        help=say(NOTE),
    )


def _json(bench: Bench) -> str:
    report = bench.report()
    return report.to_json() if report is not None else ""


def side_by_side(state: MeasurementState) -> None:
    """Draw the choice of a section as a row of buttons."""
    names = {key: say(held.section.name) for key, held in state.sections.items()}
    st.segmented_control(
        say("Section"),
        list(names),
        format_func=names.get,
        default=state.chosen,
        required=True,
        label_visibility="collapsed",
        **bound(f"{state.name}_section", state.chosen, state.choose),
    )


def by_topic(state: MeasurementState) -> None:
    """Draw the choice of a section as a list under topic headings; on a phone, as one field."""
    held = list(state.sections.values())
    with st.container(key=f"{state.name}_list"):
        for topic, group in groupby(held, key=lambda one: one.section.topic):
            _topic(state, topic, list(group))
    with st.container(key=f"{state.name}_select"):
        names = {
            one.section.key: f"{say(one.section.topic)}: {say(one.section.name)}" for one in held
        }
        st.selectbox(
            say("Section"),
            list(names),
            index=list(names).index(state.chosen),
            format_func=names.get,
            label_visibility="collapsed",
            **bound(f"{state.name}_selected", state.chosen, state.choose),
        )


def _topic(state: MeasurementState, topic: str, group: list[SectionState]) -> None:
    """Draw the list of a topic's sections; none is selected if the visible one is elsewhere."""
    names = {one.section.key: say(one.section.name) for one in group}
    chosen = state.chosen if state.chosen in names else None
    st.radio(
        say(topic),
        list(names),
        index=None if chosen is None else list(names).index(chosen),
        format_func=names.get,
        captions=[one.mark for one in group],  # in a changing name, it would lose the choice
        **bound(
            f"{state.name}_topic_{group[0].section.key}",
            chosen,
            lambda key: key and state.choose(key),
        ),
    )


def second_model(state: MeasurementState) -> None:
    """Draw the popover that loads a second model, and the button that removes it."""
    with st.container(horizontal=True, vertical_alignment="center", key=f"{state.name}_second"):
        second = state.second.model if state.second is not None else None
        model_chooser(
            second,
            state.load_second,
            say("It is measured along with the first model, with the same inputs."),
            name=f"{state.name}_second_model",
            label=say("Second model"),
        )
        if second is not None:
            st.button(say("Remove it"), key=f"{state.name}_drop", on_click=state.drop_second)


LONG_SECONDS = 300.0  # from here on, the page suggests measuring in parts
STYLE = Path(__file__).with_suffix(".css")
BUSY = marked(
    "This computer was busy when the measurement began (load {load} on {cores}), so no conclusion "
    "is drawn from its times. Measure again when it is idle."
)
OTHER_BUSY = marked(
    "The other computer was busy when the measurement began (load {load} on {cores}), so no "
    "conclusion is drawn from its times."
)


@dataclass(frozen=True)
class MeasurementPage:
    """The definition of one measuring page.

    Attributes:
        name: name of its state and its fields.
        about: one or two lines about the measurements, marked.
        sections: the sections in order; listed under their topics if they have any.
        style: the page's own style sheet; None if it has none.
        has_second: whether a visitor can measure a second model with the first.
        overview: draws a summary of all sections; None if there is none.
    """

    name: str
    about: str
    sections: Sequence[Section]
    style: Path | None = None
    has_second: bool = False
    overview: Callable[[MeasurementState], None] | None = None

    def begun(self, model: LanguageModel) -> MeasurementState:
        """Return a new visitor's state."""
        return MeasurementState(self.name, model, self.sections)

    @property
    def visit_page(self) -> VisitPage[MeasurementState]:
        """The `VisitPage` that creates and restores the page's state."""
        return VisitPage(
            self.name,
            begin=self.begun,
            restore=lambda data, load: MeasurementState.restored(
                self.name, data, load, self.sections
            ),
            lost=marked("Your last inputs on this page could not be read, so it starts over."),
            kept=marked("Inputs are kept; everything is measured again."),
            needs=("weights",),
        )

    def draw(self) -> None:
        """Draw the whole page."""
        styles = [LABS_STYLE, STYLE, *filter(None, [self.style])]
        state = self.visit_page.opened(*styles)
        if state is not None:
            self.draw_state(state)

    def draw_state(self, state: MeasurementState) -> None:
        """Draw a visitor's state below the header."""
        st.caption(say(self.about))
        if not any(section.topic for section in self.sections):
            side_by_side(state)
            self._section(state)
            return
        listed, chosen = st.columns([1, 3], gap="medium")
        with listed:
            by_topic(state)
        with chosen:
            self._section(state)

    def _section(self, state: MeasurementState) -> None:
        self.draw_section(state)
        if self.overview is not None:
            guarded(self.overview, marked("the overview"))(state)
        guarded(export, marked("the export"))(state)

    def draw_section(self, state: MeasurementState) -> None:
        """Draw the visible section: its fields and its results."""
        held = state.held
        if held.section.heading:
            st.subheader(say(held.section.heading), anchor=False)
        st.caption(say(held.section.about))
        with st.container(key=f"{held.name}_fields"):
            guarded(held.section.fields, marked("the fields"))(held)
        if self.has_second:
            guarded(second_model, marked("the choice of a second model"))(state)
        state.look(owner())
        watching(guarded(_live, marked("the results")), lambda: _look_every(state))(state)


def _look_every(state: MeasurementState) -> float | None:
    if state.is_busy or (state.held.section.begin is not None and state.is_pacing):
        return LOOK_SECONDS
    return look_every(state.work)


def _live(state: MeasurementState) -> None:
    """Draw the visible section's buttons, progress and results; only this part reruns."""
    held = state.held
    if held.section.begin is not None:
        state.look(owner())
        with fields.row():
            version = (id(held), state.stage)
            start = say(held.section.start)
            work_buttons(held.name, start, state.work, state.begin, version=version)
            st.caption(_duration(state), width="content")
    if state.error:
        st.error(markdown_text(state.error))
    shown = [(one.model.name, partial(_results, state, one)) for one in state.in_sight]
    laid = state.laid(held.section.key)
    if laid is not None and not held.section.overlays:
        shown.append((laid.name, partial(_laid, state, laid)))
    if len(shown) == 1:
        shown[0][1]()
        return
    for column, (name, draw) in zip(st.columns(len(shown)), shown, strict=True):
        with column:
            st.subheader(markdown_text(name), anchor=False)
            draw()


def _results(state: MeasurementState, held: SectionState) -> None:
    """Draw the results of one model."""
    section, result = held.section, held.result()
    if held.error:
        st.error(markdown_text(held.error))
    work_state(held.work)
    if result is None:
        waits = held.began_alone or not section.begins_alone
        if waits and held.work is None and section.begin is not None:
            start = say(section.start)
            st.caption(say("Nothing is measured yet. Press {button}.", button=start))
        return
    is_busy = _busy(section, held.setting, BUSY)
    if not (held.is_running or is_busy):
        _notice(held.name, section, result)
    laid = state.laid(section.key) if section.overlays else None
    section.picture(result, Shown(held.name, held, is_dark(), held.is_running, laid))


def _laid(state: MeasurementState, laid: Laid) -> None:
    """Draw another machine's results next to this machine's."""
    name, section = f"{state.name}_laid", state.held.section
    if not _busy(section, state.other.setting, OTHER_BUSY):
        _notice(name, section, laid.result)
    section.picture(laid.result, Shown(name, None, is_dark(), False))


def _notice(name: str, section: Section, result: Any) -> None:
    notice = section.notice(result)
    if notice:
        notice_line(name, notice)


def _busy(section: Section, setting: Setting | None, words: str) -> bool:
    """Warn that the machine was busy when the measurement started; returns whether it was."""
    if setting is None or not section.is_timed or not setting.machine.is_busy:
        return False
    st.warning(say(words, **_load(setting.machine)))
    return True


def _load(machine: Machine) -> dict[str, str]:
    """Return the machine's load and cores, for a sentence."""
    cores = say_counted(machine.cores, "{count} core", "{count} cores")
    return {"load": f"{machine.load[0]:.1f}", "cores": cores}


def _duration(state: MeasurementState) -> str:
    """Say how long the visible section's measurement would take."""
    if state.is_pacing or state.bench.pacing is None:
        return say("Timing a few passes, to estimate how long this takes.")
    problems = [bench.pacing.problem for bench in state.benches if bench.pacing is not None]
    if any(problems):
        return markdown_text(" ".join(filter(None, problems)))
    if state.busy is not None:
        return say(
            "This computer is busy (load {load} on {cores}), so there is no estimate of the time.",
            **_load(state.busy),
        )
    seconds = state.seconds()
    if seconds is None:
        return ""
    words = say("Takes {time}; an estimate.", time=about(seconds))
    if seconds > LONG_SECONDS:
        later = say("Cancel keeps the measurements so far, and Continue resumes from there.")
        return f"{words} {later}"
    return words
