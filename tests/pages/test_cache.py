"""The cache page without a browser: every section measures, is drawn and is restored."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from engine.measure.roofline import measurement as roofline
from tests.charts import charts
from tests.pages.tab import field, in_tab, new_app, restarted, visit_of
from tests.pages.translated import left_in_english
from ui.jobs import UNKNOWN
from ui.measurements.state import MeasurementState
from ui.models.models import SharedModels
from ui.words.language import say, speaking

PAGE = "pages/cache.py"
SOME, OTHERS = (
    ("with_and_without", "window", "calculator"),
    ("prefill_and_decode", "roofline", "bytes"),
)


@pytest.fixture
def app(monkeypatch, folder) -> AppTest:
    monkeypatch.setenv("DECODING_MODEL", folder)
    monkeypatch.setattr("ui.models.chooser.MODELS", SharedModels())
    monkeypatch.setattr(roofline, "MEMORY", 2**20)
    monkeypatch.setattr(roofline, "PRODUCTS", (64,))
    app = in_tab(new_app()).run()
    app.switch_page(PAGE).run()
    assert not app.exception
    return app


def state_of(app: AppTest) -> MeasurementState:
    return visit_of(app).present("cache")


def measured(app: AppTest) -> MeasurementState:
    """Draw until the section in sight is measured."""
    state = state_of(app)
    state.bench.pacing.wait(60)
    app.run()
    if state.held.section.begin is not None:
        if state.held.work is None:  # a person's own model is not measured unasked
            state.held.begin(UNKNOWN)
        state.held.work.wait(60)
        assert state.held.work.is_done, state.held.work.problem
    app.run()
    assert not app.exception
    assert [error.value for error in app.error] == []
    return state


def html(app: AppTest) -> str:
    return "".join(str(one.proto.body) for one in app.get("html"))


@pytest.mark.parametrize(
    "keys",
    [pytest.param(SOME, id="some"), pytest.param(OTHERS, id="others", marks=pytest.mark.long)],
)
def test_every_section_is_translated_and_exported(app, keys):
    app.session_state["language"] = "de"
    app.run()
    with speaking("de"):  # this test reads the fields' choices in the page's language
        for key in keys:
            field(app, "button_group", "cache_section").set_value(key).run()
            state = measured(app)
            assert state.chosen == key and state.held.result() is not None
            assert any(say("What to notice:") in one.value for one in app.markdown), key
            assert left_in_english(app, "de") == [], key
    assert set(json.loads(state.report().to_json())["parts"]) >= set(keys)


def test_fields_are_kept_and_bad_values_refused(app):
    state = state_of(app)
    state.bench.pacing.wait(60)
    app.run()
    assert state.held.work is None and "Totals" not in html(app)
    assert any("Nothing is measured yet" in one.value for one in app.caption)
    measured(app)
    assert "Totals" in html(app) and len(charts(app)) == 1
    before = state.held.result()
    field(app, "number_input", "cache_with_and_without_positions").set_value(2000.0).run()
    (start,) = [one for one in app.button if one.label == "Measure"]
    start.click().run()
    assert "exceed the context" in app.error[0].value and "use 2 to 128" in app.error[0].value
    assert state.held.result() == before
    field(app, "number_input", "cache_with_and_without_positions").set_value(20.0).run()
    restarted(app)
    app.run()
    again = measured(app)
    assert again is not state and again.held.inputs.positions == 20
    assert again.held.result() == before and "Totals" in html(app)


def test_prices_are_chosen_typed_and_refused(app):
    field(app, "button_group", "cache_section").set_value("prefill_and_decode").run()
    state = measured(app)
    assert any("Typed in, not measured" in one.value for one in app.caption)
    field(app, "selectbox", "cache_prefill_and_decode_prices").set_value("Claude Haiku 4.5").run()
    assert (state.held.inputs.input_price, state.held.inputs.output_price) == (1.0, 5.0)
    field(app, "number_input", "cache_prefill_and_decode_output_price").set_value(-1.0).run()
    assert "is not a price" in app.error[0].value and state.held.inputs.output_price == 5.0
    field(app, "number_input", "cache_prefill_and_decode_output_price").set_value(7.0).run()
    assert field(app, "selectbox", "cache_prefill_and_decode_prices").value == "Own prices"
    field(app, "selectbox", "cache_prefill_and_decode_metric").set_value("decode").run()
    assert "decode, tokens/s" in html(app) and not app.exception
