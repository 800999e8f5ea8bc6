"""What sections have in common on the page: tables, charts, whether the machine kept its speed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

import plotly.graph_objects as go
import streamlit as st

from ui.charts.template import CONFIG
from ui.measurements.section import Table
from ui.skeleton.tables import table
from ui.words.labels import counted
from ui.words.metrics import number

SAVED = CONFIG | {  # with the camera alone: on a phone Plotly's other buttons hide the legend
    "displayModeBar": True,
    "displaylogo": False,
    "modeBarButtons": [["toImage"]],
}


def sheet(shown: Table, kind: str = "figures") -> None:
    """A table of figures, or of another kind (see `ui.skeleton.tables.table`)."""
    rows = [tuple(map(cell, row)) for row in shown.rows]
    st.html(table(shown.name, shown.head, rows, kind))


def cell(value: str | int | float | None) -> str:
    """A cell for reading; an empty one is a dash."""
    if isinstance(value, str):
        return value
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    return number(value, 0 if not value or not math.isfinite(value) else digits(value))


def digits(value: float) -> int:
    """Digits after the point that leave about three that mean something."""
    return max(0, min(4, 2 - math.floor(math.log10(abs(value)))))


def chart(key: str, title: str, caption: str, figure: go.Figure) -> None:
    """A chart under its name; its camera saves it as PNG."""
    st.subheader(title, anchor=False)
    st.caption(caption)
    st.plotly_chart(
        figure, theme=None, key=key, config=SAVED | {"toImageButtonOptions": {"filename": key}}
    )


def steadiness(reference_ms: Sequence[float], changed: Sequence[int], noun: str) -> None:
    """Whether the machine kept its speed: the reference product, and how far it went apart."""
    if len(reference_ms) < 2:
        return
    low, high = min(reference_ms), max(reference_ms)
    middle = median(reference_ms)
    words = (
        f"Before each {noun} one product of two matrices is timed: {low:.3g} to {high:.3g} ms, "
        f"median {middle:.3g} ms."
    )
    if not changed:
        st.caption(f"{words} The machine kept its speed.")
        return
    st.warning(
        f"{words} The machine ran at another speed before {counted(len(changed), noun)} of "
        f"{len(reference_ms):,}, so figures of these do not compare. Measure again when it is idle."
    )
