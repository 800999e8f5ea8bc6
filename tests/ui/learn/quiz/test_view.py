"""A quiz on a page: one question at a time, the reason at once, a summary at the end."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.tab import PATIENCE_S
from tests.ui.learn.quiz.made_up import made_up
from ui.learn.progress.entries import Answered
from ui.learn.progress.mine import Done


def script(folder: str) -> None:
    from pathlib import Path

    import streamlit as st

    from ui.learn.progress.mine import Done
    from ui.learn.quiz.questions import quiz_of
    from ui.learn.quiz.view import draw_quiz
    from ui.visits.visits import Visit

    done = st.session_state.setdefault("done", Done())
    draw_quiz(quiz_of(Path(folder)), done, Visit("ab" * 16))


@pytest.fixture
def app(tmp_path) -> AppTest:
    return AppTest.from_function(
        script, default_timeout=PATIENCE_S, args=(str(made_up(tmp_path)),)
    ).run()


def press(app: AppTest, label: str) -> None:
    (button,) = [button for button in app.button if button.label == label]
    button.click().run()
    assert not app.exception


def can_answer(app: AppTest) -> bool:
    (button,) = [button for button in app.button if button.label == "Answer"]
    return not button.disabled


def said(app: AppTest) -> str:
    kinds = (app.markdown, app.success, app.error, app.caption)
    return "\n".join(element.value for kind in kinds for element in kind)


def test_quiz_runs_from_first_question_to_summary(app):
    assert "Question 1 of 2" in said(app) and "Press Step." in said(app)
    assert not can_answer(app)
    app.radio[0].set_value("one").run()
    assert app.button_group[0].value is None and not can_answer(app), "no confidence is given yet"
    app.button_group[0].set_value(0.5).run()
    assert "right: 0.0 points. If not: 0.0." in said(app) and can_answer(app)
    app.button_group[0].set_value(1.0).run()
    assert "right: 10.0 points. If not: −30.0." in said(app)
    press(app, "Answer")
    assert "One at a time." in app.success[0].value and not app.error
    assert "this gives 10.0 points." in said(app)
    press(app, "Next question")

    assert "Question 2 of 2" in said(app)
    app.radio[0].set_value("yes").run()
    app.button_group[0].set_value(0.8).run()
    press(app, "Answer")
    assert "It is not." in app.error[0].value, "the reason why this answer is wrong"
    assert "It is not so." in app.success[0].value, "and why another one is right"
    assert "this takes 11.9 points away." in said(app)
    press(app, "See the summary")

    assert "Passes: 1 of 2 right, 0 of 20 points" in said(app)
    first, second = app.session_state.done.progress.answers
    assert (first.key, first.right, first.confidence, first.answers) == ("passes", True, 1.0, 2)
    assert (second.answer, second.right, second.confidence) == ("yes", False, 0.8)
    press(app, "Answer again")
    assert "Question 1 of 2" in said(app) and app.radio[0].value is None


def test_answered_questions_survive_a_reload(tmp_path):
    app = AppTest.from_function(script, default_timeout=PATIENCE_S, args=(str(made_up(tmp_path)),))
    gone = Answered("made_up", "second", 2, "an answer of an older file", False, 0.5, 3)
    app.session_state.done = Done()
    app.session_state.done.note(Answered("made_up", "passes", 1, "one", True, 1.0, 2), gone)
    app.run()
    assert not app.exception
    assert "Question 2 of 2" in said(app)
