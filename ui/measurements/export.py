"""Results as files, and a measurement of another machine beside ours."""

from __future__ import annotations

import re
from functools import partial

import pandas as pd
import streamlit as st

from ui.measurements.bench import Bench
from ui.measurements.held import Held
from ui.measurements.section import Table
from ui.measurements.state import MeasurementState
from ui.skeleton.csv_file import NOTE, spreadsheet_csv
from ui.skeleton.file_field import file_field
from ui.words.labels import counted, markdown_text

OVERLAID = (
    "Choose such a file of another machine, or of this one with another model: its figures are "
    "drawn beside these, dashed. Plotly's camera above a chart saves it as PNG."
)
BESIDE = (
    "Choose such a file of another machine, or of this one with another model: its results are "
    "shown beside these. Plotly's camera above a chart saves it as PNG."
)


def export(state: MeasurementState) -> None:
    """The files of what there is, and the field for another machine's."""
    with st.expander("Export, and compare with another machine"):
        for bench in state.benches:
            _files(state, bench)
        st.caption(OVERLAID if state.held.section.overlays else BESIDE)
        with st.container(horizontal=True, vertical_alignment="center", key=f"{state.name}_other"):
            file_field(
                f"{state.name}_file",
                "Measurement to lay over",
                ".json",
                state.lay_over,
                state.refuse,
            )
            if state.other is not None:
                setting = state.other.setting
                st.caption(
                    markdown_text(
                        f"Beside ours: {setting.name}, {setting.model} in {setting.dtype}, "
                        f"{counted(setting.threads, 'thread')}, {setting.date}."
                    ),
                    width="content",
                )
                st.button("Remove it", key=f"{state.name}_take_off", on_click=state.take_off)


def _files(state: MeasurementState, bench: Bench) -> None:
    """The files of one model."""
    held = bench.sections[state.chosen]
    result = held.result()
    is_second = bench is state.second
    if is_second:
        st.caption(markdown_text(f"Of {bench.model.name}, the second model:"))
    with st.container(horizontal=True):
        for table in held.section.tables(result) if result is not None else ():
            _csv(held, table, "second-" if is_second else "")
        st.download_button(
            "Whole measurement as JSON",
            partial(_json, bench),
            "second-measurement.json" if is_second else "measurement.json",
            "application/json",
            key=f"{held.name}_json",
            on_click="ignore",
            disabled=result is None,
            help="All sections that have results, with machine, versions, dtype and threads.",
        )


def _csv(held: Held, table: Table, prefix: str) -> None:
    name = re.sub(r"\W+", "-", table.name.lower()).strip("-")
    st.download_button(
        f"{table.name} as CSV",
        lambda: spreadsheet_csv(pd.DataFrame(list(table.rows), columns=list(table.head))),
        f"{prefix}{held.section.key}-{name}.csv",
        "text/csv",
        key=f"{held.name}_csv_{name}",
        on_click="ignore",
        help=NOTE,
    )


def _json(bench: Bench) -> str:
    report = bench.report()
    return report.to_json() if report is not None else ""
