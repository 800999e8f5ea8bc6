"""The step page without a browser: events, what they leave alone, every bad input of a widget."""

import json
from pathlib import Path

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from engine.model import LanguageModel
from engine.record import LogitRecord
from engine.sampling import SamplingSettings
from tests.ui import hostile
from ui import step_page

APP = Path(__file__).resolve().parents[2] / "app.py"
TITLES = [
    "Logits",
    "Softmax",
    "Cumulative probability",
    "Rank curve",
    "KV cache",
    "Latency per step",
]


def opened() -> AppTest:
    app = AppTest.from_file(str(APP), default_timeout=120).run()
    assert not app.exception
    return app


@pytest.fixture
def app(monkeypatch) -> AppTest:
    monkeypatch.delenv("DECODING_MODEL", raising=False)
    return opened()


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory) -> str:
    return hostile.save(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def tiny(monkeypatch, tiny_folder) -> AppTest:
    """The page on a model of 64 hostile tokens and 48 positions; no end-of-text token."""
    monkeypatch.setenv("DECODING_MODEL", tiny_folder)
    return opened()


def read_chain(app: AppTest) -> SamplingSettings:
    """The chain that the exact fields describe."""
    names = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty")
    return SamplingSettings(**{name: app.session_state[f"{name}_exact"] for name in names})


def press(app: AppTest, label: str) -> AppTest:
    button = next(button for button in app.button if button.label == label)
    assert not button.disabled, f"{label} is disabled"
    button.click().run()
    assert not app.exception
    return app


def disabled(app: AppTest) -> set[str]:
    return {button.label for button in app.button if button.disabled}


def number(app: AppTest, label: str):
    return next(field for field in app.number_input if field.label == label)


def session(app: AppTest):
    return app.session_state["session"]


def ids(app: AppTest) -> list[int]:
    return session(app).decoder.token_ids


def errors(app: AppTest) -> list[str]:
    return [error.value for error in app.error]


def charts(app: AppTest) -> dict[str, dict]:
    specs = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
    return {spec["layout"]["title"]["text"]: spec for spec in specs}


def html_of(app: AppTest) -> str:
    return "".join(element.proto.body for element in app.get("html"))


# --- events ---------------------------------------------------------------------------------------


def test_the_first_visit_is_ready_to_step(app):
    assert app.title[0].value == "Decoding Visualiser"
    assert app.text_area(key="prompt").value == "The capital of France is"
    assert ids(app) == [] and not errors(app)
    assert {"Back", "Rewind"} <= disabled(app) and "Step" not in disabled(app)
    press(app, "Step")
    assert len(ids(app)) == 1
    assert list(charts(app)) == TITLES
    assert [chart.proto.alt for chart in app.get("plotly_chart")] == TITLES


def test_a_rerun_neither_steps_nor_draws_anew(app):
    press(app, "Step")
    press(app, "Step")
    before = ids(app)
    for _ in range(3):
        app.run()
    assert ids(app) == before


def test_back_and_rewind_repeat_what_was_there(app):
    for _ in range(3):
        press(app, "Step")
    before = ids(app)
    press(app, "Back")
    assert ids(app) == before[:2]
    press(app, "Step")
    assert ids(app) == before
    press(app, "Rewind")
    assert ids(app) == [] and not charts(app)
    for _ in range(3):
        press(app, "Step")
    assert ids(app) == before


def test_sliders_reshape_the_inspected_step_and_leave_the_record_alone(app):
    number(app, "Temperature, exact value").set_value(1.5).run()
    for _ in range(3):
        press(app, "Step")
    steps = list(session(app).decoder.steps)
    before = charts(app)

    app.slider(key="temperature_slider").set_value(0.5).run()

    assert number(app, "Temperature, exact value").value == 0.5
    assert session(app).decoder.steps == steps
    after = charts(app)
    assert after["Softmax"]["data"] != before["Softmax"]["data"]
    for title in ("KV cache", "Latency per step"):
        assert after[title] == before[title]
    assert any("The settings differ now" in caption.value for caption in app.caption)
    press(app, "Step")
    assert session(app).decoder.steps[:3] == steps
    assert session(app).decoder.settings.temperature == 0.5


def test_the_number_and_the_slider_agree(app):
    number(app, "Top-k, exact value").set_value(7).run()
    assert app.select_slider(key="top_k_slider").value == 7, "the thumb must tell the truth"
    assert session(app).decoder.settings.top_k == 7
    app.select_slider(key="top_k_slider").set_value(0).run()
    assert number(app, "Top-k, exact value").value == 0
    assert session(app).decoder.settings.top_k == 0
    number(app, "Temperature, exact value").set_value(3.5).run()
    assert app.slider(key="temperature_slider").value == 2.0
    assert session(app).decoder.settings.temperature == 3.5


def test_every_slider_says_what_its_stage_did(app):
    press(app, "Step")
    number(app, "Top-k, exact value").set_value(5).run()
    captions = [caption.value for caption in app.caption]
    assert any(text.startswith("16,384 → 5 tokens, removed") for text in captions)
    assert captions.count("off") == 2, "repetition penalty and min-p"


def test_run_to_end_stops_at_max_tokens_and_says_so(tiny):
    number(tiny, "Max tokens").set_value(10).run()
    press(tiny, "Run to end")
    assert len(ids(tiny)) == 10
    assert session(tiny).mode == "paused"
    assert any("max tokens is 10, and there are 10 tokens" in info.value for info in tiny.info)
    run = next(button for button in tiny.button if button.label == "Run to end")
    assert run.disabled, "there is nothing left for it to do"
    press(tiny, "Step")
    assert len(ids(tiny)) == 11, "a step by hand may go on"
    number(tiny, "Max tokens").set_value(20).run()
    assert not tiny.info
    press(tiny, "Run to end")
    assert len(ids(tiny)) == 20


def test_a_full_context_stops_and_going_back_is_the_remedy(tiny):
    number(tiny, "Max tokens").set_value(48).run()
    press(tiny, "Run to end")
    assert session(tiny).decoder.tokens_left == 0
    assert any("context full" in info.value for info in tiny.info)
    assert {"Step", "Play", "Run to end", "Force"} <= disabled(tiny)
    press(tiny, "Back")
    assert not {"Step", "Play"} & disabled(tiny)


def test_a_stop_string_ends_the_run(tiny):
    tiny.text_area(key="stop_strings").set_value("w\nnever").run()
    number(tiny, "Max tokens").set_value(40).run()
    press(tiny, "Run to end")
    assert session(tiny).decoder.stop_reason == "stop_string"
    assert any('the stop string "w"' in info.value for info in tiny.info)
    assert "Step" in disabled(tiny)


def test_play_takes_one_token_at_a_time_up_to_max_tokens(tiny, monkeypatch):
    monkeypatch.setattr(step_page, "TICK_SECONDS", 0)
    number(tiny, "Max tokens").set_value(3).run()
    press(tiny, "Play")
    assert len(ids(tiny)) == 3
    assert session(tiny).mode == "paused"
    assert "Play" in disabled(tiny), "there is nothing left for it to do"


def test_forcing_appends_that_token_and_marks_it(app):
    number(app, "Force token (id)").set_value(1234).run()
    assert ids(app) == []
    press(app, "Force")
    assert ids(app) == [1234]
    assert session(app).decoder.steps[0].forced
    assert 'class="generated forced' in html_of(app)
    app.run()
    assert ids(app) == [1234]


def test_inspecting_a_past_step_shows_its_record(app):
    for _ in range(4):
        press(app, "Step")
    number(app, "Inspect step").set_value(2).run()
    assert session(app).index == 1
    assert any("step **2**" in caption.value for caption in app.caption)
    press(app, "Step")
    assert number(app, "Inspect step").value == 5, "a new step is followed again"


def test_a_changed_prompt_waits_for_start(app):
    press(app, "Step")
    before = ids(app)
    app.text_area(key="prompt").set_value("Once upon a time").run()
    assert any("Press Start to use the new prompt" in info.value for info in app.info)
    press(app, "Step")
    assert ids(app)[:1] == before and len(ids(app)) == 2
    assert session(app).prompt == "The capital of France is"
    press(app, "Start")
    assert session(app).prompt == "Once upon a time" and ids(app) == []
    assert not any("new prompt" in info.value for info in app.info)


def test_two_visitors_do_not_share_a_run(app):
    other = opened()
    press(app, "Step")
    assert len(ids(app)) == 1 and ids(other) == []
    assert session(app).decoder.model is session(other).decoder.model


# --- models ---------------------------------------------------------------------------------------


def load(app: AppTest, source: str) -> AppTest:
    app.text_input[0].set_value(source)
    return press(app, "Load")


def test_another_model_keeps_prompt_and_settings(app, tiny_folder):
    app.text_area(key="prompt").set_value("w1|w2").run()
    press(app, "Start")
    number(app, "Top-p, exact value").set_value(0.7).run()
    load(app, tiny_folder)
    assert not errors(app)
    assert session(app).decoder.model.vocab_size == 64
    assert session(app).prompt == "w1|w2"
    assert number(app, "Top-p, exact value").value == 0.7
    assert number(app, "Max tokens").value == 48, "lowered to the smaller context"
    assert session(app).decoder.settings.top_p == 0.7
    press(app, "Step")
    assert list(charts(app)) == TITLES


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("no/such-model", "no/such-model"),
        ("not a hub id!", "no folder"),
        ("../no/such", "hub id"),
        ("{tmp}", "no config.json"),
        ("{file}", "is a file"),
    ],
)
def test_a_model_that_cannot_be_loaded_leaves_everything_as_it_was(app, tmp_path, source, said):
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    press(app, "Step")
    before, model = ids(app), session(app).decoder.model
    load(app, source.format(tmp=tmp_path / "empty", file=tmp_path / "file"))
    (message,) = errors(app)
    assert said in message
    assert ids(app) == before and session(app).decoder.model is model
    press(app, "Step")
    assert not errors(app), "the next event clears the message"


