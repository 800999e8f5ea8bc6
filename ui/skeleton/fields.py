"""Fields that show what a page holds, whatever was typed into them. This imports no PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from engine.errors import msg
from ui.visits.tab import visit_or_reason

LONGEST = 65_536  # characters of any field: what is refused is not kept at any length either
_FIELDS = "fields"  # in the session's state: what is known of each field, by name


@dataclass
class _Field:
    """The state kept for a field.

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
        st.rerun()  # what has been drawn so far shows what was held before
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
                "The text has {count:,} characters, and a field takes at most {most:,}; what was "
                "there before stays.",
                (length, LONGEST),
            )
        )


def whole_number(label: str, value: int, **options: Any) -> float | None:
    """A field for a whole number that gives whatever was typed: see `limits.checked_whole`.

    Streamlit keeps a number beyond the bounds that it knows to itself, with no word but a red
    frame, and makes 2.5 a 2.
    """
    return st.number_input(label, value=float(value), step=1.0, format="%g", **options)
