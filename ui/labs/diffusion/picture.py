"""The canvas after one step: a tile for every position, and the scrubber."""

from __future__ import annotations

import math
from html import escape

import streamlit as st

from engine.study import COMMITTED, GIVEN, MASKED, NEW, REMASKED, gap_positions, order_of, states
from engine.trace import DiffusionStep
from ui.labs.diffusion.lab import DiffusionLab
from ui.shell.fields import bound
from ui.shell.stage import stage_slider
from ui.shell.tables import escaped
from ui.words.labels import counted, token_label
from ui.words.labels import with_minus as minus
from ui.words.language import localised, marked, say

_MASKED_AGAIN = marked(
    "“{token}” at position {place} is masked again: {then} when it was committed, {now} now."
)
_STAYS = marked(
    "The model doubts “{token}” at position {place}: {then} when it was committed, {now} now; with "
    "re-masking at 0 it stays."
)
_HELD = marked(
    "The model doubts “{token}” at position {place}: {then} when it was committed, {now} "
    "now; it kept its place."
)
_KEEPS_ALL = marked(
    "The model doubts “{token}” at position {place}: {then} when it was committed, {now} now; the "
    "last step keeps all."
)
_NO_DIRECTION = marked(
    "The order follows no direction: Kendall's tau, its agreement with left to right, is {tau}, "
    "where 1 is the same order and −1 the reverse."
)
_MOSTLY_RIGHT = marked(
    "The order goes mostly from left to right: Kendall's tau, its agreement with that, is {tau} of "
    "1."
)
_MOSTLY_LEFT = marked(
    "The order goes mostly from right to left: Kendall's tau, its agreement with left to right, is "
    "{tau}, where −1 is the reverse."
)
_RIGHT = marked(
    "The order goes strictly from left to right: Kendall's tau, its agreement with that, is {tau}."
)
_LEFT = marked(
    "The order goes from right to left: Kendall's tau, its agreement with left to right, is {tau}."
)
DOUBT = 0.2  # a present token with a lower probability under the model gets a remark


def percent(share: float) -> str:
    """Format a probability: ``83 %``, ``<1 %``."""
    if 0 < share < 0.01:
        return "<1 %"
    return f"{100 * share:.0f} %"


def token(lab: DiffusionLab, token_id: int) -> str:
    """Return the label of a token."""
    return token_label(lab.text.model.vocabulary.label(token_id))


def notice(lab: DiffusionLab) -> str:
    """Say what to notice in the canvas shown."""
    step = lab.shown
    if step is None:
        return say("Nothing is filled yet: move the scrubber to the first step.")
    done = lab.text.steps[: lab.shown_steps]
    return f"{_step(lab, step)} {_doubt(lab, done)}{_order(done)}"


def _step(lab: DiffusionLab, step: DiffusionStep) -> str:
    return say(
        "One pass predicted {masks} and committed {count}; {left} remain.",
        masks=counted(len(step.predicted_at), "mask"),
        count=len(step.unmasked),
        left=counted(len(step.masked), "mask"),
    )


def _doubt(lab: DiffusionLab, done: list[DiffusionStep]) -> str:
    """Name the committed token that the model now doubts most, even if it was not masked again."""
    step = done[-1]
    if not step.committed_confidence:
        return ""
    standing = {
        place: value for place, value in enumerate(step.committed_confidence) if value is not None
    }
    places = step.remasked or [place for place, value in standing.items() if value < DOUBT]
    if not places:
        return ""
    place = min(places, key=standing.__getitem__)
    before = _confidence_then(done, place)
    if place in step.remasked:
        words = _MASKED_AGAIN
    elif not lab.text.settings.eta:
        words = _STAYS
    else:
        words = _HELD if step.masked else _KEEPS_ALL
    said = say(
        words,
        token=token(lab, step.ids_before[place]),
        place=place,
        then=percent(before),
        now=percent(standing[place]),
    )
    return f"{said} "


def _confidence_then(done: list[DiffusionStep], place: int) -> float:
    """Return the confidence with which the token at a position was committed."""
    return next(step.confidence[place] for step in reversed(done) if place in step.unmasked)


