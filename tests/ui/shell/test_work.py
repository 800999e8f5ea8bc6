"""A fragment with a clock, and the redrawing of the whole page."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.tab import PATIENCE_S


def page():
    import streamlit as st

    from ui.shell.work import watching

    due = st.session_state["due"]  # the clock that is due, at each request
    st.session_state["drawings"] += 1
    watching(lambda: None, lambda: due.pop(0) if len(due) > 1 else due[0])()


@pytest.mark.parametrize(
    ("due", "drawings"),
    [
        ([0.5], 1),
        pytest.param([0.5, None], 2, id="ended between setting the clock and drawing"),
        pytest.param([None, 0.5], 2, id="begun by drawing"),
        pytest.param([1.0, 0.2], 2, id="another speed"),
    ],
)
def test_page_is_redrawn_when_its_clock_changes(due, drawings):
    app = AppTest.from_function(page, default_timeout=PATIENCE_S)
    app.session_state["due"], app.session_state["drawings"] = due, 0
    app.run()
    assert not app.exception
    assert app.session_state["drawings"] == drawings
