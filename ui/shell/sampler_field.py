"""The field for a sampler that has one number."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from engine.sampling import STAGES, SamplingSettings
from ui.shell.fields import bound
from ui.words.catalogue import setting_name
from ui.words.language import say


def sampler_number(
    name: str,
    settings: SamplingSettings,
    take: Callable[[str, float | None], None],
    *,
    key: str,
    disabled: bool = False,
) -> None:
    """Draw the field for a one-number sampler; calls `take` with its name and the number."""
    off = STAGES[name].off
    is_whole = isinstance(off, int)
    value = getattr(settings, name)
    if value is not None:
        value = int(value) if is_whole else float(value)
    about = say(STAGES[name].info.about)
    if off is None:
        switch = say("Leave empty to disable.")
    else:
        switch = say("{value} switches it off.", value=f"{off:g}")
    st.number_input(
        setting_name(name),
        value=value,
        step=1 if is_whole else 0.05,
        format="%d" if is_whole else "%.4g",
        help=f"{about} {switch}",
        disabled=disabled,
        **bound(f"{key}_{name}", value, lambda typed: take(name, typed)),
    )
