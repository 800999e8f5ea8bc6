"""The page of speculative decoding without a browser."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.tab import field, in_tab, new_app, visit_of
from ui.labs.speculative.lab import LOOKUP, SpeculativeLab


@pytest.fixture
def app(monkeypatch) -> AppTest:
    monkeypatch.delenv("DECODING_MODEL", raising=False)
    monkeypatch.setattr("ui.labs.speculative.lab.TOKENS", 3)
    monkeypatch.setattr("ui.labs.speculative.lab.TURNS", 1)
    app = in_tab(new_app()).run()
    app.switch_page("pages/speculative.py").run()
    assert not app.exception and not app.error
    return app


def held(app: AppTest) -> SpeculativeLab:
    return visit_of(app).present("speculative")


def settle(app: AppTest) -> None:
    while held(app).player.look_every is not None:
        app.run()
    assert not app.exception


def test_page_opens_with_rounds_and_inspects_proposals(app):
    settle(app)
    assert len(held(app).text.steps) == 4
    assert any("What to notice:" in line.value for line in app.markdown)
    assert any("share" in line.value and "rejected" in line.value for line in app.caption)
    field(app, "selectbox", "speculative_round").set_value(0).run()
    field(app, "selectbox", "speculative_place").set_value(1).run()
    assert held(app).looked_at == (0, 1) and not app.exception


def test_fields_change_rounds_or_show_an_error(app):
    settle(app)
    field(app, "number_input", "speculative_draft_length").set_value(2.0).run()
    settle(app)
    assert {len(step.proposed) for step in held(app).text.steps} == {2}
    field(app, "number_input", "speculative_draft_length").set_value(0.0).run()
    assert any("Draft length g" in error.value for error in app.error)
    assert held(app).inputs.draft_length == 2
    field(app, "number_input", "speculative_top_p").set_value(1.5).run()
    assert any("top_p" in error.value.lower() or "Top-p" in error.value for error in app.error)
    field(app, "checkbox", "speculative_forced").check().run()
    settle(app)
    assert any("TEXT INVALID" in warning.value for warning in app.warning)
    assert held(app).text.steps[0].text_invalid
    field(app, "selectbox", "speculative_proposer").set_value(LOOKUP).run()
    settle(app)
    assert held(app).text.draft is None and field(app, "number_input", "speculative_ngram")


def test_the_speed_is_measured(app):
    settle(app)
    (button,) = [button for button in app.button if button.label == "Measure speed"]
    button.click().run()
    held(app).work.wait(60)
    assert held(app).work.is_done
    app.run()
    assert not app.exception
    assert any("times the speed" in line.value for line in app.markdown)
