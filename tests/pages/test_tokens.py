"""The tokens page without a browser: texts, tokenizers, times, and the restored page."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.tab import field, in_tab, new_app, restarted, visit_of
from tests.ui.hostile import HOSTILE
from ui.jobs import UNKNOWN
from ui.models.models import SharedModels
from ui.tokens.state import TokensState

PAGE = "pages/tokens.py"


@pytest.fixture
def app(monkeypatch, folder) -> AppTest:
    monkeypatch.setenv("DECODING_MODEL", folder)
    monkeypatch.setenv("DECODING_ONLY_ME", "yes")
    monkeypatch.setattr("ui.models.chooser.MODELS", SharedModels())
    app = in_tab(new_app()).run()
    app.switch_page(PAGE).run()
    assert not app.exception
    return app


def state_of(app: AppTest) -> TokensState:
    return visit_of(app).present("tokens")


def said(app: AppTest, kind: str) -> str:
    return " ".join(str(one.value) for one in app.get(kind))


def html(app: AppTest) -> str:
    return "".join(str(one.proto.body) for one in app.get("html"))


def test_texts_and_tokenizers_survive_a_restart(app):
    assert "What to notice" in said(app, "markdown")
    field(app, "selectbox", "tokens_example").set_value("Digits").run()
    assert state_of(app).inputs.prompt.startswith("7 77") and "Look at this" in said(app, "caption")
    hostile = "|".join(HOSTILE[:-1])
    field(app, "text_area", "tokens_prompt").set_value(hostile).run()
    assert not app.exception and [one.value for one in app.error] == []
    assert "<script>" not in html(app) and "&lt;script&gt;" in html(app)
    field(app, "text_input", "tokens_another").set_value("/no/where").run()
    assert "no folder" in said(app, "error")
    field(app, "text_input", "tokens_another").set_value("bundled-draft").run()
    assert field(app, "selectbox", "tokens_second").value == "bundled-draft"
    assert [one.value for one in app.error] == []
    field(app, "selectbox", "tokens_measure").set_value("words").run()
    restarted(app)
    app.run()
    inputs = state_of(app).inputs
    assert (inputs.prompt, inputs.second, inputs.measure) == (hostile, "bundled-draft", "words")
    field(app, "text_area", "tokens_prompt").set_value("").run()
    assert "type at least one character" in said(app, "error") and not app.exception


def test_tokens_have_a_price_and_a_measured_time(app):
    state = state_of(app)
    assert state.work is None, "nothing begins by itself on a person's own model"
    state.begin(UNKNOWN)
    state.work.wait(60)
    assert state.work.is_done and state.work.result.largest.output == 16
    app.run()
    assert "Time and price of a token" in html(app) and "Price of such texts" in html(app)
    field(app, "number_input", "tokens_output_price").set_value(-1.0).run()
    assert "is not a price" in said(app, "error") and state.inputs.output_price == 5.0
    state.change(prompt="|".join(["w1"] * 200))
    state.begin(UNKNOWN)
    assert "exceed the 128 positions" in state.error and state.work.result is not None
    assert json.dumps(state.record())
