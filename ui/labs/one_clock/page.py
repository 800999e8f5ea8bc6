"""The page that times every decoder on one prompt: fields, runs, texts, figures."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go
import streamlit as st

from engine.study import Timed
from ui.charts.figure import show_figure
from ui.charts.template import PATTERNS, SYMBOLS, literal, palette, template
from ui.labs import fields
from ui.labs.one_clock.clock import MOST_TOKENS, Clock
from ui.labs.one_clock.view import cards, figures, notice, staged_runs
from ui.labs.page import STYLE, notice_line
from ui.server.problems import guarded
from ui.shell.stage import stage, staged
from ui.shell.theme import is_dark
from ui.shell.work import look_every, owner, watching, work_buttons, work_state
from ui.texts.examples import EXAMPLES
from ui.texts.limits import LARGEST_SEED
from ui.visit_page import VisitPage
from ui.words.glossary import meaning
from ui.words.labels import markdown_text
from ui.words.language import marked, say, with_figures


def time_figure(timed: Mapping[str, Timed], dark: bool = False) -> go.Figure:
    """Chart milliseconds per token: a bar for the median round, a line from fastest to slowest."""
    colours = palette(dark)
    names = [name for name, one in timed.items() if one.ms_per_token is not None]
    figure = go.Figure()
    for place, name in enumerate(names):
        one = timed[name]
        each = [ms / one.tokens for ms in one.milliseconds]
        middle = one.ms_per_token
        figure.add_bar(
            y=[literal(say(name))],
            x=[middle],
            orientation="h",
            marker={
                "color": colours.series[place % len(colours.series)],
                "pattern": {"shape": PATTERNS[place % len(PATTERNS)]},
            },
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [max(each) - middle],
                "arrayminus": [middle - min(each)],
                "color": colours.text,
            },
            showlegend=False,
            hovertemplate=say("{name}: {time} ms per token", name="%{y}", time="%{x:.2f}")
            + "<extra></extra>",
        )
        figure.add_annotation(
            x=max(each),
            y=literal(say(name)),
            text=with_figures(f"{middle:.1f} ms"),
            xanchor="left",
            xshift=8,
            showarrow=False,
        )
    most = max(
        (max(one.milliseconds) / one.tokens for one in timed.values() if one.tokens), default=1
    )
    figure.update_layout(
        template=template(dark),
        height=90 + 34 * len(names),
        xaxis={"title": say("milliseconds per token"), "range": [0, most]},
        yaxis={"autorange": "reversed"},
        margin={"l": 10, "r": 72, "t": 10, "b": 10},  # right: the longest bar's time
    )
    return figure


def balance_figure(timed: Mapping[str, Timed], dark: bool = False) -> go.Figure:
    """Plot each text by its time per token and its likelihood under the model."""
    colours = palette(dark)
    figure = go.Figure()
    for place, (name, one) in enumerate(timed.items()):
        if one.ms_per_token is None:
            continue
        figure.add_scatter(
            x=[one.ms_per_token],
            y=[one.nats_per_token],
            name=literal(say(name)),
            mode="markers",
            marker={
                "size": 14,
                "color": colours.series[place % len(colours.series)],
                "symbol": SYMBOLS[place % len(SYMBOLS)],
                "line": {"color": colours.text, "width": 1 if place >= len(SYMBOLS) else 0},
            },
            hovertemplate=say(
                "{name}: {time} ms, {nats} nats",
                name=literal(say(name)),
                time="%{x:.1f}",
                nats="%{y:.2f}",
            )
            + "<extra></extra>",
        )
    figure.update_layout(
        template=template(dark),
        height=330,
        xaxis={"title": say("milliseconds per token"), "rangemode": "tozero"},
        yaxis={"title": say("log-probability per token, nats")},
    )
    return figure


PAGE = VisitPage(
    Clock.name,
    begin=Clock,
    restore=Clock.restored,
    lost=marked("Your last inputs on this page could not be read, so it starts over."),
    kept=marked("Prompt and settings are kept; the runs start over."),
    needs=("weights",),
)
ABOUT = marked(
    "**One clock.** Every decoder continues the same prompt three times, in turn. Times are "
    "medians measured here; weight bytes are computed from the number of passes."
)


def one_clock_page() -> None:
    """Draw the whole page."""
    clock = PAGE.opened(STYLE, about=say(ABOUT))
    if clock is None:
        return
    with st.container(key="one_clock_fields"):
        guarded(_fields, "the fields")(clock)
    clock.begin_alone(owner())  # so that a new visitor sees results without pressing a button
    watching(guarded(_runs, "the runs"), lambda: look_every(clock.work))(clock)


def _fields(clock: Clock) -> None:
    fields.prompt(clock, {example.name: example.prompt for example in EXAMPLES})
    constraint = fields.constraint(clock, is_optional=False)
    with fields.row():
        fields.whole(
            clock,
            "tokens",
            say("Max tokens"),
            1,
            MOST_TOKENS,
            help=meaning("max tokens"),
            width=140,
        )
        fields.whole(clock, "seed", say("Seed"), 0, LARGEST_SEED, help=meaning("seed"), width=140)
    with st.expander(say("Constraint for constrained decoding")):
        constraint.language(width=230)
        constraint.source(height=68)


def _runs(clock: Clock) -> None:
    """Draw the buttons, the progress, and the results so far."""
    with stage():
        with st.container(key="one_clock_transport", horizontal=True):
            work_buttons("one_clock", say("Run all"), clock.work, clock.begin)
        work = clock.work
        if work is not None:
            staged(staged_runs(work.beginning.prompt, work.timed))
    if clock.error:
        st.error(markdown_text(clock.error))
    if work is None:
        st.caption(say("Nothing is measured yet. Press {button}.", button=say("Run all")))
        return
    work_state(work)
    timed, failed = work.timed, work.failed
    notice_line(clock.name, notice(timed, work.is_done, work.was_busy))
    st.html(cards(work.beginning.prompt, timed, failed))
    if not timed:
        return
    st.html(figures(timed))
    if work.is_running:  # drawing charts would slow down the measured runs
        return
    left, right = st.columns(2)
    with left:
        st.subheader(say("Time per token"), anchor=False)
        st.caption(say("Bar: median round. Line: from the fastest to the slowest round."))
        chart = time_figure(timed, is_dark())
        show_figure(chart, "one_clock_time", say("Time per token of every decoder"))
    with right:
        st.subheader(say("Time against likelihood"), anchor=False)
        st.caption(say("Likely is not the same as good: read the texts."))
        chart = balance_figure(timed, is_dark())
        show_figure(chart, "one_clock_balance", say("Time against likelihood of every decoder"))
