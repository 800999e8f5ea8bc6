"""The claims page without a browser: every claim is predicted, run, judged, and restored."""

import json
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from engine.model import LanguageModel
from tests.charts import charts
from tests.pages.tab import field, in_tab, new_app, restarted, visit_of
from tests.ui import hostile
from ui.claims.claims import CLAIMS
from ui.claims.words import SYMBOLS
from ui.labs.speculative.lab import ITSELF
from ui.measurements.state import MeasurementState
from ui.models.models import SharedModels

PAGE = "pages/claims.py"
PROMPTS = "w1|w2\nw3|w4|w5"
FACTS = '[kind]\n"w1|w2" = ["w3"]\n"w3|<b>bold</b>" = ["w4", "w5"]'
REFUSED = {"broken_json": "allows none of this model's tokens"}  # it lacks a quotation mark
SHORT = {  # inputs for every claim that run quickly
    "one_token": {"prompts": PROMPTS, "tokens": 8, "places": "1"},
    "same_seed": {"prompts": PROMPTS, "runs": 2, "tokens": 3},
    "determinism": {"prompts": PROMPTS, "tokens": 3, "batch": 2},
    "nucleus_adapts": {"prompts": PROMPTS, "tokens": 4, "texts": 1},
    "fixed_k": {"prompts": PROMPTS, "tokens": 4, "texts": 1},
    "tail": {"prompts": PROMPTS, "words": "w7\n<b>bold</b>"},
    "truth": {"facts": FACTS, "samples": 2},
    "calibration": {"facts": FACTS},
    "temperature": {"facts": FACTS},
    "greedy_loops": {"prompts": PROMPTS, "tokens": 16},
    "penalties": {"prompts": PROMPTS, "tokens": 16, "words": "w9|"},
    "letters": {"common": "cat", "rare": "fjord"},
    "beam": {"prompts": PROMPTS, "tokens": 8, "width": 2},
    "broken_json": {"prompt": "w1", "source": '{"const": "w5"}', "runs": 1},
    "speculative": {"prompts": PROMPTS, "proposer": ITSELF, "lengths": "2", "tokens": 8},
    "output_slower": {"prompts": "2, 4", "output": 3, "rounds": 2},
    "output_time": {"prompts": "2, 4", "outputs": "2, 3", "rounds": 2},
    "cached_flat": {"prompt": "w1|w2", "positions": 8},
    "long_context": {"positions": 24},
}


@pytest.fixture
def app(monkeypatch, folder) -> AppTest:
    monkeypatch.setenv("DECODING_MODEL", folder)
    monkeypatch.setattr("ui.models.chooser.MODELS", SharedModels())
    app = in_tab(new_app()).run()
    app.switch_page(PAGE).run()
    assert not app.exception
    state = state_of(app)
    for key, held in state.sections.items():
        held.inputs = replace(held.inputs, **SHORT[key])
    return app


def state_of(app: AppTest) -> MeasurementState:
    return visit_of(app).present("claims")


def html(app: AppTest) -> str:
    return "".join(str(one.proto.body) for one in app.get("html"))


def pressed(app: AppTest, label: str) -> None:
    (button,) = [one for one in app.button if one.label == label]
    button.click().run()


def finished(app: AppTest) -> MeasurementState:
    """Draw until all measurements are done."""
    state = state_of(app)
    app.run()  # "Run all claims" begins the first of them here
    was_busy = True  # at the last drawing
    while was_busy:
        was_busy = state.is_busy
        for held in [held for bench in state.benches for held in bench.sections.values()]:
            if held.work is not None:
                held.work.wait(60)
        app.run()
    assert not app.exception
    assert [error.value for error in app.error] == []
    return state


def test_all_claims_run_and_show_their_verdicts(app):
    assert list(SHORT) == [claim.key for claim in CLAIMS] == list(state_of(app).sections)
    pressed(app, "Run all claims")
    state = finished(app)
    for key, held in state.sections.items():
        state.choose(key)
        app.run()
        assert not app.exception, key
        if key in REFUSED:
            assert REFUSED[key] in app.error[0].value
            continue
        assert "Basis of the verdict" in html(app) and charts(app), key
        assert held.mark in SYMBOLS.values() and held.section.heading in html(app)
    parts = json.loads(state.report().to_json())["parts"]
    assert set(parts) == set(SHORT) - set(REFUSED)


def test_prediction_stays_with_its_own_result(app):
    field(app, "button_group", "claims_one_token_predicted").set_value("fails").run()
    pressed(app, "Run")
    state = finished(app)
    assert "You predicted that it does not hold." in html(app)
    assert state.held.mark == "?" and "The result is" not in html(app), "nothing is decided"
    field(app, "button_group", "claims_one_token_predicted").set_value("depends").run()
    assert "You predicted that it does not hold." in html(app), "before it was run"
    field(app, "text_input", "claims_one_token_places").set_value("x").run()
    pressed(app, "Run")
    assert "write them as in 0.5, 1, 2" in app.error[0].value and state.held.result() is not None
    restarted(app)
    app.run()
    again = state_of(app)
    assert again is not state and again.held.inputs.predicted == "depends"
    assert again.held.result() == state.held.result()
    assert "You predicted that it does not hold." in html(app), "the verdict is kept as well"
    assert again.held.mark == "?" and not again.is_busy


def test_second_model_is_shown_next_to_first(app):
    state = state_of(app)
    state.load_second(LanguageModel(hostile.language_model(128), hostile.tokenizer(), name="two"))
    state.choose("tail")
    app.run()
    field(app, "button_group", "claims_tail_predicted").set_value("holds").run()
    pressed(app, "Run")
    finished(app)
    assert "The result is" in html(app)
    assert [one.value for one in app.subheader][1:] != [] and html(app).count("claim-verdict") >= 2
    assert len({id(one.result()) for one in state.in_sight}) == 2
    other = json.loads(state.report().to_json())
    state.lay_over(json.dumps(other))
    app.run()
    assert len(charts(app)) == 3 * 2, "the laid one has a column of its own"
    state.drop_second()
    app.run()
    assert not app.exception and len(charts(app)) == 2 * 2
