"""Unexpected errors: one sentence with a number, the same one in the log."""

import logging
import re

import pytest
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.testing.v1 import AppTest

from engine.errors import PromptError
from tests.pages.tab import PATIENCE_S
from ui.server import problems
from ui.server.problems import AtMost, on_script_error, report

NUMBER = re.compile(r"this number to the person who runs this app: (\d{5})\.$")


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


def test_failure_names_part_and_log_number(caplog):
    said = report(failure(), "the sweep", "The texts are kept; press Continue.")
    assert said.startswith("An unexpected error interrupted the sweep. The texts are kept; press")
    number = NUMBER.search(said).group(1)
    (line,) = logged(caplog)
    assert line.startswith(f"Problem {number} interrupted the sweep\nTraceback")
    assert "ZeroDivisionError: x" in line
    assert __file__ in line


def test_expected_error_is_reported_without_logging(caplog):
    assert report(PromptError("The prompt is empty; type one.")) == "The prompt is empty; type one."
    assert not caplog.records


def test_repeated_fault_keeps_one_number_in_the_log(caplog):
    same = failure()
    numbers = {NUMBER.search(report(same)).group(1) for _ in range(1_000)}
    assert len(numbers) == 1
    assert [line.split("\n")[0] for line in logged(caplog)] == [
        f"Problem {(number := numbers.pop())} interrupted this page",
        *(f"Problem {number} has come {count} times" for count in ("10", "100", "1,000")),
    ]


def test_different_or_old_fault_gets_a_new_number(monkeypatch):
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


def test_known_faults_and_log_lines_are_limited(caplog):
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


def test_log_lines_are_limited_per_minute():
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
    app = AppTest.from_function(page, default_timeout=PATIENCE_S).run()
    app.text_input(key="field").set_value("typed").run()
    return app


def press(app: AppTest, label: str) -> None:
    next(button for button in app.button if button.label == label).click().run()


@pytest.mark.parametrize("label", ["callback", "callback of a part", "part", "panic", "body"])
def test_broken_page_shows_an_error_and_stays_usable(app, label):
    press(app, label)
    assert not app.exception
    (error,) = app.error
    is_panic = "gave up on what it was given (x)" in error.value
    assert is_panic if label == "panic" else NUMBER.search(error.value)
    assert app.title[0].value == "Title"
    assert app.text_input(key="field").value == "typed"
    assert bool(app.caption) == (label != "body"), "only what comes after the fault is missing"
    if "callback" in label:
        assert app.session_state["calls"] == 1, "not called again by the drawing that shows it"
    app.text_input(key="field").set_value("more").run()
    assert not app.error
    assert app.caption
    assert app.text_input(key="field").value == "more"


def test_repeatedly_failing_page_is_still_drawn(app):
    for _ in range(3):
        press(app, "callback")
    assert app.session_state["calls"] == 3
    assert app.caption
    assert app.error
