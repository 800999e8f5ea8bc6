"""Play, Step, Back and Rewind of a decoder page, with the step page's keys; what takes long."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from ui.labs.lab import SPEEDS, Lab
from ui.labs.opening import trace_field
from ui.skeleton.fields import bound
from ui.words.labels import counted, markdown_text, stop_name
from ui.words.language import say


def transport(lab: Lab, unit: str = "step") -> None:
    """The row of buttons; a press draws the page again.

    Args:
        lab: the lab.
        unit: what a step of it is called.
    """
    over = not lab.can_go_on
    taken = len(lab.text.steps) if lab.text else 0
    with st.container(key=f"{lab.name}_transport", horizontal=True, vertical_alignment="center"):
        if lab.playing:
            _button(lab, "pause", say("Pause"), lab.stop, "P", primary=True)
        else:
            _button(lab, "play", say("Play"), lab.play, "P", primary=True, off=over or lab.is_busy)
        _button(lab, "step", say("Step"), lab.step, "S", off=over or lab.is_busy)
        _button(lab, "back", say("Back"), lab.back, "B", off=not taken or lab.is_busy)
        _button(lab, "rewind", say("Rewind"), lab.rewind, "0", off=not taken or lab.is_busy)
        st.segmented_control(
            say("Speed"),
            list(SPEEDS),
            format_func=say,
            default=lab.speed,
            required=True,
            label_visibility="collapsed",
            **bound(f"{lab.name}_speed", lab.speed, lambda speed: setattr(lab, "speed", speed)),
        )
        st.caption(f"{counted(taken, unit)}{_end(lab, unit)}", width="content")
        st.download_button(
            say("Trace"),
            data=lambda: lab.text.trace().to_json() if lab.text else "",
            file_name=f"{lab.name}-trace.json",
            mime="application/json",
            key=f"{lab.name}_trace",
            on_click="ignore",
            type="tertiary",
            disabled=lab.is_busy or not taken,
            help=say("Every step of this text as JSON, to look at or to repeat."),
        )
        if lab.opens:
            trace_field(lab.open_trace)
    if lab.is_busy:
        _busy(lab)


def _end(lab: Lab, unit: str) -> str:
    """The reason why the text does not grow, in a few words; empty before its first step."""
    if lab.text is None or not lab.text.steps or lab.look_every is not None:
        return ""
    if lab.can_go_on:
        why = say("not at its end; Play or Step adds more")
    elif lab.text.stop_reason:
        why = say("ended: {reason}", reason=stop_name(lab.text.stop_reason))
    elif lab.limit is not None:
        why = say("ended: this page goes to {count}", count=counted(lab.limit, unit))
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
    if st.button(
        label,
        key=f"{lab.name}_{name}",
        type="primary" if primary else "secondary",
        disabled=off,
        shortcut=key,
    ):
        deed()
        st.rerun()


def _busy(lab: Lab) -> None:
    """Progress of what takes long, and Cancel."""
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button(say("Cancel"), key=f"{lab.name}_cancel", shortcut="Esc"):
            lab.cancel()
            st.rerun()
        st.progress(lab.task.share, text=markdown_text(lab.task.progress))
