"""A verdict on the page: its sentence, what was predicted, the figures that it stands on."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from engine.claims.verdict import NOTED, OPEN, Check, Verdict
from ui.claims.words import NAMES, SYMBOLS, ClaimWords, answer_said, interval, method_said, shown
from ui.measurements.measured import sheet
from ui.measurements.section import Table
from ui.words.language import marked, say

PREDICTED = {
    "holds": marked("You predicted that it holds."),
    "fails": marked("You predicted that it does not hold."),
    "depends": marked("You predicted that it depends."),
}
MET, MISSED = (marked("The result is as you predicted."), marked("The result is different."))


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

    def wanted(check: Check) -> str:
        said = f"{say(check.side)} {words.figures[check.name].said(check.bound)}"
        said = "" if check.side == NOTED else said
        return say("needed: {bound}", bound=said) if check.is_condition else said

    columns: dict[str, Callable[[Check], Any]] = {
        say("figure"): lambda check: say(words.figures[check.name].name),
        say("part"): lambda check: shown(check.part),
        say("measured"): lambda check: words.figures[check.name].said(check.figure.value),
        say("95 % interval"): lambda check: interval(check.figure, words.figures[check.name]),
        "n": lambda check: check.figure.count,
        say("the claim says"): wanted,
        say("so it is"): answer_said,
    }
    if not any(check.part for check in verdict.checks):
        del columns[say("part")]
    return _table(say("What the verdict stands on"), columns, verdict)


def plain_table(words: ClaimWords, verdict: Verdict) -> Table:
    """The same as plain numbers, for a file; what is unknown or unbounded is empty."""
    columns: dict[str, Callable[[Check], Any]] = {
        say("figure"): lambda check: say(words.figures[check.name].name),
        say("part"): lambda check: shown(check.part),
        say("measured"): lambda check: _known(check.figure.value),
        say("low"): lambda check: _known(check.figure.low),
        say("high"): lambda check: _known(check.figure.high),
        "n": lambda check: check.figure.count,
        say("method"): lambda check: check.figure.method,
        say("side"): lambda check: check.side,
        say("bound"): lambda check: check.bound if check.side else None,
        say("so it is"): answer_said,
    }
    return _table(say("Figures"), columns, verdict)


def _table(name: str, columns: Mapping[str, Callable[[Check], Any]], verdict: Verdict) -> Table:
    rows = [[cell(check) for cell in columns.values()] for check in verdict.checks]
    return Table(name, list(columns), rows)


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
