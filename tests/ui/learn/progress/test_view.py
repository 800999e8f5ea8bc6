"""Progress on a page: the worth of each entry, the place of storage, and deletion."""

import secrets

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.tab import PATIENCE_S, new_tab
from tests.ui.learn.progress.entries import answer, one_of_each
from ui.learn.progress.progress import Progress
from ui.learn.progress.store import STORE
from ui.visits.tab import TAB


def script() -> None:
    from ui.learn.page import draw_progress

    draw_progress()


@pytest.fixture
def person() -> str:
    return secrets.token_hex(16)


@pytest.fixture
def app(person) -> AppTest:
    app = AppTest.from_function(script, default_timeout=PATIENCE_S)
    app.session_state[TAB] = new_tab() | {"person": person}
    return app


def said(app: AppTest) -> str:
    assert not app.exception
    return "\n".join(one.value for one in (*app.markdown, *app.caption, *app.info, *app.warning))


def test_page_shows_points_badges_and_storage(app, person):
    assert "0 points" in said(app.run())
    STORE.add(person, *one_of_each())
    shown = said(app.run())
    assert "**27.4 points:** 10 for 1 task" in shown and "right in 100 % of 1 answer." in shown
    assert "ends with the app" in shown, "tests keep nothing on disk"
    assert "Missing: 9 tasks" in shown
    (forget,) = [button for button in app.button if button.label == "Forget everything"]
    forget.click().run()
    assert "Your progress is deleted." in said(app)
    assert len(STORE.of(person)) == 0


def handing() -> None:
    """Draw the page with a file handed over."""
    import streamlit as st

    from ui.learn.page import draw_progress
    from ui.learn.progress.view import _take

    _take(st.session_state.handed)
    draw_progress()


def test_good_file_is_merged_and_bad_one_refused(person):
    STORE.add(person, *one_of_each())
    more = Progress.of([*one_of_each(), answer("other")]).exported()
    for text, sentence in ((more, "New entries: 1."), ("{", "This file is not JSON")):
        app = AppTest.from_function(handing, default_timeout=PATIENCE_S)
        app.session_state[TAB] = new_tab() | {"person": person}
        app.session_state["handed"] = text
        app.run()
        assert not app.exception
        assert sentence in "\n".join(one.value for one in (*app.info, *app.error))
    assert len(STORE.of(person)) == 5


def test_page_warns_when_browser_keeps_nothing():
    app = AppTest.from_function(script, default_timeout=PATIENCE_S)
    app.session_state[TAB] = new_tab() | {"person": ""}
    assert "This browser keeps nothing" in said(app.run())
