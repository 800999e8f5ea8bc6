"""The canvas as it stands at one step: a tile for every position, and the scrubber."""

from __future__ import annotations

from html import escape

import streamlit as st

from engine.study.generation_order import (
    COMMITTED,
    GIVEN,
    MASKED,
    NEW,
    REMASKED,
    gap_positions,
    states,
)
from engine.trace import DiffusionStep
from ui.labs.diffusion.lab import DiffusionLab
from ui.labs.diffusion.notice import percent, token
from ui.skeleton.fields import bound
from ui.skeleton.stage import stage_slider
from ui.skeleton.tables import escaped
from ui.words.language import localised, marked, say

_STATES = {
    MASKED: marked("masked"),
    NEW: marked("new"),
    COMMITTED: marked("committed"),
    REMASKED: marked("re-masked"),
}
SIGNS = {MASKED: "░", NEW: "●", COMMITTED: "■", REMASKED: "↺"}


def picture(lab: DiffusionLab) -> None:
    """Draw it."""
    if lab.has_looked:
        lab.has_looked = False
        st.rerun()  # the experiments are of the canvas that is shown, too
    with stage_slider():
        _scrubber(lab)
    st.html(canvas(lab))


def canvas(lab: DiffusionLab, *, is_short: bool = False) -> str:
    """The canvas with what its tiles mean.

    Args:
        lab: whose.
        is_short: whether a tile tells its state by the sign alone.
    """
    tiles = _tiles(lab, is_short) if lab.text.steps else _tiles_before(lab, is_short)
    return _legend() + f'<div class="dv-canvas">{tiles}</div>'


def _scrubber(lab: DiffusionLab) -> None:
    taken = len(lab.text.steps)
    if taken < 2:  # there is nothing to choose yet; the place is kept, so that nothing moves
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
    # A masked tile shows what was predicted and not kept; a re-masked one what stood there.
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
