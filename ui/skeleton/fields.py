"""Fields that show what a page holds, whatever was typed into them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from engine.sampling import STAGES, SamplingSettings
from ui.words.catalogue import setting_name

_ROUNDS = "field_rounds"  # in the session's state: by name, how often a field has been replaced


def is_dark() -> bool:
    """Whether this visitor sees the dark theme, for charts."""
    return st.context.theme.type == "dark"


def bound(name: str, held: object, take: Callable[[Any], None]) -> dict[str, Any]:
    """Key and callback of a field that always shows what the page holds.

    Streamlit forgets a field while its visitor is on another page, leaves a refused value in it,
    and loses a value that is written into its key where a second run of the script overtakes the
    first. So a field begins with what is held and tells of a change. Where it shows another value
    than that, a new field takes its place. What a replaced field still says is passed over, since
    Streamlit may report its last value once more.

    Args:
        name: names the field within the session.
        held: what the field is to show; the field gets it as its own first value as well.
        take: gets a value that was typed or chosen, and may refuse it.
    """
    rounds = st.session_state.setdefault(_ROUNDS, {})
    number = rounds.get(name, 0)
    if st.session_state.get(f"{name}_{number}", held) != held:
        number = rounds[name] = number + 1
    key = f"{name}_{number}"

    def on_change() -> None:
        if rounds.get(name, 0) == number:
            take(st.session_state[key])

    return {"key": key, "on_change": on_change}


def whole_number(label: str, value: int, **options: Any) -> float | None:
    """A field for a whole number that gives whatever was typed: see `limits.checked_whole`.

    Streamlit keeps a number beyond the bounds that it knows to itself, with no word but a red
    frame, and makes 2.5 a 2.
    """
    return st.number_input(label, value=float(value), step=1.0, format="%g", **options)


def sampler_number(
    name: str,
    settings: SamplingSettings,
    take: Callable[[str, float | None], None],
    *,
    key: str,
    disabled: bool = False,
) -> None:
    """The field of a sampler that is one number; `take` gets the sampler's name and the number."""
    off = STAGES[name].off
    is_whole = isinstance(off, int)
    value = getattr(settings, name)
    if value is not None:
        value = int(value) if is_whole else float(value)
    switch = "Empty" if off is None else f"{off:g}"
    st.number_input(
        setting_name(name),
        value=value,
        step=1 if is_whole else 0.05,
        format="%d" if is_whole else "%.4g",
        help=f"{STAGES[name].info.about} {switch} switches it off.",
        disabled=disabled,
        **bound(f"{key}_{name}", value, lambda typed: take(name, typed)),
    )
