"""The choice of a section: all side by side, or a list by topic where there are many."""

from __future__ import annotations

from itertools import groupby

import streamlit as st

from ui.measurements.held import Held
from ui.measurements.state import MeasurementState
from ui.models.chooser import model_chooser
from ui.skeleton.fields import bound
from ui.words.language import say


def side_by_side(state: MeasurementState) -> None:
    """All sections in a row."""
    names = {key: say(held.section.name) for key, held in state.sections.items()}
    st.segmented_control(
        say("Section"),
        list(names),
        format_func=names.get,
        default=state.chosen,
        required=True,
        label_visibility="collapsed",
        **bound(f"{state.name}_section", state.chosen, state.choose),
    )


def by_topic(state: MeasurementState) -> None:
    """A list under the headings of the topics; on a phone one field, see `page.css`."""
    held = list(state.sections.values())
    with st.container(key=f"{state.name}_list"):
        for topic, group in groupby(held, key=lambda one: one.section.topic):
            _topic(state, topic, list(group))
    with st.container(key=f"{state.name}_select"):
        names = {
            one.section.key: f"{say(one.section.topic)}: {say(one.section.name)}" for one in held
        }
        st.selectbox(
            say("Section"),
            list(names),
            index=list(names).index(state.chosen),
            format_func=names.get,
            label_visibility="collapsed",
            **bound(f"{state.name}_selected", state.chosen, state.choose),
        )


def _topic(state: MeasurementState, topic: str, group: list[Held]) -> None:
    """The sections of a topic; none is chosen where another topic has the one in sight."""
    names = {one.section.key: say(one.section.name) for one in group}
    chosen = state.chosen if state.chosen in names else None
    st.radio(
        say(topic),
        list(names),
        index=None if chosen is None else list(names).index(chosen),
        format_func=names.get,
        captions=[one.mark for one in group],  # a name that changes would lose the choice
        **bound(
            f"{state.name}_topic_{group[0].section.key}",
            chosen,
            lambda key: key and state.choose(key),
        ),
    )


def second_model(state: MeasurementState) -> None:
    """The popover that loads one, and the button that removes it."""
    with st.container(horizontal=True, vertical_alignment="center", key=f"{state.name}_second"):
        second = state.second.model if state.second is not None else None
        model_chooser(
            second,
            state.load_second,
            say("It is measured beside the first model, with the same inputs."),
            name=f"{state.name}_second_model",
            label=say("Second model"),
        )
        if second is not None:
            st.button(say("Remove it"), key=f"{state.name}_drop", on_click=state.drop_second)
