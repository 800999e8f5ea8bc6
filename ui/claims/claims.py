"""The claims of the page as sections: prediction, experiment, verdict and figures."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping
from dataclasses import make_dataclass
from itertools import groupby
from typing import Any

import streamlit as st

from engine.claims import (
    NOTED,
    OPEN,
    AnyResult,
    Check,
    Choice,
    Claim,
    Experiment,
    Facts,
    Input,
    Line,
    Real,
    Text,
    Verdict,
    Whole,
    claim_of,
    judge,
    known_facts,
)
from engine.model import LanguageModel
from ui.claims.charts import PICTURES, chart_figure, checks_figure
from ui.claims.words import (
    NAMES,
    PREDICTIONS,
    SYMBOLS,
    ClaimWords,
    all_words,
    answer_said,
    interval,
    method_said,
    shown,
)
from ui.labs import fields
from ui.labs.inputs import PlainInputs
from ui.measurements.drawing import cell, chart, sheet
from ui.measurements.job import MeasureJob
from ui.measurements.section import Section, Shown, Table
from ui.measurements.section_state import SectionState
from ui.models.choice import Choice as ModelChoice
from ui.models.chooser import shared_model
from ui.shell.fields import bound
from ui.shell.tables import text_list
from ui.words.labels import visible
from ui.words.language import localised, marked, say

PREDICTED = {
    "holds": marked("You predicted that it holds."),
    "fails": marked("You predicted that it does not hold."),
    "depends": marked("You predicted that it depends."),
}
MET, MISSED = (marked("The result is as you predicted."), marked("The result is different."))


def draw_verdict(words: ClaimWords, verdict: Verdict, predicted: str, took: float | None) -> None:
    """Draw the card with the verdict, and the figures below it.

    Args:
        words: the words of the claim.
        verdict: the verdict, with the figures behind it.
        predicted: the visitor's prediction; empty for none.
        took: duration of the experiment in seconds; None if unknown.
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
    """Return a table of the figures behind a verdict."""

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
        say("outcome"): answer_said,
    }
    if not any(check.part for check in verdict.checks):
        del columns[say("part")]
    return _table(say("Basis of the verdict"), columns, verdict)


def plain_table(words: ClaimWords, verdict: Verdict) -> Table:
    """Return the same table as plain numbers, for a file; unknown and infinite values are empty."""
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
        say("outcome"): answer_said,
    }
    return _table(say("Figures"), columns, verdict)


def _table(name: str, columns: Mapping[str, Callable[[Check], Any]], verdict: Verdict) -> Table:
    rows = [[cell(check) for cell in columns.values()] for check in verdict.checks]
    return Table(name, list(columns), rows)


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


MOST_ROWS = 300  # of a table on the page; a longer one is only in the file
LONG_LABEL = 20  # characters; a number field with a longer label is wider


def section(claim: Claim[AnyResult]) -> Section[Any, AnyResult]:
    """Turn a claim into a section of the page, with its words from `lessons/claims.toml`."""
    words = all_words()[claim.key]
    inputs = make_dataclass(
        claim.key,
        [("predicted", str, ""), *((one.name, type(one.first), one.first) for one in claim.inputs)],
        bases=(PlainInputs,),
        frozen=True,
    )

    def experiment(model: LanguageModel, chosen: PlainInputs) -> Experiment[AnyResult]:
        typed = {one.name: getattr(chosen, one.name) for one in claim.inputs}
        return claim.experiment(model, _loaded, **typed)

    def all_fields(held: SectionState) -> None:
        overturned = say("What would overturn it:")
        st.caption(f"{overturned} {say(words.overturned)}")
        _prediction(held)
        with st.expander(say("Parameters of the experiment")):
            row = None
            for one in claim.inputs:
                if isinstance(one, Text) or (isinstance(one, Line) and one.is_wide):
                    row = None
                    _field(held, one)
                else:
                    row = row or fields.row()
                    with row:
                        _field(held, one)

    def picture(found: AnyResult, page: Shown) -> None:
        if not page.is_running:
            held, name, dark = page.held, page.name, page.dark
            predicted = held.measured.predicted if held else ""
            took = held.work.took if held and held.work else None
            draw_verdict(words, judge(found.checks), predicted, took)
            chart(
                f"{name}_figures",
                say("What was measured"),
                say(
                    "A bar is a measured value, a whisker its 95 % interval, a dotted line "
                    "the limit that the claim sets. ✓ is as claimed, ✗ is not, ? is "
                    "undecided. Values in the same unit share one scale."
                ),
                checks_figure(words, [*found.checks, *claim.more(found)], dark),
            )
            for one in claim.charts(found):
                figure = chart_figure(one, dark)
                chart(f"{name}_{one.key}", say(one.name), say(one.about), figure)
            if claim.key in PICTURES:
                title, about, figure = PICTURES[claim.key]
                chart(f"{name}_curve", say(title), say(about), figure(found.measured, dark=dark))
        draw_table(claim, table_of(claim, found))

    return Section(
        key=claim.key,
        name=words.name,
        heading=words.claim,
        about=words.experiment,
        inputs=inputs,
        result=claim.result,
        fields=all_fields,
        picture=picture,
        notice=lambda found: say(claim.notice(found)),
        tables=lambda found: (plain_table(words, judge(found.checks)), table_of(claim, found)),
        begin=lambda model, chosen: MeasureJob(experiment(model, chosen)),
        start=marked("Run"),
        seconds=lambda model, chosen, pace: experiment(model, chosen).seconds(pace),
        is_timed=False,  # processor time; a condition of the verdict covers the rest
        begins_alone=False,
        overlays=False,
        topic=words.topic,
        mark=lambda held: SYMBOLS.get(outcome_of(held), ""),
    )


