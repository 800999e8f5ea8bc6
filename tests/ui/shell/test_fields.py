"""Fields show the page's own values, whatever was typed into them."""

import sys

import pytest
import streamlit as st
from streamlit.runtime.scriptrunner import RerunData, RerunException
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.testing.v1 import AppTest

from tests.pages.tab import PATIENCE_S
from ui.shell import fields
from ui.visits.visits import Visit


def page() -> None:
    import streamlit as st

    from ui.shell.fields import bound, whole_number

    held = st.session_state.setdefault("held", {"number": 3, "taken": []})

    def take(typed: float | None) -> None:
        held["taken"].append(typed)
        if typed is not None and typed >= 0:
            held["number"] = int(typed)

    if not st.session_state.get("elsewhere"):
        whole_number("Number", held["number"], **bound("number", held["number"], take))


@pytest.fixture
def app() -> AppTest:
    return AppTest.from_function(page, default_timeout=PATIENCE_S).run()


def number(app: AppTest):
    (found,) = app.number_input
    return found


def held(app: AppTest) -> dict:
    return app.session_state["held"]


@pytest.mark.parametrize("refused", [-1, None])
def test_refused_value_is_reset_every_time(app, refused):
    for _ in range(2):
        number(app).set_value(refused).run()
        assert (held(app)["number"], number(app).value) == (3, 3)


def test_overlong_text_never_reaches_the_page(monkeypatch):
    taken, visit = [], Visit("ab" * 16)
    monkeypatch.setattr(fields, "visit_or_reason", lambda: (visit, ""))
    field = fields.bound("text", "held", taken.append)
    for length in (fields.LONGEST + 1, fields.LONGEST):
        st.session_state[field["key"]] = "x" * length
        field["on_change"]()
    assert list(map(len, taken)) == [fields.LONGEST]
    assert len(visit.notices) == 1 and "65,537" in visit.notices[0]


def test_field_takes_and_follows_the_page_value(app):
    key = number(app).key
    number(app).set_value(7).run()
    assert (held(app)["number"], number(app).value, number(app).key) == (7, 7, key)
    held(app)["number"] = 12
    assert number(app.run()).value == 12
    number(app).set_value(13).run()
    assert held(app)["number"] == 13
    for elsewhere in (True, False):
        app.session_state["elsewhere"] = elsewhere
        app.run()
    assert number(app).value == 13, "after a visit to another page"


def test_replaced_field_is_ignored(monkeypatch):
    monkeypatch.setattr(fields.st, "session_state", state := {})
    taken = []
    replaced = fields.bound("number", 3, taken.append)
    state[replaced["key"]] = 3
    fields.bound("number", 5, taken.append)
    placed = fields.bound("number", 5, taken.append)
    assert placed["key"] != replaced["key"]
    state[replaced["key"]] = 99
    replaced["on_change"]()
    assert taken == []
    state[placed["key"]] = 4
    placed["on_change"]()
    assert taken == [4]


@pytest.mark.parametrize("typed", [7, -1])
def test_value_is_taken_after_interrupted_callback(app, monkeypatch, typed):
    """The next change may arrive while Streamlit reports this one."""
    cuts = []

    def cut(state: SafeSessionState, key: str) -> object:
        if sys._getframe(2).f_code.co_name == "on_change" and not cuts:
            cuts.append(key)
            raise RerunException(RerunData())
        return read(state, key)

    read = SafeSessionState.__getitem__
    monkeypatch.setattr(SafeSessionState, "__getitem__", cut)
    key = number(app).key
    number(app).set_value(typed).run()
    assert cuts == [key] and held(app)["taken"] == [typed]
    assert number(app).value == held(app)["number"] == (typed if typed >= 0 else 3)
    number(app).set_value(8).run()
    assert held(app)["taken"] == [typed, 8]
