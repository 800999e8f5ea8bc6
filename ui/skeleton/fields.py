"""Fields that show what a page holds, whatever was typed into them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from engine.sampling import STAGES, SamplingSettings
from ui.words.catalogue import setting_name

_FIELDS = "fields"  # in the session's state: what is known of each field, by name


@dataclass
class _Field:
    """What is known of a field.

    Attributes:
        replaced: how often another field has taken its place.
        told: the last value of it that the page was told of.
    """

    told: object
    replaced: int = 0


def bound(name: str, held: object, take: Callable[[Any], None]) -> dict[str, Any]:
    """Key and callback of a field that always shows what the page holds.

    Streamlit forgets a field while its visitor is on another page, leaves a refused value in it,
    and loses a value that is written into its key where a second run of the script overtakes the
    first. So a field begins with what is held and tells of a change. Where it shows another value
    than that, a new field takes its place. What a replaced field still says is passed over, since
    Streamlit may report its last value once more.

    A second change within the same moment may end the callback of the first at its first word to
    Streamlit. So what the field shows is also looked at here, and taken where it was not told of.

    Args:
        name: names the field within the session.
        held: what the field is to show; the field gets it as its own first value as well.
        take: gets a value that was typed or chosen, and may refuse it.
    """
    field = st.session_state.setdefault(_FIELDS, {}).setdefault(name, _Field(held))
    number = field.replaced
    key = f"{name}_{number}"
    if key not in st.session_state:
        field.told = held
    elif st.session_state[key] != field.told:
        field.told = st.session_state[key]
        take(field.told)
        st.rerun()  # what has been drawn so far shows what was held before
    elif field.told != held:
        field.told = held
        number = field.replaced = number + 1
        key = f"{name}_{number}"

    def on_change() -> None:
        said = st.session_state[key]
        if field.replaced == number:
            field.told = said
            take(said)

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
