"""What the fields of several pages share."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from engine.sampling import STAGES, SamplingSettings
from ui.words.labels import setting_name


def is_dark() -> bool:
    """Whether this visitor sees the dark theme, for charts."""
    return st.context.theme.type == "dark"


def whole_number(
    label: str,
    value: int,
    *,
    key: str,
    on_change: Callable[..., None] | None = None,
    args: tuple = (),
    width: int | str = "stretch",
    disabled: bool = False,
    persist_state: str | None = None,
    help: str | None = None,
) -> float | None:
    """A field for a whole number that says whatever is typed into it: see `limits.checked_whole`.

    Streamlit keeps a number beyond the bounds that it knows to itself, with no word but a red
    frame, and makes 2.5 a 2.
    """
    return st.number_input(
        label,
        value=float(value),
        step=1.0,
        format="%g",
        key=key,
        on_change=on_change,
        args=args,
        width=width,
        disabled=disabled,
        persist_state=persist_state,
        help=help,
    )


def stage_number(
    name: str,
    settings: SamplingSettings,
    *,
    key: str,
    on_change: Callable[..., None],
    args: tuple,
    disabled: bool = False,
) -> None:
    """The field of a stage that is one number."""
    off = STAGES[name].off
    is_whole = isinstance(off, int)
    value = getattr(settings, name)
    if value is not None:
        value = int(value) if is_whole else float(value)
    st.number_input(
        setting_name(name),
        value=value,
        step=1 if is_whole else 0.05,
        format="%d" if is_whole else "%.4g",
        help="empty switches it off" if off is None else f"{off} switches it off",
        key=key,
        on_change=on_change,
        args=args,
        disabled=disabled,
    )