def _loaded(name: str) -> LanguageModel:
    return shared_model(ModelChoice.parse(name))


def outcome_of(held: SectionState) -> str:
    """Return the outcome of a visitor's experiment; empty before it has finished."""
    found = None if held.is_running else held.result()
    return "" if found is None else judge(found.checks).outcome


def _prediction(held: SectionState) -> None:
    """Draw the field for a prediction; a measurement keeps the one with which it started."""
    chosen = held.inputs.predicted if held.inputs.predicted in PREDICTIONS else None
    st.segmented_control(
        say("What do you predict?"),
        list(PREDICTIONS),
        format_func=lambda outcome: say(PREDICTIONS[outcome]),
        default=chosen,
        **bound(
            f"{held.name}_predicted",
            chosen,
            lambda predicted: held.change(predicted=predicted or ""),
        ),
    )


def _field(held: SectionState, one: Input) -> None:
    """Draw the field for an input of a claim, by the type of the input."""
    given, about = (held, one.name, say(one.label)), say(one.help) or None
    width = 190 if len(one.label) > LONG_LABEL else 130
    if isinstance(one, Text):
        shown = known_facts()[:600] if isinstance(one, Facts) else None
        fields.text(*given, height=one.height, placeholder=shown, help=about)
    elif isinstance(one, Whole):
        high = held.model.vocab_size if one.high is None else one.high
        fields.whole(*given, one.low, high, width=width, help=about)
    elif isinstance(one, Real):
        fields.real(*given, step=one.step, width=width, help=about)
    elif isinstance(one, Choice):
        fields.choice(*given, fields.said(one.names))
    elif isinstance(one, Line) and one.is_wide:
        fields.line(*given, width="stretch")
    else:
        fields.line(*given, help=about)


def table_of(claim: Claim[AnyResult], found: AnyResult) -> Table:
    """Return the table of a claim, in the current language."""
    head, rows = claim.table.of(found)
    return Table(say(claim.table.name), [*map(say, head)], [[*map(shown, row)] for row in rows])


def draw_table(claim: Claim, table: Table) -> None:
    """Draw an expandable table, unless it is too long for the page."""
    if len(table.rows) > MOST_ROWS:
        return
    with st.expander(table.name, expanded=claim.table.is_open):
        if claim.table.about:
            st.caption(say(claim.table.about))
        if not claim.table.texts:
            sheet(table)
            return
        first, last = claim.table.prompts, len(table.head) - claim.table.texts
        for prompt, rows in groupby(table.rows, key=lambda row: "".join(row[:first])):
            texts = [one for row in rows for one in _texts(table.head, row, first, last)]
            st.html(text_list(say("Texts of {name}", name=prompt), prompt, texts))


def _texts(head: Any, row: Any, first: int, last: int) -> list[tuple[list[str], str]]:
    """Return a row's texts, each with its name; the last one also with the row's measurements."""
    about = [f"{head[n]}: {_fact(row[n])}" for n in range(first, last)]
    named = [([head[n]], row[n]) for n in range(last, len(row) - 1)]
    return [*named, ([*([head[-1]] if named else []), *about], row[-1])]


def _fact(value: Any) -> str:
    """Format a cell within a line, with glyphs for spaces at its ends, such as a token's."""
    said = localised(cell(value))
    return said if said.isprintable() and said == said.strip() else visible(said)


CLAIMS = tuple(section(claim_of(key)) for key in all_words())
