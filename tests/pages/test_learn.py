"""The page of lessons as a visitor sees it; the browser's part is done on the server."""

import re
import shutil
from urllib.parse import parse_qs, urlsplit

import pytest
from streamlit.runtime.scriptrunner import RerunData, RerunException
from streamlit.testing.v1 import AppTest

from tests.pages.tab import in_tab, left, new_app, restarted, visit_of
from ui.learn import page
from ui.learn.course import FOLDER, course
from ui.learn.learning import Learning, page_name
from ui.learn.panels.step.hands import Hands
from ui.learn.paths import paths
from ui.learn.source import LessonError
from ui.step.page import FIRST_LESSON
from ui.visits.handover import STEP

LOOP = course().lesson("the_loop")


@pytest.fixture
def app(monkeypatch) -> AppTest:
    monkeypatch.delenv("DECODING_MODEL", raising=False)
    app = in_tab(new_app()).run()
    app.switch_page("pages/learn.py").run()
    assert not app.exception and not app.error
    return app


def press(app: AppTest, label: str, key: str = "") -> None:
    buttons = [each for each in app.button if each.label == label and key in (each.key or "")]
    buttons[0].click()
    app.run()
    assert not app.exception and not app.error


def said(app: AppTest) -> str:
    return "\n".join(one.value for one in [*app.markdown, *app.caption, *app.info])


def do(app: AppTest, step: str, actions, lesson=LOOP) -> None:
    """Do a person's actions in the panel of a step, then draw the page."""
    session = visit_of(app).present(page_name(lesson, lesson.step(step)))
    with session.lock:
        Hands(session).do(actions)
    app.run()
    assert not app.exception and not app.error


def test_lesson_shows_hints_solutions_and_progress(app):
    assert "**1. The loop**" in said(app) and "0 of 5 tasks solved" in said(app)
    press(app, "Start", LOOP.key)
    assert "### One token at a time" in said(app) and "step 1 of 4" in said(app)
    task = LOOP.steps[0].tasks[0]
    (forced, *_) = task.mistakes
    do(app, "press", forced.actions)
    assert "You clicked a token of the list" in said(app)
    press(app, "Hint")
    assert "**Step** is the blue button" in said(app)
    press(app, "Show me")
    assert "**Solved.**" in said(app) and "Three presses, three tokens." in said(app)
    assert not [each for each in app.button if each.label == "Show me"]
    press(app, "Next")
    assert "### One round of the loop" in said(app)
    do(app, "round", LOOP.step("round").tasks[0].solution)
    assert "This is the step as it was." in said(app)
    press(app, "All lessons")
    assert "2 of 5 tasks solved" in said(app)
    press(app, "Continue", LOOP.key)
    assert "step 2 of 4" in said(app)


def test_fragment_run_alone_after_a_move_draws_whole_page(monkeypatch):
    """The browser may send a press and a panel's event in one message, which runs a fragment."""
    drawn, runs = [], []

    def rerun() -> None:
        runs.append(1)
        raise RerunException(RerunData())

    part = page._part(lambda: drawn.append(1), "the lesson")
    monkeypatch.setattr(page.st, "rerun", rerun)
    monkeypatch.setattr(page.st, "session_state", {page.MOVED: True})
    with pytest.raises(RerunException):
        part()
    assert (drawn, runs) == ([], [1])
    page.st.session_state.clear()
    part()
    assert (drawn, runs) == ([1], [1])


def test_path_leads_through_its_own_steps_only(app):
    app.query_params["path"] = "class"
    app.run()
    stops = paths().paths["class"].stops
    assert "Optional" in [one.value for one in app.subheader]
    assert "Ask first: how many tokens will it be?" in said(app)
    press(app, "Start", stops[0].place)
    walked = [(app.query_params["lesson"], app.query_params["step"])]
    for label in ["Next", "Next lesson"]:
        press(app, label)
        walked.append((app.query_params["lesson"], app.query_params["step"]))
    assert walked == [(one.key, step.key) for one, step in paths().paths["class"].places[:3]]
    press(app, "45 minutes: a class")
    assert app.query_params["path"] == "class"
    numbers = re.findall(r"\*\*(\d+)\. ", said(app))
    assert numbers == [str(place) for place, _ in enumerate(stops, start=1)]