def test_an_unknown_first_model_falls_back_to_the_bundled_one(monkeypatch):
    monkeypatch.setenv("DECODING_MODEL", "no/such-model")
    app = opened()
    assert "no/such-model" in errors(app)[0]
    press(app, "Step")
    assert len(ids(app)) == 1


def test_no_model_at_all_is_a_sentence_and_a_form(monkeypatch, tiny_folder, tmp_path):
    monkeypatch.setattr("engine.checkpoint.BUNDLED_FOLDER", tmp_path)
    monkeypatch.delenv("DECODING_MODEL", raising=False)
    st.cache_resource.clear()
    app = opened()
    assert "config.json" in errors(app)[0]
    load(app, tiny_folder)
    assert not errors(app)
    press(app, "Step")
    assert len(ids(app)) == 1


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("", "empty"),
        ("a b " * 250_000, "context"),
        ("x" * 5_000_000, "bytes"),
        ("word " * 2000, "1,024"),
    ],
)
def test_a_prompt_that_cannot_be_used_keeps_the_run(app, prompt, said):
    press(app, "Step")
    before = ids(app)
    app.text_area(key="prompt").set_value(prompt)
    press(app, "Start")
    (message,) = errors(app)
    assert said in message
    assert ids(app) == before and session(app).prompt == "The capital of France is"
    press(app, "Step")
    assert len(ids(app)) == 2


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("Temperature, exact value", -1.0, "temperature must not be negative"),
        ("Temperature, exact value", 1e-9, "temperature is too small"),
        ("Top-p, exact value", 0.0, "top_p must be above 0"),
        ("Top-p, exact value", 1.5, "top_p must be above 0"),
        ("Top-k, exact value", -1, "top_k must be 0 or a positive"),
        ("Top-k, exact value", 16_385, "top_k is above the vocabulary"),
        ("Min-p, exact value", 2.0, "min_p must be between 0 and 1"),
        ("Repetition penalty, exact value", 0.0, "repetition_penalty must be above 0"),
        ("Max tokens", 10**9, "max_new_tokens is beyond the longest run"),
        ("Max tokens", -1, "max_new_tokens must not be negative"),
        ("Seed", -5, "seed is out of range"),
    ],
)
def test_a_setting_out_of_range_is_one_sentence_and_changes_nothing(app, field, value, said):
    press(app, "Step")
    before, settings = ids(app), session(app).decoder.settings
    good = number(app, field).value
    number(app, field).set_value(value).run()
    assert not app.exception
    (message,) = errors(app)
    assert message.startswith(said)
    assert ids(app) == before and session(app).decoder.settings == settings
    assert {"Step", "Play", "Run to end"} <= disabled(app)
    assert list(charts(app)) == TITLES, "the last settings that made sense are shown"
    number(app, field).set_value(good).run()
    assert not errors(app)
    press(app, "Step")
    assert len(ids(app)) == 2


