"""Results as files, and a measurement of another machine beside ours."""

from __future__ import annotations

import re
from functools import partial

import pandas as pd
import streamlit as st

from ui.measurements.held import Held
from ui.measurements.section import Table
from ui.measurements.state import Bench, MeasurementState
from ui.skeleton.csv_file import NOTE, spreadsheet_csv
from ui.skeleton.file_field import file_field
from ui.words.labels import markdown_text
from ui.words.language import ENGLISH, marked, say, say_counted, speaking

OVERLAID = marked(
    "Choose such a file of another machine, or of this one with another model: its figures are "
    "drawn beside these, dashed. Plotly's camera above a chart saves it as PNG."
)
BESIDE = marked(
    "Choose such a file of another machine, or of this one with another model: its results are "
    "shown beside these. Plotly's camera above a chart saves it as PNG."
)


def export(state: MeasurementState) -> None:
    """The files of what there is, and the field for another machine's."""
    with st.expander(say("Export, and compare with another machine")):
        for bench in state.benches:
            _files(state, bench)
        st.caption(say(OVERLAID if state.held.section.overlays else BESIDE))
        with st.container(horizontal=True, vertical_alignment="center", key=f"{state.name}_other"):
            file_field(
                f"{state.name}_file",
                say("Measurement to lay over"),
                ".json",
                state.lay_over,
                state.refuse,
            )
            if state.other is not None:
                setting = state.other.setting
                st.caption(
                    markdown_text(
                        say(
                            "Beside ours: {machine}, {model} in {dtype}, {threads}, {date}.",
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
    """The files of one model."""
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


def _csv(held: Held, table: Table, prefix: str) -> None:
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