@pytest.mark.parametrize("key", ["hour", "class"])
def test_path_minutes_match_its_promise(key):
    path = paths().paths[key]
    assert path.minutes == {"hour": 60, "class": 45}[key]
    short = [stop.place for stop in path.stops if stop.minutes < len(stop.steps)]
    assert short == []
    whole = [stop for stop in path.stops if stop.steps == stop.lesson.steps]
    assert [stop.minutes for stop in whole] == [stop.lesson.minutes for stop in whole]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('"the_loop"', '"the_lop"', 'paths.hour.stops.lesson names "the_lop", which is not known'),
        ("minutes = 5\n", "", "paths.hour.stops.7.minutes is that of some steps"),
        ('"repetition"', '"repeat"', 'specialists names "repeat", which is not known'),
    ],
)
def test_mistake_in_paths_file_is_explained(tmp_path, monkeypatch, before, after, said):
    folder = shutil.copytree(FOLDER / "paths", tmp_path / "lessons" / "paths")
    monkeypatch.setattr("ui.learn.paths.FOLDER", folder)
    text = (folder / "paths.toml").read_text("utf-8")
    (folder / "paths.toml").write_text(text.replace(before, after, 1), "utf-8")
    with pytest.raises(LessonError) as refused:
        paths.__wrapped__()
    assert str(refused.value).startswith(f"paths/paths.toml: {said}")


def test_tour_leads_to_first_lesson_of_a_path():
    query = parse_qs(urlsplit(FIRST_LESSON).query)
    first, *_ = paths().paths[query["path"][0]].stops
    assert [first.lesson.key] == query["lesson"]


def test_task_cannot_be_solved_before_earlier_one(app):
    lesson = course().lesson("top_p")
    ninety, two = lesson.step("nucleus").tasks
    app.query_params["lesson"], app.query_params["step"] = lesson.key, "nucleus"
    app.run()
    assert "**Task 1 of 2.**" in said(app) and "Task 2" not in said(app)
    do(app, "nucleus", two.solution, lesson)
    assert "Drag **Top-p** up to 0.9" in said(app) and "**Solved.**" not in said(app)
    do(app, "nucleus", ninety.solution, lesson)
    assert "**Task 2 of 2.**" in said(app) and said(app).count("**Solved.**") == 1
    do(app, "nucleus", two.solution, lesson)
    assert said(app).count("**Solved.**") == 2


def test_finished_lesson_is_ticked_and_reopens_at_start(app):
    lesson = course().lesson("diffusion")
    learning = visit_of(app).present(Learning.name)
    for task in lesson.tasks():
        learning.solve(lesson, task)
    app.run()
    assert ":material/check_circle: **20. Diffusion**" in said(app)
    assert said(app).count(":material/check_circle: **") == 1
    press(app, "Open again", lesson.key)
    assert app.query_params["step"] == lesson.steps[0].key


def test_progress_survives_a_restart(app):
    app.query_params["lesson"], app.query_params["step"] = LOOP.key, "press"
    app.run()
    press(app, "Show me")
    restarted(app)
    again = in_tab(new_app(), left(app))
    again.run()
    again.switch_page("pages/learn.py")
    again.query_params["lesson"] = LOOP.key
    again.run()
    assert not again.exception
    assert "Three presses, three tokens." in said(again)
    visit = visit_of(again)
    assert visit.present(Learning.name).was_shown(LOOP, LOOP.steps[0].tasks[0])
    assert visit.present(page_name(LOOP, LOOP.steps[0])).length == 3


def test_panel_text_opens_in_the_step_page(app):
    app.query_params["lesson"], app.query_params["step"] = LOOP.key, "no_plan"
    app.run()
    do(app, "no_plan", LOOP.way_to(LOOP.step("no_plan").tasks[1]))
    press(app, "Open in Step")
    from ui.step.channel import step_session

    session = step_session(visit_of(app))
    assert session.decoder.text == " bear" and len(session.branches) == 2
    assert session.max_tokens == 24 and session.settings.temperature == 1


def test_an_unknown_lesson_shows_the_list(app):
    app.query_params["lesson"] = "<b>nothing"
    app.run()
    assert not app.exception and not app.error
    assert "There is no lesson" in said(app) and "**1. The loop**" in said(app)


def follow(app: AppTest, **query: str) -> None:
    """Follow a link of the list of concepts."""
    app.query_params.clear()
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception and not app.error


def test_concepts_link_to_steps_questions_and_experiments(app):
    (field,) = [one for one in app.text_input if one.label == "Search what there is to learn"]
    field.set_value("greedy loops").run()
    assert any("?lesson=greedy&amp;step=loops" in one.proto.body for one in app.get("html"))
    follow(app, lesson="greedy", step="loops")
    assert "### Loops" in said(app) and "step 3 of 3" in said(app)
    follow(app, lesson="the_loop", question="plan")
    assert "Question 3 of 4" in said(app)
    assert any("Half a sentence" in one.label for one in app.radio)
    press(app, "Open the lesson")
    assert "### One token at a time" in said(app)
    follow(app, **{"try": "gone"})
    assert "**1. The loop**" in said(app)
    app.query_params["try"] = "greedy"
    app.run()
    assert not app.exception
    assert visit_of(app).handed[STEP].settings.temperature == 0
