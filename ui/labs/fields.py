"""Fields of a decoder page: each shows an input of the lab, and changes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.errors import DecodingError
from ui.labs.state import InputsState
from ui.shell.constraint_field import ConstraintField
from ui.shell.fields import bound, whole_number
from ui.shell.stage import stage_slider
from ui.texts.limits import checked_whole
from ui.words.language import say

LONGEST_LINE = 1_000  # characters of a one-line text

SEPARATOR = " | "  # between the names of one input


def _bound(
    lab: InputsState, name: str, checked: Callable[[Any], Any] = lambda typed: typed
) -> dict:
    """Return the key and callback of the field for an input.

    Args:
        lab: the state with the inputs.
        name: the name of the input.
        checked: converts typed input to a value; raises `DecodingError` to refuse it.
    """

    def take(typed: Any) -> None:
        try:
            lab.change(**{name: checked(typed)})
        except DecodingError as error:
            lab.refuse(error)

    return bound(f"{lab.name}_{name}", getattr(lab.inputs, name), take)


def row() -> DeltaGenerator:
    """Return a container that places fields side by side, as far as there is room."""
    return st.container(horizontal=True, vertical_alignment="bottom")


def prompt(
    lab: InputsState,
    examples: Mapping[str, str],
    *,
    label: str = "",
    placeholder: str = "",
    **options: Any,
) -> None:
    """Draw the prompt, and a list of examples that shows `placeholder` until one is chosen.

    Label and placeholder default to those of a prompt. Names of examples are marked.
    """
    left, right = st.columns([5, 2])
    with left:
        text(lab, "prompt", label or say("Prompt"), height=68, **options)
    with right:
        st.selectbox(
            say("Example"),
            list(examples),
            index=None,
            format_func=say,
            placeholder=placeholder or say("Choose a prompt"),
            **bound(
                f"{lab.name}_example", None, lambda name: name and lab.change(prompt=examples[name])
            ),
        )


def text(lab: InputsState, name: str, label: str, *, height: int = 68, **options: Any) -> None:
    """Draw the field for a multi-line text."""
    value = getattr(lab.inputs, name)
    st.text_area(label, value, height=height, **_bound(lab, name), **options)


def line(lab: InputsState, name: str, label: str, **options: Any) -> None:
    """Draw the field for a one-line text; its content is checked when the work begins."""
    options = {"width": 230, "max_chars": LONGEST_LINE, **options}
    st.text_input(label, getattr(lab.inputs, name), **_bound(lab, name), **options)


def whole(
    lab: InputsState,
    name: str,
    label: str,
    low: int | None = None,
    high: int | None = None,
    **options: Any,
) -> None:
    """Draw the field for a whole number in a range, by default that of the input's annotation."""

    def checked(typed: float | None) -> float | None:
        return typed if low is None else checked_whole(label, typed, low, high)

    options = {"width": 130, **options}
    whole_number(label, getattr(lab.inputs, name), **_bound(lab, name, checked), **options)


def real(
    lab: InputsState,
    name: str,
    label: str,
    *,
    step: float = 0.1,
    checked: Callable[[float], float] = float,
    **options: Any,
) -> None:
    """Draw the field for a number; `checked` refuses values that the strategy would accept."""
    options = {"width": 130, **options}

    def read(typed: float | None) -> float:
        if typed is None:
            raise DecodingError(say("{field} is empty; type a number.", field=label))
        return checked(float(typed))

    value = float(getattr(lab.inputs, name))
    st.number_input(
        label, value=value, step=step, format="%.4g", **_bound(lab, name, read), **options
    )


@dataclass(frozen=True)
class Slider:
    """The slider of an input: name, marked label, range and step, either all int or all float."""

    name: str
    label: str
    low: float
    high: float
    step: float


def slider(lab: InputsState, one: Slider) -> None:
    """Draw a slider for stage view; the input's field on the page may allow a wider range."""
    held = type(one.low)(min(max(getattr(lab.inputs, one.name), one.low), one.high))
    with stage_slider(only=True):
        st.slider(
            say(one.label),
            one.low,
            one.high,
            held,
            one.step,
            **bound(
                f"{lab.name}_stage_{one.name}", held, lambda typed: lab.change(**{one.name: typed})
            ),
        )


def choice(
    lab: InputsState,
    name: str,
    label: str,
    options: Sequence[Any] | Mapping[Any, str],
    **others: Any,
) -> None:
    """Draw a list to choose one value from; a mapping gives the page's name for each."""
    others = {"width": 200, **others}
    values = list(options)
    names = options if isinstance(options, Mapping) else {value: str(value) for value in values}
    st.selectbox(
        label,
        values,
        index=values.index(getattr(lab.inputs, name)),
        format_func=lambda value: names[value],
        **_bound(lab, name),
        **others,
    )


def constraint(lab: InputsState, *, is_optional: bool = True) -> ConstraintField:
    """Return the field for the constraint of `ConstrainableInputs`."""

    def take(language: str, source: str) -> bool:
        lab.change(language=language, source=source)
        return lab.inputs.typed == (language, source)

    return ConstraintField(lab, lab.name, lab.inputs.typed, take, is_optional)


def several(lab: InputsState, name: str, label: str, options: Sequence[str], **others: Any) -> None:
    """Draw a list to choose several names from; the input stores them as one text (`names_in`)."""
    known = [one for one in names_in(getattr(lab.inputs, name)) if one in options]
    bound_to = bound(
        f"{lab.name}_{name}",
        known,
        lambda chosen: lab.change(**{name: SEPARATOR.join(chosen)}),
    )
    st.multiselect(label, list(options), known, **bound_to, **others)


def said(names: Mapping[Any, str]) -> dict[Any, str]:
    """Translate marked names of values, for `choice`."""
    return {value: say(name) for value, name in names.items()}


def names_in(text: str) -> list[str]:
    """Return the names that `several` stores in one text."""
    return [one for one in text.split(SEPARATOR) if one]


def switch(lab: InputsState, name: str, label: str, **options: Any) -> None:
    """Draw the checkbox for a truth value."""
    st.checkbox(label, getattr(lab.inputs, name), **_bound(lab, name), **options)
