"""Results as files, and a measurement of another machine laid over ours."""

from __future__ import annotations

import re
from functools import partial

import pandas as pd
import streamlit as st

from ui.cache.section import Table
from ui.cache.state import CacheState
from ui.skeleton.csv_file import NOTE, spreadsheet_csv
from ui.skeleton.file_field import file_field
from ui.words.labels import counted, markdown_text


def export(state: CacheState) -> None:
    """The files of what there is, and the field for another machine's."""
    with st.expander("Export, and compare with another machine"):
        held = state.held
        result = held.result()
        with st.container(horizontal=True):
            for table in held.section.tables(result) if result is not None else ():
                _csv(state, table)
            st.download_button(
                "Whole measurement as JSON",
                partial(_json, state),
                "measurement.json",
                "application/json",
                key="cache_json",
                on_click="ignore",
                disabled=result is None,
                help="All sections that have results, with machine, versions, dtype and threads.",
            )
        st.caption(
            "Choose such a file of another machine, or of this one with another model: its figures "
            "are drawn beside these, dashed. Plotly's camera above a chart saves it as PNG."
        )
        with st.container(horizontal=True, vertical_alignment="center", key="cache_other"):
            file_field(
                "cache_file", "Measurement to lay over", ".json", state.lay_over, state.refuse
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
                st.button("Remove it", key="cache_take_off", on_click=state.take_off)


def _csv(state: CacheState, table: Table) -> None:
    name = re.sub(r"\W+", "-", table.name.lower()).strip("-")
    st.download_button(
        f"{table.name} as CSV",
        lambda: spreadsheet_csv(pd.DataFrame(list(table.rows), columns=list(table.head))),
        f"{state.chosen}-{name}.csv",
        "text/csv",
        key=f"cache_csv_{state.chosen}_{name}",
        on_click="ignore",
        help=NOTE,
    )


def _json(state: CacheState) -> str:
    report = state.report()
    return report.to_json() if report is not None else ""
