"""The start of the server: the pages' imports come before the first model is loaded."""

from ui.models import chooser
from ui.models.startup import Start


def test_imports_come_before_the_model(monkeypatch):
    done = []
    monkeypatch.setattr(chooser, "preload", lambda: done.append("model"))
    start = Start()
    start.begin(lambda: done.append("imports"))
    assert start.wait(lambda activity: None, lambda: True)
    assert done == ["imports", "model"]
    assert start.is_over and start.activity is None
