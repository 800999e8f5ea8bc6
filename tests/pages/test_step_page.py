"""The step page without a browser: what it mounts, and its events by way of the page."""

import json
import struct
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui import hostile
from ui import step_page
from ui.components.step import KEY

APP = Path(__file__).resolve().parents[2] / "app.py"


def opened() -> AppTest:
    app = AppTest.from_file(str(APP), default_timeout=120).run()
    assert not app.exception
    return app


@pytest.fixture
def app(monkeypatch) -> AppTest:
    monkeypatch.delenv("DECODING_MODEL", raising=False)
    return opened()


def mounted(app: AppTest) -> dict:
    """Header of the message that the component was mounted with."""
    _fetcher, component = app.get("bidi_component")
    data = component.proto.bytes
    (length,) = struct.unpack_from("<I", data)
    return json.loads(data[4 : 4 + length])


def do(app: AppTest, monkeypatch, number: int, kind: str, **fields) -> dict:
    """An event as the component sends it; AppTest cannot fire a component's triggers."""
    session = app.session_state["session"]
    place = {
        "run": session.run,
        "branch": session.current,
        "length": len(session.decoder.steps),
    }
    event = {"client": "test", "number": number, "kind": kind, "at": place, "have": place, **fields}
    monkeypatch.setattr(step_page, "sent_event", lambda: event)
    monkeypatch.setattr(step_page.st, "session_state", app.session_state)
    step_page._on_event()
    monkeypatch.undo()
    return mounted(app.run())


def test_the_page_mounts_one_component_with_a_whole_message(app):
    header = mounted(app)
    assert header["text"]["prompt"]
    assert header["step"]["is_pending"]
    assert header["error"] == ""
    assert KEY == "step"


def test_an_event_changes_the_session_and_the_next_message(app, monkeypatch):
    header = do(app, monkeypatch, 1, "step", settings={"temperature": 0.5, "seed": 2})
    assert header["length"] == 1
    assert (header["client"], header["acknowledged"]) == ("test", 1)
    assert app.session_state["session"].settings.temperature == 0.5


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"settings": {"top_p": 1.4}}, "top_p must be above 0 and at most 1, got 1.4"),
        ({"settings": {"temperature": -1}}, "temperature must not be negative, got -1"),
        ({"settings": {"top_k": 10**7}}, "top_k is above the vocabulary"),
        ({"settings": {"seed": -1}}, "seed is out of range, got -1"),
        ({"limits": {"max_tokens": 10**9}}, "max_new_tokens is beyond the longest run"),
        ({"limits": {"stop_strings": [""]}}, "stop_strings"),
        ({"limits": {"max_tokens": "many"}}, "max_tokens"),
    ],
)
def test_nonsense_is_answered_in_words_and_the_text_stays(app, monkeypatch, fields, sentence):
    do(app, monkeypatch, 1, "step")
    header = do(app, monkeypatch, 2, "step", **fields)
    assert sentence in header["error"]
    assert header["acknowledged"] == 2
    assert header["length"] == 1
    assert do(app, monkeypatch, 3, "step")["length"] == 2


def test_a_model_that_cannot_be_loaded_is_announced_and_the_bundled_one_used(monkeypatch):
    monkeypatch.setenv("DECODING_MODEL", "no/such folder")
    header = mounted(opened())
    assert header["error"].startswith("DECODING_MODEL=no/such folder:")
    assert "The bundled model is in use instead." in header["error"]


def test_a_named_folder_is_the_first_model(monkeypatch, tmp_path):
    monkeypatch.setenv("DECODING_MODEL", hostile.save(tmp_path / "tiny"))
    header = mounted(opened())
    assert header["text"]["model"]["vocab_size"] == len(hostile.VOCAB)


def test_a_text_that_is_gone_is_announced_and_the_new_one_works(app, monkeypatch):
    header = do(app, monkeypatch, 1, "resume", token="unknown")
    assert header["error"].startswith("The text that this tab had is no longer here")
    assert do(app, monkeypatch, 2, "step")["length"] == 1


def test_a_reload_gets_its_text_back_and_the_header_its_model(app, monkeypatch):
    do(app, monkeypatch, 1, "step")
    token = app.session_state["session"].token
    again = opened()
    assert mounted(again)["length"] == 0
    header = do(again, monkeypatch, 1, "resume", token=token)
    assert header["length"] == 1
    assert header["error"] == ""
