"""A sliding window's edge, measured on a small model, and the end of the model's context."""

from __future__ import annotations

from dataclasses import dataclass

import plotly.graph_objects as go
import streamlit as st

from engine.measure import LEAST_WINDOW, MOST_WINDOW, TOUCHED, Pace, WindowEdge, WindowMeasurement
from engine.model import LanguageModel
from ui.charts.template import DASHES, PATTERNS, SYMBOLS, palette, template
from ui.labs import fields
from ui.labs.inputs import PlainInputs
from ui.measurements.drawing import chart, sheet
from ui.measurements.job import MeasureJob
from ui.measurements.section import Section, Shown, Table
from ui.measurements.section_state import SectionState
from ui.words.glossary import meaning
from ui.words.labels import markdown_text, size
from ui.words.language import marked, say


@dataclass(frozen=True)
class WindowInputs(PlainInputs):
    """Inputs of the section: the window size of the small model."""

    window: int = 16


def _begin(model: LanguageModel, inputs: WindowInputs) -> MeasureJob[WindowEdge]:
    return MeasureJob(WindowMeasurement(model, inputs.window))


def _seconds(model: LanguageModel, inputs: WindowInputs, pace: Pace) -> float:
    return WindowMeasurement.estimated_seconds(model, inputs.window, pace)


def _fields(held: SectionState) -> None:
    with fields.row():
        fields.whole(
            held,
            "window",
            say("Window"),
            LEAST_WINDOW,
            MOST_WINDOW,
            help=meaning("sliding window"),
        )


def _picture(result: WindowEdge, shown: Shown) -> None:
    own = (
        say(
            "{model} has a window of {own_window} positions",
            model=result.model,
            own_window=f"{result.own_window:,}",
        )
        if result.own_window
        else say("{model} has no sliding window", model=result.model)
    )
    st.info(
        markdown_text(
            say(
                "{own}. The edge below is of a model with random weights, built for this: "
                "{layers} layers, a window of {window}. Its text means nothing; which "
                "positions it keeps and sees does not depend on the weights.",
                own=own,
                layers=result.layers,
                window=result.window,
            )
        )
    )
    if not shown.is_running:
        left, right = st.columns(2)
        with left:
            chart(
                "cache_window",
                say("At the window's edge"),
                say("The cache stops growing; the oldest position is forgotten at each step."),
                edge_figure(result, shown.dark),
            )
        with right:
            if result.changes:
                chart(
                    "cache_reach",
                    say("Which positions change the last logits"),
                    say("One token is replaced at a time. Where there is no bar, nothing changes."),
                    reach_figure(result, shown.dark),
                )
    sheet(_around(result))
    end = result.end
    if end is not None:
        st.subheader(say("The end of the context of {model}", model=result.model), anchor=False)
        if end.reached:
            st.text(
                say(
                    "At {reached} cached positions ({bytes}) the last token is drawn. One "
                    "more step is refused: {said}",
                    reached=f"{end.reached:,}",
                    bytes=size(end.bytes),
                    said=end.said,
                )
            )
        else:
            st.text(end.said)


def _around(result: WindowEdge) -> Table:
    """Return a table of the steps around the edge, and the last step."""
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
            say("to the byte") if step.measured == step.computed else say("NO"),
        )
        for step in result.steps
        if step.positions in wanted
    ]
    head = (
        say("tokens read"),
        say("positions kept"),
        say("positions seen"),
        say("tensors, bytes"),
        say("formula, bytes"),
    )
    return Table(say("Around the edge"), (*head, say("held, bytes"), say("equal")), rows)


def _notice(result: WindowEdge) -> str:
    last = result.steps[-1]
    kept = say(
        "After {positions} tokens the cache keeps {kept} positions: one fewer than the "
        "window of {window}, as the next token brings its own.",
        positions=last.positions,
        kept=last.kept,
        window=result.window,
    )
    if not result.changes:
        return kept
    far = 1 + result.layers * (result.window - 1)
    return say(
        "{kept} The last token attends to {seen} positions, yet {reached} change its logits: "
        "{layers} layers reach back up to {far} positions.",
        kept=kept,
        seen=last.seen,
        reached=result.reached,
        layers=result.layers,
        far=far,
    )


def _steps(result: WindowEdge) -> Table:
    rows = [
        (step.positions, step.kept, step.seen, step.measured, step.computed, step.held)
        for step in result.steps
    ]
    head = (
        say("tokens read"),
        say("kept"),
        say("seen"),
        say("tensors, bytes"),
        say("formula, bytes"),
        say("held, bytes"),
    )
    return Table(say("Steps at the edge"), head, rows)


def _reach(result: WindowEdge) -> Table:
    rows = list(enumerate(result.changes, start=1))
    return Table(say("Reach"), (say("position"), say("largest logit change")), rows)


def edge_figure(result: WindowEdge, dark: bool = False) -> go.Figure:
    """Chart the number of positions read, attended to and kept, by tokens read."""
    colours = palette(dark)
    figure = go.Figure()
    read = [step.positions for step in result.steps]
    curves = (
        (say("read so far"), read, "lines"),
        (
            say("attended to by the last token"),
            [step.seen for step in result.steps],
            "lines+markers",
        ),
        (say("kept after the step"), [step.kept for step in result.steps], "lines+markers"),
    )
    for place, (name, values, mode) in enumerate(curves):
        figure.add_scatter(
            x=read,
            y=values,
            name=name,
            mode=mode,
            line={"color": colours.series[place], "dash": DASHES[place], "width": 1.8},
            marker={"symbol": SYMBOLS[place], "size": 5},
            hovertemplate=say("{name}: %{{y:,}} at %{{x:,}} tokens<extra></extra>", name=name),
        )
    figure.add_vline(x=result.window, line={"color": colours.muted, "dash": "dot"})
    figure.add_annotation(
        x=result.window,
        y=max(read),
        text=say("window of {window}", window=result.window),
        showarrow=False,
        xanchor="left",
        xshift=4,
    )
    figure.update_layout(
        template=template(dark),
        height=340,
        xaxis={"title": say("tokens read"), "rangemode": "tozero"},
        yaxis={"title": say("positions"), "rangemode": "tozero"},
    )
    return figure


def reach_figure(result: WindowEdge, dark: bool = False) -> go.Figure:
    """Chart how much replacing the token at each position changes the last token's logits."""
    colours = palette(dark)
    count = len(result.changes)
    least = TOUCHED * max(result.changes)
    kinds = (
        (say("attended to"), lambda back: back < result.window),
        (say("through earlier layers"), lambda back: back >= result.window),
    )
    figure = go.Figure()
    for place, (name, belongs) in enumerate(kinds):
        places = [
            n
            for n, change in enumerate(result.changes)
            if belongs(count - 1 - n) and change > least
        ]
        figure.add_bar(
            x=[n + 1 for n in places],
            y=[result.changes[n] for n in places],
            name=name,
            marker={
                "color": colours.series[place],
                "pattern": {"shape": PATTERNS[place]},
                "line": {"width": 0},
            },
            hovertemplate=say("position %{{x}}, {name}: %{{y:.3g}}<extra></extra>", name=name),
        )
    figure.update_layout(
        template=template(dark),
        height=340,
        bargap=0.15,
        xaxis={"title": say("position of the changed token"), "range": [0.5, count + 0.5]},
        yaxis={"title": say("largest logit change"), "rangemode": "tozero"},
    )
    return figure


SECTION = Section(
    key="window",
    name=marked("Window"),
    about=marked(
        "A sliding window's edge and the context's end. Notice what is forgotten, and when."
    ),
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