@pytest.mark.parametrize("token_id", [-1, 16_384, 10**12])
def test_a_forced_token_outside_the_vocabulary_cannot_be_pressed(app, token_id):
    number(app, "Force token (id)").set_value(token_id).run()
    assert next(button for button in app.button if button.label == "Force").disabled
    assert any("Ids go from 0 to 16,383" in text.value for text in app.text)
    assert ids(app) == []


def test_a_bad_field_elsewhere_leaves_the_sliders_working(app):
    press(app, "Step")
    number(app, "Max tokens").set_value(10**9).run()
    number(app, "Temperature, exact value").set_value(2.0).run()
    assert "max_new_tokens" in errors(app)[0]
    hot = app.session_state["session"].decoder.distribution(0, read_chain(app))
    assert any(f"{hot.entropy_bits:.2f} bits" in caption.value for caption in app.caption)


def test_an_error_goes_when_its_field_is_mended(app):
    number(app, "Top-p, exact value").set_value(1.5).run()
    press(app, "Start")
    assert "top_p" in errors(app)[0]
    number(app, "Top-p, exact value").set_value(0.9).run()
    assert errors(app) == []


def test_inspecting_ends_play(app):
    press(app, "Step")
    press(app, "Step")
    session(app).mode = "playing"
    number(app, "Inspect step").set_value(1).run()
    assert session(app).mode == "paused"
    assert session(app).inspected == 0


