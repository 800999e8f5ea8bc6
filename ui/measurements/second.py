"""The choice of a second model, which is measured beside the first."""

from __future__ import annotations

import streamlit as st

from ui.measurements.state import MeasurementState
from ui.models.chooser import model_chooser
from ui.words.language import say


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
