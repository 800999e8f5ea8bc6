"""Fields that always show the state of a page, whatever was typed. This does not import PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from engine.errors import msg
from ui.visits.tab import visit_or_reason

LONGEST = 65_536  # characters of any field; longer input is not kept, not even as refused
_FIELDS = "fields"  # in the session's state: the record of each field, by name


@dataclass
class _Field:
    """The state kept for a field.

    Attributes:
        replaced: how often a new field has taken its place.
        told: its last value that the page was told of.
    """

    told: object
    replaced: int = 0


def bound(name: str, held: object, take: Callable[[Any], None]) -> dict[str, Any]:
    """Key and callback of a field that always shows the page's value.

    Streamlit forgets a field while its visitor is on another page, and leaves a refused value in
    it. It also loses a value written into the field's key if a second run of the script overtakes
    the first. So a field begins with the held value and reports changes. If it shows a different
    value, a new field takes its place. Further reports of a replaced field are ignored, since
    Streamlit may report its last value once more.

    A second change within the same moment may end the callback of the first at its first call to
    Streamlit. So this function also checks the field's value, and takes it if it was not reported.

    Args:
        name: the name of the field within the session.
        held: the value to show; the field also gets it as its own first value.
        take: gets a value that was typed or chosen, and may refuse it.
    """

    def taken(said: Any) -> None:
        if isinstance(said, str) and len(said) > LONGEST:
            _refuse(len(said))
        else:
            take(said)

    field = st.session_state.setdefault(_FIELDS, {}).setdefault(name, _Field(held))
    number = field.replaced
    key = f"{name}_{number}"
    if key not in st.session_state:
        field.told = held
    elif st.session_state[key] != field.told:
        field.told = st.session_state[key]
        taken(field.told)
        st.rerun()  # the drawing so far shows the old value
    elif field.told != held:
        field.told = held
        number = field.replaced = number + 1
        key = f"{name}_{number}"

    def on_change() -> None:
        said = st.session_state[key]
        if field.replaced == number:
            field.told = said
            taken(said)

    return {"key": key, "on_change": on_change}


def _refuse(length: int) -> None:
    visit, _ = visit_or_reason()
    if visit is not None:
        visit.notices.append(
            msg(
                "The text has {count:,} characters, and a field takes at most {most:,}; the "
                "previous text is kept.",
                (length, LONGEST),
            )
        )


def whole_number(label: str, value: int, **options: Any) -> float | None:
    """A field for a whole number that passes on whatever was typed: see `limits.checked_whole`.

    Streamlit silently keeps back a number beyond the bounds that it knows, showing only a red
    frame, and turns 2.5 into 2.
    """
    return st.number_input(label, value=float(value), step=1.0, format="%g", **options)
