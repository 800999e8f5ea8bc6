"""Pages other than the home page are drawn once PyTorch and the first model are ready."""

import threading
from types import SimpleNamespace

import pytest

from ui.models.startup import LOADING, STARTING, Start
from ui.server.websocket import Activity
from ui.shell import page


@pytest.fixture
def said(monkeypatch) -> list[str]:
    """The page's messages while it waits, and "taken away" once it removes them."""
    heard: list[str] = []
    place = SimpleNamespace(caption=heard.append, empty=lambda: heard.append("taken away"))
    monkeypatch.setattr(page.st, "empty", lambda: place)
    return heard


def test_page_waits_for_startup_and_reports_each_stage(monkeypatch, said):
    may_load, may_end = threading.Event(), threading.Event()

    class Steered(Start):
        def _run(self) -> None:
            assert may_load.wait(60)
            self.activity = Activity(LOADING)
            assert may_end.wait(60)
            self._ended.set()

    start = Steered()
    monkeypatch.setattr(page, "START", start)
    waiting = threading.Thread(target=page.wait_for_start)
    waiting.start()
    for event, sentence in ((may_load, STARTING), (may_end, LOADING)):
        while sentence not in said:
            assert waiting.is_alive()
            waiting.join(0.01)
        event.set()
    waiting.join(60)
    assert start.is_over and said == [STARTING, LOADING, "taken away"]
    page.wait_for_start()
    assert said[3:] == [], "nothing, once it is over"
