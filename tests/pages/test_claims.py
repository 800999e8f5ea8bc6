"""The claims page without a browser: every claim is predicted, run, judged, and comes back."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.tab import field, in_tab, new_app, visit_of
from ui.measurements.state import MeasurementState
from ui.models.models import SharedModels

PAGE = "pages/claims.py"


@pytest.fixture
def app(monkeypatch, folder) -> AppTest:
    monkeypatch.setenv("DECODING_MODEL", folder)
    monkeypatch.setattr("ui.models.chooser.MODELS", SharedModels())
    app = in_tab(new_app()).run()
    app.switch_page(PAGE).run()
    assert not app.exception
    return app


def state_of(app: AppTest) -> MeasurementState:
    return visit_of(app).present("claims")


def html(app: AppTest) -> str:
    return "".join(str(one.proto.body) for one in app.get("html"))


def test_a_claim_is_predicted_run_and_judged(app):
    state = state_of(app)
    field(app, "text_area", "claims_no_plan_prompts").set_value("w1|w2\nw3|w4|w5").run()
    field(app, "text_input", "claims_no_plan_places").set_value("1").run()
    field(app, "button_group", "claims_no_plan_predicted").set_value("depends").run()
    (run,) = [one for one in app.button if one.label == "Run"]
    run.click().run()
    state.held.work.wait(60)
    app.run()
    assert not app.exception and not app.error
    assert "You predicted that it depends." in html(app)
    assert "What the verdict stands on" in html(app) and len(app.get("plotly_chart")) == 1
    assert len(state.held.result().forks) == 2
    assert json.loads(state.report().to_json())["parts"]["no_plan"]["tokens"] > 0
