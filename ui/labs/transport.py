"""Buttons of a decoder page (Play, Step, Back, Rewind), with the step page's keys, and progress."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from ui.labs.lab import Lab
from ui.labs.open_trace import trace_field
from ui.playing import Player
from ui.shell.fields import bound
from ui.words.labels import counted, markdown_text, stop_name
from ui.words.language import say


def transport(lab: Lab, unit: str = "step") -> None:
    """Draw the row of buttons; a press redraws the page.

    Args:
        lab: the lab.
        unit: the name of a step.
    """
    player, taken = lab.player, lab.text.steps if lab.text else ()
    over, busy = not player.can_go_on, player.is_busy
    with st.container(key=f"{lab.name}_transport", horizontal=True, vertical_alignment="center"):
        if player.playing:
            _button(lab, "pause", say("Pause"), player.stop, "P", primary=True)
        else:
            _button(lab, "play", say("Play"), player.play, "P", primary=True, off=over or busy)
        _button(lab, "step", say("Step"), player.step, "S", off=over or busy)
        _button(lab, "back", say("Back"), player.back, "B", off=not taken or busy)
        _button(lab, "rewind", say("Rewind"), player.rewind, "0", off=not taken or busy)
        speed_field(lab.name, player)
        st.caption(f"{counted(len(taken), unit)}{_end(lab, unit)}", width="content")
        st.download_button(
            say("Trace"),
            data=lambda: lab.text.trace().to_json() if lab.text else "",
            file_name=f"{lab.name}-trace.json",
            mime="application/json",
            key=f"{lab.name}_trace",
            on_click="ignore",
            type="tertiary",
            disabled=busy or not taken,
            help=say("Every step of this text as JSON, to look at or to repeat."),
        )
        if lab.opens:
            trace_field(lab.open_trace)
    job_state(lab.name, player)


def speed_field(name: str, player: Player) -> None:
    """Draw the choice of a playing speed.

    Args:
        name: the name of the page.
        player: the player whose speed it sets.
    """
    st.segmented_control(
        say("Speed"),
        list(player.speeds),
        format_func=say,
        default=player.speed,
        required=True,
        label_visibility="collapsed",
        **bound(f"{name}_speed", player.speed, lambda speed: setattr(player, "speed", speed)),
    )


def _end(lab: Lab, unit: str) -> str:
    """Say in a few words why the text has stopped; empty before the first step and during Play."""
    if lab.text is None or not lab.text.steps or lab.player.look_every is not None:
        return ""
    if lab.player.can_go_on:
        why = say("not at its end; Play or Step adds more")
    elif lab.text.stop_reason:
        why = say("ended: {reason}", reason=stop_name(lab.text.stop_reason))
    elif lab.player.limit is not None:
        why = say("ended: this page stops at {count}", count=counted(lab.player.limit, unit))
    else:
        why = say("ended")
    return f" · {why}"


def _button(
    lab: Lab,
    name: str,
    label: str,
    deed: Callable[[], None],
    key: str,
    *,
    primary: bool = False,
    off: bool = False,
) -> None:
    # As a callback: a press soon after this one ends the run, and with it a deed that comes later.
    if st.button(
        label,
        key=f"{lab.name}_{name}",
        type="primary" if primary else "secondary",
        disabled=off,
        shortcut=key,
        on_click=deed,
    ):
        st.rerun()


def job_state(name: str, player: Player) -> None:
    """Draw the progress of slow work, and a button to cancel it."""
    if not player.is_busy:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button(say("Cancel"), key=f"{name}_cancel", shortcut="Esc", on_click=player.cancel):
            st.rerun()
        st.progress(player.job.share, text=markdown_text(player.job.progress))
