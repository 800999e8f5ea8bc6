"""The sections of the cache page that count and compute bytes."""

import json
import threading

import pytest
from streamlit.testing.v1 import AppTest

from engine.calculator.published import published_sizes
from engine.measure.machine import Setting
from engine.measure.report import Report
from tests.bundled import bundled
from tests.pages.tab import field, in_tab
from ui.cache.bytes import SECTION as BYTES
from ui.cache.calculator import models
from ui.cache.calculator.costs import POINTS
from ui.cache.calculator.section import SECTION as CALCULATOR
from ui.cache.calculator.section import CalculatorInputs, growth_figure
from ui.cache.window import SECTION as WINDOW
from ui.jobs import UNKNOWN
from ui.labs.fields import SEPARATOR

LONG_WINDOW = pytest.param(WINDOW, marks=pytest.mark.long)
CONFIG = {
    "model_type": "llama",
    "vocab_size": 100,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}


@pytest.fixture(autouse=True)
def _counts_are_waited_for(monkeypatch):
    monkeypatch.setattr(models, "GRACE_SECONDS", 60.0)


def page(key: str, model) -> None:
    import streamlit as st

    from ui.cache.page import SECTIONS
    from ui.measurements.page import MeasurementPage

    page = MeasurementPage("cache", "", [one for one in SECTIONS if one.key == key])
    if "state" not in st.session_state:
        st.session_state["state"] = page.begun(model)
    page.draw_state(st.session_state["state"])


def begun(key: str) -> AppTest:
    """Open the page with one section, drawn once."""
    args = (key, bundled())
    return in_tab(AppTest.from_function(page, default_timeout=60, args=args)).run()


def opened(key: str) -> AppTest:
    """Open the page with one section, drawn after its measurement has ended."""
    app = begun(key)
    state = app.session_state["state"]
    if state.held.section.begin is not None:
        state.held.begin(UNKNOWN)
        state.held.work.wait(60)
        app.run()
    assert not app.exception and not app.error
    return app


def html(app: AppTest) -> str:
    return " ".join(one.value for one in app.get("html"))


def test_bytes_agree_and_block_size_needs_no_recount():
    app = opened("bytes")
    held = app.session_state["state"].held
    whole = 250 * 2_048 * held.model.dtype.itemsize
    assert any(f"agree to the byte: {whole:,} bytes" in one.value for one in app.markdown)
    assert "to the byte" in html(app) and f"{whole:,}" in html(app)
    work = held.work
    assert f"{whole // 250 * 256:,}" in html(app), "sixteen blocks of 16 positions"
    field(app, "number_input", "cache_bytes_block").set_value(100)
    app.run()
    assert f"{whole // 250 * 300:,}" in html(app) and held.work is work
    for typed in (0, 2.5):
        field(app, "number_input", "cache_bytes_block").set_value(typed)
        app.run()
        assert any("Block size" in one.value for one in app.error)
        assert held.inputs.block == 100
    field(app, "number_input", "cache_bytes_batch").set_value(0)
    app.run()
    assert any("Batch" in one.value for one in app.error) and held.inputs.batch == 1


def test_window_section_names_its_model_as_random():
    app = opened("window")
    assert any("random weights" in one.value for one in app.info)
    assert any("attends to 16 positions, yet 31 change" in one.value for one in app.markdown)
    assert any("is full" in one.value for one in app.text)


def test_the_calculator_answers_how_many_users_fit():
    app = opened("calculator")
    assert "DeepSeek V3" in html(app) and "weights do not fit" in html(app)
    assert html(app).count("<td>yes</td>") == len(published_sizes())
    assert "<td>NO</td>" not in html(app)
    held = app.session_state["state"].held
    field(app, "number_input", "cache_calculator_batch").set_value(0)
    app.run()
    assert any("Batch" in one.value for one in app.error) and held.inputs.batch == 1
    held.change(card="Own numbers")
    app.run()
    for name, typed in (("gigabytes", 0), ("bandwidth", -1)):
        field(app, "number_input", f"cache_calculator_{name}").set_value(typed)
        app.run()
        assert app.error and getattr(held.inputs, name) == getattr(CalculatorInputs, name)
    assert any("typed in" in one.value for one in app.caption)


def test_pasted_configuration_is_counted_in_background_or_refused(monkeypatch):
    slow, counts = threading.Event(), models.estimate
    monkeypatch.setattr(models, "GRACE_SECONDS", 0.05)
    monkeypatch.setattr(models, "estimate", lambda one: slow.wait(60) and counts(one))
    app = begun("calculator")
    held = app.session_state["state"].held
    held.change(shapes="Qwen3 0.6B", own="pasted", own_text=json.dumps(CONFIG | {"vocab_size": 77}))
    app.run()
    assert any("Counting" in one.value and "Pasted" in one.value for one in app.caption)
    slow.set()
    monkeypatch.setattr(models, "GRACE_SECONDS", 60.0)
    app.run()
    assert not app.exception and "Pasted configuration" in html(app)
    assert not any("Counting" in one.value for one in app.caption)
    held.change(own_text='{"model_type": "vit"}')
    app.run()
    assert any("vit" in one.value for one in app.error)
    assert "Qwen3 0.6B" in html(app), "the others stay"


def computed(bundled, **changes):
    return CALCULATOR.computed(bundled, CalculatorInputs(**changes))


def test_context_beyond_training_is_computed_with_warning(bundled):
    near = computed(bundled, shapes="Qwen3 8B", positions=40_960)
    far = computed(bundled, shapes="Qwen3 8B", positions=40_961)
    assert not near.beyond and [one.name for one in far.beyond] == ["Qwen3 8B"]
    app = opened("calculator")
    assert not app.warning
    app.session_state["state"].held.change(positions=10**6)
    app.run()
    (warning,) = app.warning
    assert "DeepSeek V3 (163,840)" in warning.value


def test_record_with_unknown_names_is_accepted(bundled):
    found = computed(bundled, stored="gone", weighed="gone", card="gone", shapes="gone")
    assert found.card == "Own numbers" and "no shape named 'gone'" in found.problem


def test_curves_are_dotted_beyond_the_context(bundled):
    names = ("Llama 3.1 8B", "Gemma 3 12B", "Mamba 2.8B")
    result = computed(bundled, shapes=SEPARATOR.join(names), loaded=True)
    assert [one.name for one in result.models] == [bundled.name, *names]
    figure = growth_figure(result)
    curves = {(one.name, one.line.dash): one for one in figure.data}
    inside, beyond = (curves["Llama 3.1 8B", dash] for dash in ("solid", "dot"))
    assert inside.x[-1] <= 131_072 == beyond.x[0] and beyond.x[-1] == POINTS[-1] == 2**20
    assert len(set(curves["Mamba 2.8B", "solid"].y)) == 1
    assert len({one.line.color for one in figure.data}) == 4


@pytest.mark.parametrize("section", [BYTES, CALCULATOR, LONG_WINDOW], ids=lambda one: one.key)
def test_results_load_from_file_and_fill_tables(bundled, section):
    if section.computed is not None:
        result = section.computed(bundled, section.inputs())
    else:
        measurement = section.begin(bundled, section.inputs()).measurement
        list(measurement.run())
        result = measurement.result
    text = Report(Setting.here(bundled), {section.key: result}).to_json()
    assert Report.from_json(text, {section.key: section.result}).parts[section.key] == result
    for table in section.tables(result):
        assert table.rows and all(len(row) == len(table.head) for row in table.rows)
    assert section.notice(result)
