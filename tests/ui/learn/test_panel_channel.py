"""A step panel on the live channel: its own session in addition to the step page's."""

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tests.ui.step.live_page import LivePage
from ui.learn.connect import open_lesson
from ui.learn.course import course
from ui.learn.learning import live_of
from ui.server.websocket import live_route
from ui.step.connect import open_step
from ui.visits.visits import VISITS

PANEL = "the_loop/press"


@pytest.fixture(scope="module")
def client() -> TestClient:
    route = live_route({"step": open_step, "lesson": open_lesson})
    return TestClient(Starlette(routes=[route]))


def test_panel_has_its_own_text_visible_to_lessons(client):
    with client.websocket_connect("/live") as socket, client.websocket_connect("/live") as other:
        page = LivePage(socket)
        header = page.hello(page="lesson", panel=PANEL)
        lesson = course().lesson("the_loop")
        step = lesson.step("press")
        assert header["text"]["prompt"] == step.panel.prompt
        assert header["text"]["limits"]["max_tokens"] == step.panel.max_tokens
        page.settings = header["text"]["settings"]
        page.do("step", count=2)
        visit = VISITS.open(page.visit, page.tab, "test")
        session = live_of(visit, lesson, step)
        assert session.length == len(page.steps) == 2 and session.done["step"] == 2
        beside = LivePage(other, page.visit, page.tab)
        beside.hello()
        assert beside.steps == []
        step.panel.begin_anew(session, lesson.way_to(step.tasks[0]))
        page.read()
        assert len(page.steps) == 3 and page.text["settings"]["temperature"] == 1


def test_unknown_panel_is_refused(client):
    with client.websocket_connect("/live") as socket:
        header = LivePage(socket).hello(page="lesson", panel="the_loop/nowhere")
        assert header["kind"] == "failed" and "reload the page" in header["error"]
