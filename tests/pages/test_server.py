"""The server page without a browser, on a real llama.cpp server."""

import json

import pytest
from streamlit.testing.v1 import AppTest

import ui.visit_page
from engine.errors import ServerError
from engine.server_check import chain
from tests.bundled import bundled
from tests.charts import charts
from tests.engine.backend.running import gguf_file, local, remote, server
from tests.pages.tab import field, in_tab, new_app, visit_of
from tests.pages.translated import left_in_english
from ui.jobs import UNKNOWN
from ui.server_check.state import ServerState

__all__ = ["gguf_file", "local", "remote", "server"]
PAGE = "pages/server.py"
PATIENCE_S = 240


@pytest.fixture
def app(remote, monkeypatch) -> AppTest:
    monkeypatch.setattr(chain, "MOST_LISTED", 200)
    monkeypatch.setattr(ui.visit_page, "model_of", lambda visit: (remote, ""))
    app = in_tab(new_app()).run()
    app.switch_page(PAGE).run()
    assert not app.exception
    return app


def state_of(app: AppTest) -> ServerState:
    return visit_of(app).present("server")


def html(app: AppTest) -> str:
    return "".join(str(one.proto.body) for one in app.get("html"))


def finished(app: AppTest) -> ServerState:
    state = state_of(app)
    assert state.work.wait(PATIENCE_S), state.work.progress
    app.run()
    assert not app.exception
    return state


def test_check_is_started_and_judged_in_two_languages(app):
    field(app, "number_input", "server_length").set_value(4.0).run()
    field(app, "number_input", "server_others").set_value(1.0).run()
    state_of(app).choose(bundled())
    app.button(key="server_check_start").click().run()
    state = finished(app)
    assert list(state.work.result) == [
        "honoured",
        "raw",
        "chain",
        "crowd",
        "speculation",
        "engines",
    ]
    shown = html(app)
    assert shown.count("check-verdict check-") == 6
    assert "It honours 14 of 14 settings." in shown and "p_less" in shown
    assert "Final probabilities, there and here" in shown
    assert len(charts(app)) == 1
    data = json.loads(state.work.json())
    assert data["plan"]["length"] == 4 and data["checks"]["chain"]["outcome"] == "as expected"
    assert state.work.markdown().startswith("# Server check: target.gguf")
    app.session_state["language"] = "de"
    app.run()
    assert not app.exception and "befolgt 14 von 14 Einstellungen" in html(app)
    assert left_in_english(app, "de") == []


def test_load_is_read_on_a_press(app):
    assert "requests running" not in html(app)
    app.button(key="server_load").click().run()
    assert not app.exception and "requests running" in html(app)
    assert html(app).count("not reported") == 3
    app.session_state["language"] = "de"
    app.run()
    assert "laufende Anfragen" in html(app) and left_in_english(app, "de") == []


def test_inputs_are_kept_and_bad_ones_refused(app):
    field(app, "number_input", "server_draws").set_value(7.0).run()
    assert [one.value for one in app.error] and state_of(app).inputs.draws == 200
    field(app, "text_area", "server_prompt").set_value("word " * 2_000).run()
    app.button(key="server_check_start").click().run()
    assert any("at most 256 tokens" in one.value for one in app.error)
    assert state_of(app).work is None
    field(app, "text_area", "server_prompt").set_value("Short").run()
    record = state_of(app).record()
    assert record["inputs"]["prompt"] == "Short"


def test_lost_server_is_said_in_each_check(app, remote, monkeypatch):
    def lost(*given, **options):
        raise ServerError("{server} cannot be reached.", "It")

    for name in ("next_scores", "draw"):
        monkeypatch.setattr(remote.dialect, name, lost)
    state_of(app).begin(UNKNOWN)
    state = finished(app)
    assert state.work.is_done and html(app).count("It cannot be reached.") == 5


def test_model_in_the_app_has_nothing_to_check(monkeypatch):
    monkeypatch.delenv("DECODING_MODEL", raising=False)
    app = in_tab(new_app()).run()
    app.switch_page(PAGE).run()
    assert not app.exception and "this page checks servers" in app.info[0].value
    assert not [one for one in app.button if one.label == "Start"]