def test_nan_logits_keep_the_text(tiny, monkeypatch):
    press(tiny, "Step")
    before = ids(tiny)
    forward = LanguageModel.forward

    def broken(self, *args, **kwargs):
        result = forward(self, *args, **kwargs)
        return type(result)(np.full_like(result.logits, np.nan), None, result.ms)

    with monkeypatch.context() as patch:
        patch.setattr(LanguageModel, "forward", broken)
        press(tiny, "Step")
        assert "NaN" in errors(tiny)[0]
        assert ids(tiny) == before and list(charts(tiny)) == TITLES


def test_a_row_that_cannot_be_shown_is_a_sentence(tiny, monkeypatch):
    press(tiny, "Step")
    monkeypatch.setattr(LogitRecord, "row", lambda self, index: np.full(64, np.nan, np.float32))
    tiny.run()
    assert not tiny.exception
    assert "NaN" in errors(tiny)[0] and len(ids(tiny)) == 1


def test_hostile_tokens_do_not_break_the_page(tiny):
    tiny.text_area(key="prompt").set_value("|".join(hostile.HOSTILE))
    press(tiny, "Start")
    for token_id in range(1, 8):
        number(tiny, "Force token (id)").set_value(token_id).run()
        press(tiny, "Force")
    number(tiny, "Rows").set_value(64).run()
    assert not tiny.exception and not errors(tiny)
    shown = html_of(tiny)
    assert "&lt;script&gt;alert(1)" in shown and "&lt;img" in shown
    assert "<script" not in shown and "<img src" not in shown
