"""The edge of a sliding window, measured on a small model, and the end of the model's context."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from engine.measure.pace import Pace
from engine.measure.window import (
    LEAST_WINDOW,
    MOST_WINDOW,
    WindowEdge,
    WindowMeasurement,
    estimated_seconds,
)
from engine.model import LanguageModel
from ui.cache.window.charts import edge_figure, reach_figure
from ui.labs import fields
from ui.labs.inputs import PlainInputs
from ui.measurements.held import Held
from ui.measurements.measured import chart, sheet
from ui.measurements.section import Section, Shown, Table
from ui.measurements.work import MeasureWork
from ui.words.glossary import meaning
from ui.words.labels import markdown_text, size


@dataclass(frozen=True)
class WindowInputs(PlainInputs):
    """The window of the small model."""

    window: int = 16


def _begin(model: LanguageModel, inputs: WindowInputs) -> MeasureWork[WindowEdge]:
    return MeasureWork(WindowMeasurement(model, inputs.window))


def _seconds(model: LanguageModel, inputs: WindowInputs, pace: Pace) -> float:
    return estimated_seconds(model, inputs.window, pace)


def _fields(held: Held) -> None:
    with fields.row():
        fields.whole(
            held,
            "window",
            "Window",
            LEAST_WINDOW,
            MOST_WINDOW,
            help=meaning("sliding window"),
        )


def _picture(result: WindowEdge, shown: Shown) -> None:
    own = (
        f"{result.model} has a window of {result.own_window:,} positions"
        if result.own_window
        else f"{result.model} has no sliding window"
    )
    st.info(
        markdown_text(
            f"{own}. The edge below is of a model with random weights, built for this: "
            f"{result.layers} layers, a window of {result.window}. Its text means nothing; which "
            "positions it keeps and sees does not depend on the weights."
        )
    )
    if not shown.is_running:
        left, right = st.columns(2)
        with left:
            chart(
                "cache_window",
                "At the window's edge",
                "The cache stops growing; the oldest position is forgotten at each step.",
                edge_figure(result, shown.dark),
            )
        with right:
            if result.changes:
                chart(
                    "cache_reach",
                    "Which positions change the last logits",
                    "One token is replaced at a time. Where there is no bar, nothing changes.",
                    reach_figure(result, shown.dark),
                )
    sheet(_around(result))
    end = result.end
    if end is not None:
        st.subheader(f"The end of the context of {result.model}", anchor=False)
        if end.reached:
            st.text(
                f"At {end.reached:,} cached positions ({size(end.bytes)}) the last token is drawn. "
                f"One step more is refused: {end.said}"
            )
        else:
            st.text(end.said)


def _around(result: WindowEdge) -> Table:
    """The steps around the edge, and the last."""
    window, last = result.window, result.steps[-1].positions
    wanted = {1, window - 1, window, window + 1, window + 2, 2 * window, last}
    rows = [
        (
            step.positions,
            step.kept,
            step.seen,
            step.measured,
            step.computed,
            step.held,
            "to the byte" if step.measured == step.computed else "NO",
        )
        for step in result.steps
        if step.positions in wanted
    ]
    head = ("tokens read", "positions kept", "positions seen", "tensors, bytes", "formula, bytes")
    return Table("Around the edge", (*head, "held, bytes", "equal"), rows)


def _notice(result: WindowEdge) -> str:
    last = result.steps[-1]
    kept = (
        f"After {last.positions} tokens the cache keeps {last.kept} positions: one fewer than the "
        f"window of {result.window}, as the next token brings its own."
    )
    if not result.changes:
        return kept
    far = 1 + result.layers * (result.window - 1)
    return (
        f"{kept} The last token attends to {last.seen}, yet {result.reached} change its logits: "
        f"{result.layers} layers reach back up to {far}."
    )


def _steps(result: WindowEdge) -> Table:
    rows = [
        (step.positions, step.kept, step.seen, step.measured, step.computed, step.held)
        for step in result.steps
    ]
    head = ("tokens read", "kept", "seen", "tensors, bytes", "formula, bytes", "held, bytes")
    return Table("Steps at the edge", head, rows)


def _reach(result: WindowEdge) -> Table:
    rows = list(enumerate(result.changes, start=1))
    return Table("Reach", ("position", "largest change of a logit"), rows)


SECTION = Section(
    key="window",
    name="Window",
    about="A sliding window's edge and the context's end. Notice what is forgotten, and when.",
    inputs=WindowInputs,
    result=WindowEdge,
    fields=_fields,
    picture=_picture,
    notice=_notice,
    tables=lambda result: (_steps(result), _reach(result)),
    begin=_begin,
    seconds=_seconds,
    is_timed=False,
)
