"""Unexpected errors: one sentence with a number, the same one in the log."""

import logging
import re

import pytest
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.testing.v1 import AppTest

from engine.errors import PromptError
from ui.server import problems
from ui.server.problems import AtMost, on_script_error, report

NUMBER = re.compile(r"number: (\d{5})\.$")


@pytest.fixture(autouse=True)
def nothing_known():
    problems._known.clear()


def failure(message: str = "x") -> Exception:
    try:
        raise ZeroDivisionError(message)
    except ZeroDivisionError as error:
        return error


def logged(caplog) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_the_sentence_says_what_broke_what_is_kept_and_a_number_that_the_log_has(caplog):
    said = report(failure(), "the sweep", "The texts are kept; press Continue.")
    assert said.startswith("An unexpected error interrupted the sweep. The texts are kept; press")
    number = NUMBER.search(said).group(1)
    (line,) = logged(caplog)
    assert line.startswith(f"Problem {number} interrupted the sweep\nTraceback")
    assert "ZeroDivisionError: x" in line
    assert __file__ in line


def test_an_expected_error_speaks_for_itself(caplog):
    assert report(PromptError("The prompt is empty; type one.")) == "The prompt is empty; type one."
    assert not caplog.records


def test_the_same_fault_has_one_number_and_does_not_fill_the_log(caplog):
    same = failure()
    numbers = {NUMBER.search(report(same)).group(1) for _ in range(1_000)}
    assert len(numbers) == 1
    assert [line.split("\n")[0] for line in logged(caplog)] == [
        f"Problem {(number := numbers.pop())} interrupted this page",
        *(f"Problem {number} has come {count} times" for count in ("10", "100", "1,000")),
    ]


def test_another_fault_has_another_number_and_so_has_an_old_one(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(problems.time, "monotonic", lambda: now[0])
    drawn = iter(range(100))
    monkeypatch.setattr(problems.secrets, "randbelow", lambda _: next(drawn))
    same = failure()
    assert report(same) != report(same, "the sweep")
    assert report(same) == report(same)
    before = report(same)
    now[0] = problems.SAME_SECONDS + 1
    assert report(same) != before


def test_neither_faults_nor_their_words_are_kept_without_a_bound(caplog):
    for number in range(3 * problems.MOST_KNOWN):
        report(failure("secret " * 10_000), f"work {number}")
    assert len(problems._known) == problems.MOST_KNOWN
    assert max(len(line) for text in logged(caplog) for line in text.split("\n")) <= 300

    def deep(levels: int) -> None:
        return deep(levels - 1) if levels else 1 / 0

    with pytest.raises(ZeroDivisionError) as caught:
        deep(900)
    caplog.clear()
    report(caught.value)
    assert len(logged(caplog)[0].split("\n")) < 200


def test_what_visitors_do_does_not_fill_the_log():
    record = logging.LogRecord("ui", logging.WARNING, "", 0, "Refused", (), None)
    lines = AtMost(3)
    record.created = 60.0
    assert [lines.filter(record) for _ in range(5)] == [True, True, True, False, False]
    assert "left out" in record.msg
    record.created = 120.0
    assert lines.filter(record)


# --- on a page ------------------------------------------------------------------------------------


def page() -> None:
    import streamlit as st

    from tests.engine.test_panics import PanicException
    from ui.server.problems import guarded, show_pending

    def fails() -> None:
        st.session_state["calls"] = st.session_state.get("calls", 0) + 1
        raise KeyError("x")

    def part() -> None:
        st.button("callback of a part", on_click=fails)
        if st.button("part"):
            raise KeyError("x")
        if st.button("panic"):
            raise PanicException("x")

    st.title("Title")
    show_pending()
    st.button("callback", on_click=fails)
    st.text_input("Field", key="field")
    st.fragment(guarded(part, "this part"))()
    if st.button("body"):
        raise KeyError("x")
    st.caption("The end")


@pytest.fixture
def app(monkeypatch) -> AppTest:
    begin = ScriptRunner.__init__
    monkeypatch.setattr(
        ScriptRunner,
        "__init__",
        lambda self, *args, **kwargs: begin(
            self, *args, **kwargs | {"on_script_error": on_script_error}
        ),
    )
    app = AppTest.from_function(page).run()
    app.text_input(key="field").set_value("typed").run()
    return app


def press(app: AppTest, label: str) -> None:
    next(button for button in app.button if button.label == label).click().run()


@pytest.mark.parametrize("label", ["callback", "callback of a part", "part", "body"])
def test_a_page_that_breaks_shows_the_sentence_and_stays_usable(app, label):
    press(app, label)
    assert not app.exception
    (error,) = app.error
    assert NUMBER.search(error.value)
    assert app.title[0].value == "Title"
    assert app.text_input(key="field").value == "typed"
    assert bool(app.caption) == (label != "body"), "only what comes after the fault is missing"
    if "callback" in label:
        assert app.session_state["calls"] == 1, "not called again by the drawing that shows it"
    app.text_input(key="field").set_value("more").run()
    assert not app.error
    assert app.caption
    assert app.text_input(key="field").value == "more"


def test_a_part_that_panics_leaves_the_rest(app):
    press(app, "panic")
    assert "gave up on what it was given (x)" in app.error[0].value
    assert app.caption


def test_a_page_that_breaks_each_time_still_draws_what_stands_above(app):
    for _ in range(3):
        press(app, "callback")
    assert app.session_state["calls"] == 3
    assert app.caption
    assert app.error
