"""Drawing that sections share: tables, charts, and a check that the machine kept its speed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

import plotly.graph_objects as go
import streamlit as st

from ui.charts.figure import SAVED, show_figure
from ui.measurements.section import Table
from ui.shell.tables import table
from ui.words.language import say
from ui.words.metrics import number


def sheet(shown: Table, kind: str = "figures") -> None:
    """Draw a table; for `kind`, see `ui.shell.tables.table`."""
    rows = [tuple(map(cell, row)) for row in shown.rows]
    st.html(table(shown.name, shown.head, rows, kind))


def cell(value: str | int | float | None) -> str:
    """Format a cell for reading; None becomes a dash."""
    if isinstance(value, str):
        return value
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    return number(value, 0 if not value or not math.isfinite(value) else digits(value))


def digits(value: float) -> int:
    """Return the number of decimals that gives about three significant digits."""
    return max(0, min(4, 2 - math.floor(math.log10(abs(value)))))


def chart(key: str, title: str, caption: str, figure: go.Figure) -> None:
    """Draw a chart with a title and a caption; its camera button saves it as PNG."""
    st.subheader(title, anchor=False)
    st.caption(caption)
    config = SAVED | {"toImageButtonOptions": {"filename": key}}
    show_figure(figure, key, title, config=config)


def steadiness(reference_ms: Sequence[float], changed: Sequence[int], each: str) -> None:
    """Say whether the machine kept its speed, by the times of a reference matrix product.

    Args:
        reference_ms: milliseconds of the product before each part of the measurement.
        changed: indices of the parts before which the product took an unusual time.
        each: name of a part, marked: "each block".
    """
    if len(reference_ms) < 2:
        return
    words = say(
        "Before {each} one product of two matrices is timed: {low} to {high} ms, median {median} "
        "ms.",
        each=say(each),
        low=f"{min(reference_ms):.3g}",
        high=f"{max(reference_ms):.3g}",
        median=f"{median(reference_ms):.3g}",
    )
    if not changed:
        kept = say("The machine kept its speed.")
        st.caption(f"{words} {kept}")
        return
    other = say(
        "The machine ran at a different speed before {some} of {all}, so their figures are "
        "not comparable. Measure again when it is idle.",
        some=f"{len(changed):,}",
        all=f"{len(reference_ms):,}",
    )
    st.warning(f"{words} {other}")
