"""The start of the server: the pages' imports come before the first model is loaded."""

import gc
import threading

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


def test_garbage_is_collected_again_after_the_start(monkeypatch):
    def preload():
        collects.append(gc.isenabled())
        raise MemoryError

    collects = []
    monkeypatch.setattr(chooser, "preload", preload)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    start = Start()
    start.begin(lambda: collects.append(gc.isenabled()))
    assert start.wait(lambda activity: None, lambda: True)
    assert (collects, gc.isenabled()) == ([False, False], True)
