"""The step page without a browser: Streamlit's part of the page; tests/ui/step covers the rest."""

import subprocess
import sys

import pytest
from streamlit.testing.v1 import AppTest

from engine.model import load_model
from tests.pages.tab import ROOT, in_tab, new_app, visit_of
from tests.ui import hostile
from tests.ui.step.live_page import client, opened
from ui.models.models import SharedModels
from ui.models.startup import START
from ui.step.channel import step_session
from ui.visits.tab import TAB


@pytest.fixture
def app(monkeypatch) -> AppTest:
    monkeypatch.delenv("DECODING_MODEL", raising=False)
    app = in_tab(new_app()).run()
    assert not app.exception
    return app


def test_page_is_drawn_before_tab_is_identified():
    app = new_app().run()
    assert not app.exception
    assert TAB not in app.session_state
    assert app.get("bidi_component")


def test_the_page_imports_no_pytorch():
    code = (
        "import sys, ui.step.page, ui.step.connect, ui.server.websocket, ui.components.apps; "
        "heavy = {'torch', 'transformers', 'engine.model'} & set(sys.modules); sys.exit(str(heavy))"
        " if heavy else None"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_model_can_be_chosen_once_text_exists(app):
    assert [button.label for button in app.button] == ["Model: loading"]
    assert app.button[0].disabled
    START.wait(lambda activity: None, lambda: True)
    session = step_session(visit_of(app))
    app.run()
    assert not app.exception
    assert session.model.vocab_size == load_model().vocab_size
    assert any("bundled" in element.value for element in app.markdown)


def test_failed_chooser_shows_error_and_keeps_page(app, monkeypatch):
    START.wait(lambda activity: None, lambda: True)
    step_session(visit_of(app))
    drawn = len(app.run().get("bidi_component"))
    monkeypatch.setattr("ui.models.chooser.model_chooser", lambda *_: 1 / 0)
    app.run()
    assert not app.exception
    (error,) = app.error
    assert "unexpected error" in error.value
    assert len(app.get("bidi_component")) == drawn


def test_loaded_model_reaches_the_text(app, tmp_path, monkeypatch):
    monkeypatch.setattr("ui.models.chooser.allowed", lambda **_: None)
    START.wait(lambda activity: None, lambda: True)
    session = step_session(visit_of(app))
    told = []
    session.listen(lambda: told.append(session.model))
    app.run()
    app.radio(key="model_kind").set_value("folder").run()
    app.text_input(key="model_folder").set_value(hostile.save(tmp_path / "tiny")).run()
    app.button(key="model_button").click().run()
    for _ in range(100):
        if told:
            break
        app.run()
    assert told and session.model is told[0]
    assert session.model.vocab_size == len(hostile.VOCAB)


@pytest.fixture
def other_models(monkeypatch) -> None:
    monkeypatch.setattr("ui.models.chooser.MODELS", SharedModels())


def test_unloadable_model_is_reported_and_bundled_used(monkeypatch, other_models):
    monkeypatch.setenv("DECODING_MODEL", "no/such folder")
    with opened() as page:
        assert page.last["error"].startswith("DECODING_MODEL=no/such folder:")
        assert page.do("step")["error"] == ""
    with opened(page.visit) as again:
        assert again.last["error"] == ""


def test_environment_variable_names_the_first_model(monkeypatch, tmp_path, other_models):
    monkeypatch.setenv("DECODING_MODEL", hostile.save(tmp_path / "tiny"))
    with opened() as page:
        assert page.text["model"]["vocab_size"] == len(hostile.VOCAB)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"settings": {"top_p": 1.4}}, "top_p must be above 0"),
        ({"settings": {"top_k": 10**7}}, "top_k exceeds the vocabulary of"),
        ({"limits": {"max_tokens": 10**9}}, "max_new_tokens"),
        ({"settings": None}, "reload the page"),
    ],
)
def test_invalid_event_gets_error_and_keeps_text(fields, sentence):
    with opened() as page:
        page.do("step")
        settings = fields.get("settings")
        if isinstance(settings, dict):
            fields = fields | {"settings": {**page.settings, **settings}}
        header = page.do("step", **fields)
        assert sentence in header["error"]
        assert header["length"] == 1
        assert header["in_force"]["settings"]["temperature"] == 0.8
        assert page.do("step")["length"] == 2


def test_starting_server_reports_progress_until_ready(monkeypatch):
    from ui.models import startup
    from ui.step import connect

    start = startup.Start()
    started = []
    monkeypatch.setattr(start, "begin", lambda: started.append(1))
    monkeypatch.setattr(connect, "START", start)
    with client().websocket_connect("/live") as socket:
        first = {"visit": "0" * 32, "tab": "1" * 32, "page": "step", "client": "c"}
        socket.send_json({"kind": "hello", **first})
        frame = socket.receive_bytes()
        assert b'"kind":"busy"' in frame and b"Starting PyTorch" in frame
        start._ended.set()
        while b'"kind":"state"' not in frame:
            frame = socket.receive_bytes()
    assert started == [1]
