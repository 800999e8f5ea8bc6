"""A verdict on the page: its sentence, what was predicted, the figures that it stands on."""

from __future__ import annotations

import html
import math

import streamlit as st

from engine.claims.verdict import Check, Verdict
from ui.claims.words import (
    ANSWERS,
    METHODS,
    NAMES,
    SYMBOLS,
    ClaimWords,
    interval,
)
from ui.measurements.measured import sheet
from ui.measurements.section import Table

PREDICTED = {
    "holds": "You predicted that it holds.",
    "fails": "You predicted that it does not hold.",
    "depends": "You predicted that it depends.",
}
MET, MISSED = "The verdict is the one that you predicted.", "The verdict is another one."
HEAD = ("figure", "part", "measured", "95 % interval", "n", "the claim says", "so it is")


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
        said.append(PREDICTED[predicted])
        said.append(MET if predicted == verdict.outcome else MISSED)
    if took is not None:
        said.append(f"The experiment took {took:.1f} s.")
    name = f"{SYMBOLS[verdict.outcome]} {NAMES[verdict.outcome]}"
    sentences = html.escape(" ".join(said))
    st.html(
        f'<div class="claim-verdict claim-{verdict.outcome}" role="status">'
        f"<strong>{html.escape(name)}</strong><p>{sentences}</p></div>"
    )
    sheet(figures_table(words, verdict), "figures claim-figures")
    methods = dict.fromkeys(check.figure.method for check in verdict.checks)
    st.caption(" ".join(METHODS[method] for method in methods))


def figures_table(words: ClaimWords, verdict: Verdict) -> Table:
    """What the verdict stands on."""
    rows = [HEAD, *(_row(words, check) for check in verdict.checks)]
    if not any(check.part for check in verdict.checks):
        rows = [(first, *others) for first, _, *others in rows]
    head, *figures = rows
    return Table("What the verdict stands on", head, figures)


def plain_table(words: ClaimWords, verdict: Verdict) -> Table:
    """The same as plain numbers, for a file; what is unknown or unbounded is empty."""
    rows = [
        (
            words.figures[check.name].name,
            check.part,
            *map(_known, (check.figure.value, check.figure.low, check.figure.high)),
            check.figure.count,
            check.figure.method,
            check.side,
            check.bound if check.side else None,
            ANSWERS[check.answer],
        )
        for check in verdict.checks
    ]
    head = ("figure", "part", "measured", "low", "high", "n", "method", "side", "bound", "so it is")
    return Table("Figures", head, rows)


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _row(words: ClaimWords, check: Check) -> tuple[str | int, ...]:
    name = words.figures[check.name]
    return (
        name.name,
        check.part,
        name.said(check.figure.value),
        interval(check.figure, name),
        check.figure.count,
        f"{check.side} {name.said(check.bound)}" if check.side else "",
        ANSWERS[check.answer],
    )
