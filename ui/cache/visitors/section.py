"""The line in front of the model, with simulated visitors that a teacher lets in."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from engine.measure.pace import Pace
from engine.measure.visitors import LONGEST_SECONDS, MOST_VISITORS, Guests, VisitorsResult
from engine.model import LanguageModel
from ui.cache.visitors.lanes import NAMES, lanes, queue
from ui.cache.visitors.work import VisitorsWork
from ui.labs import fields
from ui.labs.inputs import PlainInputs
from ui.measurements.held import Held
from ui.measurements.measured import sheet
from ui.measurements.section import Section, Shown, Table
from ui.words.labels import counted

SIMULATED = (
    "Simulated visitors use the loaded model for real, so whoever works with it meanwhile waits "
    "for them too. They leave when their time is over, at Cancel, or when the page is closed. They "
    "stay while you look at other pages: take a step there, and feel the wait."
)
HOW = (
    "Figures are of the last {span:.0f} s. One pass has the device at a time. Steps go before "
    "batches, and these before prompts, which are read in chunks. Whoever has waited for a second "
    "counts as the next kind up. Visitors of the app appear by kind alone."
)


@dataclass(frozen=True)
class VisitorsInputs(PlainInputs):
    """Who is let in; see `Guests`.

    Attributes:
        stepping, batching, prompting: how many of each.
        seconds: how long they stay.
    """

    stepping: int = 8
    batching: int = 1
    prompting: int = 1
    seconds: int = 10


def _begin(model: LanguageModel, inputs: VisitorsInputs) -> VisitorsWork:
    guests = Guests(inputs.stepping, inputs.batching, inputs.prompting)
    return VisitorsWork(model, guests, inputs.seconds)


def _seconds(model: LanguageModel, inputs: VisitorsInputs, pace: Pace) -> float:
    return float(inputs.seconds)


def _fields(held: Held) -> None:
    with fields.row():
        for name, label, about in (
            ("stepping", "Who step", "Each takes a step of a text of its own every second."),
            (
                "batching",
                "Who write batches",
                "Each writes batches of 16 texts of 64 tokens.",
            ),
            ("prompting", "Who read prompts", "Each reads prompts of 1,000 tokens in turn."),
        ):
            fields.whole(held, name, label, 0, MOST_VISITORS, width=160, help=about)
        fields.whole(
            held,
            "seconds",
            "Seconds",
            1,
            LONGEST_SECONDS,
            help="When simulated visitors leave by themselves.",
        )
    st.caption(SIMULATED)


def _picture(result: VisitorsResult, shown: Shown) -> None:
    st.html(queue(result))
    st.html(lanes(result))
    sheet(_table(result))
    if shown.other is not None:
        sheet(_table(shown.other.result, shown.other.name))
    st.caption(HOW.format(span=result.span))


def _notice(result: VisitorsResult) -> str:
    count = result.stepping + result.batching + result.prompting
    by_kind = {one.kind: one for one in result.kinds}
    line = (
        f"at most {result.longest_line:,} wait at once" if result.longest_line else "nobody waits"
    )
    sentences = [
        f"{counted(count, 'simulated visitor')}: {line}, and the device is busy "
        f"{100 * result.busy:.0f} % of the time."
    ]
    step = by_kind.get("step")
    if step is not None:
        sentences.append(
            f"A step has the device for {step.pass_p50:.1f} ms (median) and waits "
            f"{step.wait_p50:,.1f} ms for it, {step.wait_p95:,.1f} ms at p95."
        )
    slow = max(by_kind.values(), key=lambda one: one.wait_p95, default=None)
    if slow is not None and slow.kind != "step" and slow.wait_p95 > 0:
        sentences.append(
            f"The {_plural(slow.kind)} wait longest, {slow.wait_p95:,.0f} ms at p95: "
            "steps go first."
        )
    if result.step_p95 is not None:
        sentences.append(
            f"From the press to the token a simulated visitor's step takes {result.step_p50:,.0f} "
            f"ms, p95 {result.step_p95:,.0f} ms."
        )
    return " ".join(sentences)


def _plural(kind: str) -> str:
    return {"batch": "batches", "prefill": "prompts"}[kind]


def _table(result: VisitorsResult, machine: str = "") -> Table:
    rows = [
        (
            NAMES[one.kind],
            one.passes,
            round(one.wait_p50, 1),
            round(one.wait_p95, 1),
            round(one.wait_most, 1),
            round(one.pass_p50, 1),
            round(one.pass_p95, 1),
        )
        for one in result.kinds
    ]
    head = ("pass", "passes", "wait p50, ms", "p95", "longest", "has device p50, ms", "p95 ")
    return Table(f"Waits by kind, {machine}" if machine else "Waits by kind", head, rows)


def _passes(result: VisitorsResult) -> Table:
    rows = [(one.kind, one.visitor, one.came, one.began, one.ended) for one in result.shown]
    head = ("kind", "simulated visitor", "came, s ago", "began, s ago", "ended, s ago")
    return Table("Passes", head, rows)


SECTION = Section(
    key="visitors",
    name="Visitors",
    about="Who waits for the model, what runs, and for how long. Notice how little a step waits "
    "beside others who step, and who waits for whom beside batches and prompts.",
    inputs=VisitorsInputs,
    result=VisitorsResult,
    fields=_fields,
    picture=_picture,
    notice=_notice,
    tables=lambda result: (_table(result), _passes(result)),
    begin=_begin,
    start="Let them in",
    seconds=_seconds,
)
