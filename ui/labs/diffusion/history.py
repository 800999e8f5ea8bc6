"""Charts of the canvas's steps: confidence, one distribution, order, positions per step.

Streamlit replaces every chart that changes, which causes flicker. So these charts are separate from
the tiles, and are not updated while the text is playing.
"""

from __future__ import annotations

import math

import numpy as np
import streamlit as st

from engine.sampling import Distribution
from engine.study import confidence_map, gap_positions, order_of, positions_per_step
from engine.trace import DiffusionStep
from ui.charts.figure import show_figure
from ui.labs.diffusion.charts import (
    COMMITTED_MARK,
    REMASKED_MARK,
    Bars,
    ConfidenceMap,
    can_be_clicked,
    confidence_figure,
    counts_figure,
    distribution_figure,
    order_figure,
)
from ui.labs.diffusion.lab import DiffusionLab
from ui.labs.diffusion.picture import percent, token
from ui.shell.fields import bound
from ui.shell.theme import is_dark
from ui.words.labels import with_minus
from ui.words.language import marked, say

NAMED = 10  # tokens of a distribution that have their own bar


def history(lab: DiffusionLab) -> None:
    """Draw all charts of the history."""
    if lab.has_looked:
        lab.has_looked = False
        st.rerun()  # the tiles show the choice made here
    if lab.text is None or not lab.text.steps:
        return
    if lab.player.is_growing:
        st.caption(say("The charts follow once it stops growing."))
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _map(lab)
    with right:
        _distribution(lab)
    left, right = st.columns(2, gap="medium")
    with left:
        _order(lab)
    with right:
        _counts(lab)


def _map(lab: DiffusionLab) -> None:
    steps = lab.text.steps
    gaps = gap_positions(steps)
    marks = [
        dict.fromkeys(step.unmasked, COMMITTED_MARK) | dict.fromkeys(step.remasked, REMASKED_MARK)
        for step in steps
    ]
    is_clicked = can_be_clicked(len(gaps), len(steps))
    names = [
        {place: token(lab, _predicted_or_standing(step, place)) for place in gaps}
        for step in (steps if is_clicked else ())
    ]
    shown = ConfidenceMap(gaps, names, confidence_map(steps), marks, len(lab.text.schedule))
    st.subheader(say("Confidence by position and step"), anchor=False)
    show_figure(
        confidence_figure(shown, (lab.shown_position, lab.shown_steps), is_dark()),
        "diffusion_map",
        say("Heat map of the model's confidence by position and step"),
        on_point=lambda cell: lab.look_at(position=int(cell[0]), steps=int(cell[1])),
    )
    said = say(
        "{committed} committed, {again} masked again. Confidence is the model's own "
        "probability of the predicted or existing token. Training asks for predictions at "
        "masks only, so for an existing token it is just a hint.",
        committed=COMMITTED_MARK,
        again=REMASKED_MARK,
    )
    if is_clicked:
        said += " " + say("Click a cell to look at it.")
    st.caption(said)


def _predicted_or_standing(step: DiffusionStep, place: int) -> int:
    predicted = step.predicted[place]
    return step.ids_before[place] if predicted is None else predicted


def _distribution(lab: DiffusionLab) -> None:
    step = lab.shown
    gaps = list(gap_positions(lab.text.steps))
    place = lab.shown_position
    st.subheader(say("What the model said at one position"), anchor=False)
    st.selectbox(
        say("Position"),
        gaps,
        gaps.index(place),
        format_func=lambda one: f"{one}: {_name(lab, step, one)}",
        **bound("diffusion_position", place, lambda one: lab.look_at(position=one)),
    )
    if lab.player.is_busy:
        st.caption(say("A step is being taken."))
        return
    found = lab.text.distribution(step.index, place)
    was_masked = step.predicted[place] is not None
    token_id = _predicted_or_standing(step, place)
    bars = _bars(lab, found, token_id)
    alt = say("Leading tokens at position {place}", place=place)
    show_figure(distribution_figure(bars, is_dark()), "diffusion_distribution", alt)
    words = (
        marked(
            "Step {step}, before it changed the canvas. ◆ is the token drawn, with {share}. "
            "Probabilities at temperature 1, over all {count} tokens that a text may contain."
        )
        if was_masked
        else marked(
            "Step {step}, before it changed the canvas. ◆ is the token in place, with "
            "{share}. Probabilities at temperature 1, over all {count} tokens that a text "
            "may contain."
        )
    )
    st.caption(
        say(
            words,
            step=step.index + 1,
            share=percent(math.exp(found.raw.logprob(token_id))),
            count=f"{found.raw.count:,}",
        )
    )


def _name(lab: DiffusionLab, step: DiffusionStep, place: int) -> str:
    predicted = step.predicted[place]
    if predicted is None:
        return token(lab, step.ids_before[place])
    return say("░, predicted {token}", token=token(lab, predicted))


def _bars(lab: DiffusionLab, found: Distribution, token_id: int) -> Bars:
    row = found.raw
    row.sort_to_depth(NAMED)
    ids = row.ids[:NAMED].tolist()
    shares = (row.weights[:NAMED] / row.total).tolist()
    return Bars(
        [token(lab, one) for one in ids],
        shares,
        max(0.0, 1.0 - float(np.sum(shares))),
        row.count - len(ids),
        ids.index(token_id) if token_id in ids else None,
    )


def _order(lab: DiffusionLab) -> None:
    order = order_of(lab.text.steps[: lab.shown_steps])
    st.subheader(say("Order of generation"), anchor=False)
    names = [token(lab, lab.shown_ids[place]) for place in order.positions]
    show_figure(
        order_figure(order, names, gap_positions(lab.text.steps), is_dark()),
        "diffusion_order",
        say("The step that committed each position"),
    )
    tau = say("not defined yet") if math.isnan(order.tau) else with_minus(f"{order.tau:.2f}")
    st.caption(
        say(
            "Agreement with left to right (Kendall's tau-b): **{tau}**. 1 is left to right, −1 "
            "right to left; positions of one step are ties.",
            tau=tau,
        )
    )


def _counts(lab: DiffusionLab) -> None:
    counts = positions_per_step(lab.text.steps)
    st.subheader(say("Positions per step"), anchor=False)
    alt = say("Positions committed and masked again by each step")
    show_figure(counts_figure(counts, is_dark()), "diffusion_counts", alt)
    committed, again = (
        sum(getattr(one, name) for one in counts) for name in ("committed", "remasked")
    )
    st.caption(
        say(
            "{committed} committed per pass, {again} masked again in all. An autoregressive model "
            "commits 1 per pass.",
            committed=f"{committed / len(counts):.2g}",
            again=f"{again:,}",
        )
    )
