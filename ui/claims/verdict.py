"""A verdict on the page: its sentence, what was predicted, the figures that it stands on."""

from __future__ import annotations

import html
import math

import streamlit as st

from engine.claims.verdict import NOTED, OPEN, Check, Verdict
from ui.claims.words import (
    NAMES,
    SYMBOLS,
    ClaimWords,
    answer_said,
    interval,
    method_said,
)
from ui.measurements.measured import sheet
from ui.measurements.section import Table
from ui.words.language import marked, say

PREDICTED = {
    "holds": marked("You predicted that it holds."),
    "fails": marked("You predicted that it does not hold."),
    "depends": marked("You predicted that it depends."),
}
MET, MISSED = (
    marked("The result is as you predicted."),
    marked("The result is different."),
)
HEAD = (
    marked("figure"),
    marked("part"),
    marked("measured"),
    marked("95 % interval"),
    "n",
    marked("the claim says"),
    marked("so it is"),
)


def draw_verdict(words: ClaimWords, verdict: Verdict, predicted: str, took: float | None) -> None:
    """The card with the verdict, and the figures below it.

    Args:
        words: of the claim.
        verdict: what follows from the figures.
        predicted: what the person expected before; empty for nothing.
        took: seconds that the experiment has taken; None where nobody knows.
    """
    said = [words.sentence(verdict)]
    if predicted in PREDICTED:
        said.append(say(PREDICTED[predicted]))
        if verdict.outcome != OPEN:
            said.append(say(MET if predicted == verdict.outcome else MISSED))
    if took is not None:
        said.append(say("The experiment took {time} s.", time=f"{took:.1f}"))
    name = f"{SYMBOLS[verdict.outcome]} {say(NAMES[verdict.outcome])}"
    sentences = html.escape(" ".join(said))
    st.html(
        f'<div class="claim-verdict claim-{verdict.outcome}" role="status">'
        f"<strong>{html.escape(name)}</strong><p>{sentences}</p></div>"
    )
    with st.expander(say("The figures that this rests on")):
        sheet(figures_table(words, verdict), "figures claim-figures")
        methods = dict.fromkeys(check.figure.method for check in verdict.checks)
        about = say("A 95 % interval says how far chance may have moved a figure.")
        st.caption(" ".join([about, *map(method_said, methods)]))


def figures_table(words: ClaimWords, verdict: Verdict) -> Table:
    """The figures behind a verdict."""
    rows = [tuple(map(say, HEAD)), *(_row(words, check) for check in verdict.checks)]
    if not any(check.part for check in verdict.checks):
        rows = [(first, *others) for first, _, *others in rows]
    head, *figures = rows
    return Table(say("What the verdict stands on"), head, figures)


def plain_table(words: ClaimWords, verdict: Verdict) -> Table:
    """The same as plain numbers, for a file; what is unknown or unbounded is empty."""
    rows = [
        (
            say(words.figures[check.name].name),
            say(check.part),
            *map(_known, (check.figure.value, check.figure.low, check.figure.high)),
            check.figure.count,
            check.figure.method,
            check.side,
            check.bound if check.side else None,
            answer_said(check),
        )
        for check in verdict.checks
    ]
    head = (
        say("figure"),
        say("part"),
        say("measured"),
        say("low"),
        say("high"),
        "n",
        say("method"),
        say("side"),
        say("bound"),
        say("so it is"),
    )
    return Table(say("Figures"), head, rows)


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _row(words: ClaimWords, check: Check) -> tuple[str | int, ...]:
    name = words.figures[check.name]
    wanted = "" if check.side == NOTED else f"{say(check.side)} {name.said(check.bound)}"
    return (
        say(name.name),
        say(check.part),
        name.said(check.figure.value),
        interval(check.figure, name),
        check.figure.count,
        say("needed: {bound}", bound=wanted) if check.is_condition else wanted,
        answer_said(check),
    )
