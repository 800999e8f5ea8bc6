"""The step page without a browser: what it mounts, and its events by way of the page."""

import json
import struct
from collections.abc import MutableMapping
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui import hostile
from ui.components.step import KEY
from ui.shared.settings import CARDS
from ui.step import page as step_page

OFF = {"repetition_penalty": 1, "temperature": 1, "top_k": 0, "top_p": 1, "min_p": 0, "seed": 0}
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


class State(MutableMapping):
    """The test's session state as `st.session_state` is one: a mapping."""

    def __init__(self, app: AppTest) -> None:
        self._state = app.session_state

    def __getitem__(self, key):
        return self._state[key]

    def __setitem__(self, key, value):
        self._state[key] = value

    def __delitem__(self, key):
        del self._state[key]

    def __iter__(self):
        return iter(self._state.filtered_state)

    def __len__(self):
        return len(self._state.filtered_state)


def do(app: AppTest, monkeypatch, number: int, kind: str, **fields) -> dict:
    """An event as the component sends it; AppTest cannot fire a component's triggers."""
    session = app.session_state["session"]
    place = {
        "run": session.run,
        "branch": session.current,
        "length": len(session.decoder.steps),
    }
    event = {"client": "test", "number": number, "kind": kind, "at": place, "have": place, **fields}
    if "settings" in fields:
        event["settings"] = {"order": list(CARDS), **OFF, **fields["settings"]}
    monkeypatch.setattr(step_page, "sent_event", lambda: event)
    monkeypatch.setattr(step_page.st, "session_state", State(app))
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
        ({"settings": {"order": ["heat"]}}, "an unknown stage, 'heat'"),
        ({"settings": {"order": ["top_k", "top_k"]}}, "the stage top_k twice"),
        ({"settings": {"order": ["dry"], "dry": {"base": 0}}}, "dry.base must be between 1 and"),
        (
            {"settings": {"order": ["logit_bias"], "logit_bias": {"bias": [[10**7, 1]]}}},
            "logit_bias names a token outside the vocabulary",
        ),
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


def test_a_page_from_before_an_update_is_told_to_reload(app, monkeypatch):
    do(app, monkeypatch, 1, "step")
    session = app.session_state["session"]
    old = {"client": "test", "number": 2, "kind": "step", "settings": {"temperature": 0.7}}
    monkeypatch.setattr(step_page, "sent_event", lambda: old)
    monkeypatch.setattr(step_page.st, "session_state", State(app))
    step_page._on_event()
    assert "reload the page" in session.error
    assert session.acknowledged == ("test", 2)
    assert len(session.decoder.steps) == 1


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
    order = ["dry", "top_p", "xtc", "temperature"]
    chain = {"order": order, "dry": None, "top_p": 0.9, "xtc": {"threshold": 0.2}}
    do(app, monkeypatch, 1, "step", settings=chain)
    token = app.session_state["session"].token
    again = opened()
    assert mounted(again)["length"] == 0
    assert mounted(again)["text"]["settings"]["order"] == list(CARDS)
    header = do(again, monkeypatch, 2, "resume", token=token, settings={})
    assert header["length"] == 1
    assert header["error"] == ""
    assert header["text"]["settings"] == {
        "order": order,
        "dry": None,
        "top_p": 0.9,
        "xtc": {"threshold": 0.2, "probability": 0.5},
        "temperature": 1.0,
        "seed": 0,
    }
