"""Fields that always show the state of a page, whatever was typed. It does not import PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from engine.errors import msg
from ui.visits.tab import visit_or_reason

LONGEST = 65_536  # characters of any field; longer input is discarded
_FIELDS = "fields"  # in the session's state: the record of each field, by name


@dataclass
class _Field:
    """The state kept for a field.

    Attributes:
        replaced: number of times that a new field has replaced it.
        told: the last value that it has reported to the page, or received from it.
    """

    told: object
    replaced: int = 0


def bound(name: str, held: object, take: Callable[[Any], None]) -> dict[str, Any]:
    """Return the key and callback of a field that always shows the page's value.

    Streamlit forgets a field while its visitor is on another page, and leaves a refused value in
    it. It also loses a value written into the field's key if a second run of the script overtakes
    the first. So a field begins with the page's value and reports changes. If it shows a different
    value, a new field replaces it. Further reports of a replaced field are ignored, since
    Streamlit may report its last value once more.

    A second change right after the first may end the first one's callback at its first call to
    Streamlit. So this function also checks the field's value, and reports it if that is missing.

    Args:
        name: the name of the field within the session.
        held: the page's value; also pass it to the field as the initial value.
        take: called with a value that was typed or chosen, and may refuse it.
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
        st.rerun()  # what is drawn so far shows the old value
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
    """Draw a field for a whole number that passes on any number, for `limits.checked_whole`.

    With bounds, Streamlit would silently withhold a number outside them, showing only a red frame.
    As an integer field, it would turn 2.5 into 2.
    """
    return st.number_input(label, value=float(value), step=1.0, format="%g", **options)
