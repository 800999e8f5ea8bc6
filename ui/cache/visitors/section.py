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
from ui.words.language import marked, say

SIMULATED = marked(
    "Simulated visitors use the loaded model for real, so whoever works with it "
    "meanwhile waits for them too. They leave when their time is over, at Cancel, "
    "or when the page is closed. They stay while you look at other pages: take a "
    "step there, and feel the wait."
)
SLOWEST = {
    "batch": marked("The batches wait longest, {wait_p95} ms at p95: steps go first."),
    "prefill": marked("The prompts wait longest, {wait_p95} ms at p95: steps go first."),
}
HOW = marked(
    "Figures are of the last {span} s. One pass has the device at a time. "
    "Steps go before batches, and these before prompts, which are read in chunks. "
    "Whoever has waited for a second counts as the next kind up. Visitors of the "
    "app appear by kind alone."
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
            (
                "stepping",
                say("Who step"),
                say("Each takes a step of a text of its own every second."),
            ),
            (
                "batching",
                say("Who write batches"),
                say("Each writes batches of 16 texts of 64 tokens."),
            ),
            (
                "prompting",
                say("Who read prompts"),
                say("Each reads prompts of 1,000 tokens in turn."),
            ),
        ):
            fields.whole(held, name, label, 0, MOST_VISITORS, width=160, help=about)
        fields.whole(
            held,
            "seconds",
            say("Seconds"),
            1,
            LONGEST_SECONDS,
            help=say("When simulated visitors leave by themselves."),
        )
    st.caption(say(SIMULATED))


def _picture(result: VisitorsResult, shown: Shown) -> None:
    st.html(queue(result))
    st.html(lanes(result))
    sheet(_table(result))
    if shown.other is not None:
        sheet(_table(shown.other.result, shown.other.name))
    st.caption(say(HOW, span=f"{result.span:.0f}"))


def _notice(result: VisitorsResult) -> str:
    count = result.stepping + result.batching + result.prompting
    by_kind = {one.kind: one for one in result.kinds}
    line = (
        say("at most {longest_line} wait at once", longest_line=f"{result.longest_line:,}")
        if result.longest_line
        else say("nobody waits")
    )
    sentences = [
        say(
            "{simulated_visitors}: {line}, and the device is busy {busy} % of the time.",
            simulated_visitors=counted(count, "simulated visitor"),
            line=line,
            busy=f"{100 * result.busy:.0f}",
        )
    ]
    step = by_kind.get("step")
    if step is not None:
        sentences.append(
            say(
                "A step has the device for {pass_p50} ms (median) and waits {wait_p50} ms for "
                "it, {wait_p95} ms at p95.",
                pass_p50=f"{step.pass_p50:.1f}",
                wait_p50=f"{step.wait_p50:,.1f}",
                wait_p95=f"{step.wait_p95:,.1f}",
            )
        )
    slow = max(by_kind.values(), key=lambda one: one.wait_p95, default=None)
    if slow is not None and slow.kind != "step" and slow.wait_p95 > 0:
        sentences.append(say(SLOWEST[slow.kind], wait_p95=f"{slow.wait_p95:,.0f}"))
    if result.step_p95 is not None:
        sentences.append(
            say(
                "From the press to the token a simulated visitor's step takes {step_p50} ms, "
                "p95 {step_p95} ms.",
                step_p50=f"{result.step_p50:,.0f}",
                step_p95=f"{result.step_p95:,.0f}",
            )
        )
    return " ".join(sentences)


def _table(result: VisitorsResult, machine: str = "") -> Table:
    rows = [
        (
            say(NAMES[one.kind]),
            one.passes,
            round(one.wait_p50, 1),
            round(one.wait_p95, 1),
            round(one.wait_most, 1),
            round(one.pass_p50, 1),
            round(one.pass_p95, 1),
        )
        for one in result.kinds
    ]
    head = (
        say("pass"),
        say("passes"),
        say("wait p50, ms"),
        "p95",
        say("longest"),
        say("has device p50, ms"),
        "p95 ",
    )
    return Table(
        say("Waits by kind, {machine}", machine=machine) if machine else say("Waits by kind"),
        head,
        rows,
    )


def _passes(result: VisitorsResult) -> Table:
    rows = [(say(one.kind), one.visitor, one.came, one.began, one.ended) for one in result.shown]
    head = (
        say("kind"),
        say("simulated visitor"),
        say("came, s ago"),
        say("began, s ago"),
        say("ended, s ago"),
    )
    return Table(say("Passes"), head, rows)


SECTION = Section(
    key="visitors",
    name=marked("Visitors"),
    about=marked(
        "Who waits for the model, what runs, and for how long. Notice how little a "
        "step waits beside others who step, and who waits for whom beside batches and "
        "prompts."
    ),
    inputs=VisitorsInputs,
    result=VisitorsResult,
    fields=_fields,
    picture=_picture,
    notice=_notice,
    tables=lambda result: (_table(result), _passes(result)),
    begin=_begin,
    start=marked("Let them in"),
    seconds=_seconds,
)
