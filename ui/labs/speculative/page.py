"""The speculative decoding page: fields, rounds, two distributions, acceptance, speed."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from engine.decoding import LOOKUP, PROPOSERS
from engine.errors import DecodingError
from engine.study import Acceptance
from ui.charts.figure import show_figure
from ui.labs import fields
from ui.labs.page import Experiment, LabPage
from ui.labs.speculative import view
from ui.labs.speculative.charts import (
    acceptance_figure,
    curve_figure,
    overlap_figure,
    waterfall_figure,
)
from ui.labs.speculative.lab import SpeculativeLab
from ui.models.chooser import allowed
from ui.shell.fields import bound
from ui.shell.theme import is_dark
from ui.shell.work import look_every, work_buttons, work_state
from ui.texts.examples import EXAMPLES
from ui.texts.limits import LARGEST_SEED, MOST_TOKENS
from ui.words.errors import in_words
from ui.words.glossary import meaning
from ui.words.labels import counted, markdown_text
from ui.words.language import marked, say

LONGEST_DRAFT = 64
MOST_NGRAM = 16


def _fields(lab: SpeculativeLab) -> None:
    fields.prompt(lab, {example.name: example.prompt for example in EXAMPLES})
    inputs, constraint = lab.inputs, fields.constraint(lab)
    with fields.row():
        proposers = fields.said(PROPOSERS)
        proposers.setdefault(inputs.proposer, inputs.proposer)
        fields.choice(lab, "proposer", say("Proposed by"), proposers, width=230)
        about = say("Tokens that a round proposes. A check takes one pass, however many they are.")
        label = say("Draft length g")
        fields.whole(lab, "draft_length", label, 1, LONGEST_DRAFT, help=about, width=180)
        fields.switch(
            lab,
            "adaptive",
            say("Adaptive g"),
            help=say("2 more after full acceptance, otherwise 1 fewer."),
        )
        if inputs.proposer == LOOKUP or lab.fell_back:
            fields.whole(lab, "ngram", say("Longest match"), 1, MOST_NGRAM)
        fields.real(lab, "temperature", say("Temperature"))
        fields.real(lab, "top_p", say("Top-p"), step=0.05)
        fields.whole(lab, "seed", say("Seed"), 0, LARGEST_SEED, help=meaning("seed"))
        fields.whole(
            lab, "max_tokens", say("Max tokens"), 1, MOST_TOKENS, help=meaning("max tokens")
        )
    is_open = inputs.forced or bool(inputs.language)
    with st.expander(say("Constraint, another draft, forced acceptance"), expanded=is_open):
        with fields.row():
            constraint.language(width=170)
            fields.switch(lab, "forced", say("Force acceptance"))
            if inputs.forced:
                fields.real(lab, "acceptance", say("Accept with"), step=0.05)
            if allowed() is None:
                st.text_input(
                    say("Draft: folder or hub id"),
                    placeholder="owner/name",
                    help=say("A smaller model with the target's tokenizer."),
                    **bound("speculative_own", "", lambda typed: typed and lab.load_draft(typed)),
                )
        constraint.source()
        st.caption(
            say("Forced acceptance ignores both models. It shows the formula; its text is void.")
        )
    if lab.fell_back:
        st.info(markdown_text(lab.fell_back))
    if inputs.forced:
        st.warning(
            say(
                "**{invalid}:** acceptance is forced, so the text reflects neither model.",
                invalid=say(view.INVALID),
            )
        )


def _picture(lab: SpeculativeLab) -> None:
    text = lab.text
    st.html(view.written(text, lab.inputs.prompt))
    if not text.steps:
        return
    chosen = lab.looked_at
    st.html(view.rounds(text.steps, chosen))
    left, right = st.columns(2)
    with left:
        st.subheader(say("One proposal: target and draft"), anchor=False)
        if chosen is None:
            st.caption(say("No round has proposed a token yet."))
        else:
            _distributions(lab, *chosen)
    with right:
        found = Acceptance.of(text.steps)
        st.subheader(say("Acceptance by position"), anchor=False)
        if found.drafted:
            st.caption(
                say(
                    "Proposals after a rejection are not looked at. The solid bars leave "
                    "them out; the hatched ones count them as not accepted, as vLLM and "
                    "llama.cpp do."
                )
            )
            chart = acceptance_figure(found, is_dark())
            alt = say("Share of accepted tokens by position in the draft")
            show_figure(chart, "speculative_acceptance", alt)
        st.html(view.figures(found, text.steps[-1]))


def _distributions(lab: SpeculativeLab, index: int, position: int) -> None:
    """Draw the two distributions at the chosen proposal, and their overlap."""
    text = lab.text
    with fields.row():
        drafted = [step.index for step in text.steps if step.proposed]
        st.selectbox(
            say("Round"),
            drafted,
            index=drafted.index(index),
            format_func=lambda place: str(place + 1),
            width=110,
            **bound("speculative_round", index, lambda place: _choose(lab, place, 0)),
        )
        step = text.steps[index]
        st.selectbox(
            say("Proposal"),
            list(range(len(step.proposed))),
            index=position,
            format_func=lambda place: view.position_name(place, step.proposed[place]),
            width=260,
            **bound("speculative_place", position, lambda place: _choose(lab, index, place)),
        )
    if lab.player.is_busy:
        st.caption(say("The text is growing; the distributions appear when it stops."))
        return
    try:
        found = text.distribution(index, position)
    except DecodingError as error:
        st.error(markdown_text(in_words(error)))
        return
    chart = overlap_figure(view.bars(found, step, text), is_dark())
    alt = say("Draft and target at one proposal, token by token")
    show_figure(chart, "speculative_overlap", alt)
    st.caption(markdown_text(view.overlap_sentence(found, step)))


def _choose(lab: SpeculativeLab, index: object, position: object) -> None:
    """Show the chosen proposal; Streamlit passes a name if the list has changed."""
    if isinstance(index, int) and isinstance(position, int):
        lab.chosen = (index, position)


def _speed(lab: SpeculativeLab) -> None:
    """Draw the speed trial: buttons, progress, curve, waterfall."""
    st.subheader(say("Speed against plain decoding"), anchor=False)
    with fields.row():
        work_buttons(
            "speculative_speed",
            say("Measure speed"),
            lab.work,
            lab.begin,
            can_begin=bool(lab.text),
        )
    work = lab.work
    if work is None:
        st.caption(
            say(
                "Plain decoding and g = 1 to 8 take turns on this prompt and these "
                "settings, three times. All times are measured here."
            )
        )
        return
    work_state(work)
    if not work.is_done:
        return
    try:
        curve = work.curve
    except DecodingError as error:
        st.error(markdown_text(in_words(error)))
        return
    point = curve.at(lab.inputs.draft_length)
    if work.inputs != lab.inputs:
        st.caption(say("These figures belong to the inputs used when it was measured."))
    st.markdown(markdown_text(view.speed_sentence(curve, point)))
    left, right = st.columns(2)
    with left:
        st.caption(
            say(
                "**Where the speed goes at g = {length}.** The bars add up exactly.",
                length=point.length,
            )
        )
        chart = waterfall_figure(point, view.LOSS_NAMES, is_dark())
        alt = say("From the largest speed-up to the measured one")
        show_figure(chart, "speculative_waterfall", alt)
    with right:
        st.caption(
            say(
                "**Speed-up by draft length.** Formula: E / (g c + v), from measured a, c, "
                "v. Thin lines: the slowest and the fastest single turn."
            )
        )
        chart = curve_figure(curve, is_dark())
        alt = say("Speed-up by draft length, formula and measured")
        show_figure(chart, "speculative_curve", alt)
    with st.expander(say("All figures")):
        st.html(view.speed_table(curve))
        kept = counted(len(curve.points), "length")
        st.caption(
            say(
                "{lengths}; a = {rate} over all. c: a draft pass in units of a one-token "
                "target pass. v: a checking pass in the same unit. Prefill is left out.",
                lengths=kept,
                rate=f"{curve.rate:.2f}",
            )
        )


PAGE = LabPage(
    SpeculativeLab,
    marked("Speculative decoding"),
    marked(
        "A draft proposes tokens; the target checks them in one pass and keeps its "
        "own distribution."
    ),
    _fields,
    _picture,
    lambda lab: view.notice(lab.text),
    [Experiment(marked("the speed trial"), _speed, lambda lab: look_every(lab.work))],
    staged=lambda lab: view.staged(lab.text, lab.inputs.prompt),
    slider=fields.Slider("draft_length", marked("Draft length g"), 1, 12, 1),
    unit="round",
    styles=[Path(__file__).with_suffix(".css")],
)