def _order(done: list[DiffusionStep]) -> str:
    tau = order_of(done).tau
    if math.isnan(tau):
        return ""
    words = _NO_DIRECTION
    if abs(tau) >= 0.3:
        words = _MOSTLY_RIGHT if tau > 0 else _MOSTLY_LEFT
    if abs(tau) == 1:
        words = _RIGHT if tau > 0 else _LEFT
    return say(words, tau=minus(f"{tau:.2f}"))


_STATES = {
    MASKED: marked("masked"),
    NEW: marked("new"),
    COMMITTED: marked("committed"),
    REMASKED: marked("re-masked"),
}
SIGNS = {MASKED: "░", NEW: "●", COMMITTED: "■", REMASKED: "↺"}


def picture(lab: DiffusionLab) -> None:
    """Draw the scrubber and the canvas."""
    if lab.has_looked:
        lab.has_looked = False
        st.rerun()  # the experiments use the canvas on screen, so they change too
    with stage_slider():
        _scrubber(lab)
    st.html(canvas(lab))


def canvas(lab: DiffusionLab, *, is_short: bool = False) -> str:
    """Format the canvas as tiles, with a legend.

    Args:
        lab: the lab.
        is_short: whether a tile shows its state by a sign alone.
    """
    tiles = _tiles(lab, is_short) if lab.text.steps else _tiles_before(lab, is_short)
    return _legend() + f'<div class="dv-canvas">{tiles}</div>'


def _scrubber(lab: DiffusionLab) -> None:
    taken = len(lab.text.steps)
    if taken < 2:  # nothing to choose yet; a disabled slider keeps the layout steady
        st.slider(say("Canvas after step"), 0, 1, taken, disabled=True)
        return
    st.slider(
        say("Canvas after step"),
        1,
        taken,
        lab.shown_steps,
        **bound("diffusion_scrubber", lab.shown_steps, lambda steps: lab.look_at(steps=steps)),
    )


# --- tiles ----------------------------------------------------------------------------------------


def _legend() -> str:
    words = {
        MASKED: marked("masked: the prediction was not kept"),
        NEW: marked("new: committed in this step"),
        COMMITTED: marked("committed earlier"),
        REMASKED: marked("re-masked in this step"),
    }
    items = "".join(
        f'<span class="dv-{name}"><b>{SIGNS[name]}</b> {say(text)}</span>'
        for name, text in words.items()
    )
    return f'<p class="dv-canvas-legend">{items}</p>'


def _tiles(lab: DiffusionLab, is_short: bool) -> str:
    step = lab.shown
    gaps = gap_positions(lab.text.steps)
    return _joined(
        [_tile(lab, step, place, state, is_short) for place, state in enumerate(states(step, gaps))]
    )


def _tiles_before(lab: DiffusionLab, is_short: bool) -> str:
    mask = lab.text.model.mask_id
    return _joined(
        [
            _masked_tile(place, is_short) if token_id == mask else _given(lab, token_id)
            for place, token_id in enumerate(lab.text.canvas)
        ]
    )


def _joined(tiles: list[str]) -> str:
    name = say("Canvas, position by position")
    return f'<ol aria-label="{name}">{"".join(tiles)}</ol>'


def _given(lab: DiffusionLab, token_id: int) -> str:
    return f'<li class="dv-{GIVEN}"><span>{escaped(token(lab, token_id))}</span></li>'


def _masked_tile(place: int, is_short: bool) -> str:
    state = _state(MASKED, is_short)
    return f'<li class="dv-{MASKED}"><small>{place}</small><span>░</span><i>{state}</i></li>'


def _state(state: str, is_short: bool) -> str:
    return SIGNS[state] if is_short else f"{SIGNS[state]} {say(_STATES[state])}"


def _tile(lab: DiffusionLab, step: DiffusionStep, place: int, state: str, is_short: bool) -> str:
    if state == GIVEN:
        return _given(lab, step.ids_after[place])
    # A masked tile shows the prediction that was not committed; a re-masked one its former token.
    token_id = {MASKED: step.predicted[place], REMASKED: step.ids_before[place]}.get(
        state, step.ids_after[place]
    )
    standing = step.committed_confidence[place] if step.committed_confidence else None
    share = step.confidence[place] if standing is None else standing
    figure = "" if share is None else f" {localised(percent(share))}"
    return (
        f'<li class="dv-{state}"><small>{place}</small>'
        f"<span>{escaped(token(lab, token_id))}</span>"
        f"<i>{_state(state, is_short)}{escape(figure)}</i></li>"
    )
