"""The prompt follows a person from page to page, with the step page's settings if they are new."""

import pytest
from streamlit.testing.v1 import AppTest

from engine.sampling import SamplingSettings
from tests.pages.tab import field, in_tab, new_app, visit_of
from ui.models.models import SharedModels
from ui.step.channel import step_session
from ui.texts.texts import Beginning
from ui.visits.handover import STEP, HandedOver


@pytest.fixture
def app(monkeypatch, folder) -> AppTest:
    monkeypatch.setenv("DECODING_MODEL", folder)
    monkeypatch.setattr("ui.models.chooser.MODELS", SharedModels())
    app = in_tab(new_app()).run()
    step_session(visit_of(app))
    return app


def opened(app: AppTest, page: str):
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception
    return visit_of(app).present(page)


def start(app: AppTest, prompt: str, **settings) -> None:
    """Press Start on the step page."""
    visit = visit_of(app)
    model = step_session(visit).model
    beginning, settings = Beginning(prompt), SamplingSettings(**settings)
    visit.handed[STEP] = HandedOver(model, beginning, settings)
    step_session(visit)


def test_prompt_and_settings_follow_to_new_pages(app):
    start(app, "w1|w2|w3", temperature=0.3, top_p=0.6, seed=7)
    comparison = opened(app, "compare")
    assert comparison.inputs.prompt == "w1|w2|w3" and comparison.inputs.seed == 7
    first, *others = [column.settings for column in comparison.columns]
    assert (first.temperature, first.top_p) == (0.3, 0.6)
    assert all(settings.chain != first.chain for settings in others)
    speculative = opened(app, "speculative").inputs
    assert (speculative.prompt, speculative.temperature, speculative.top_p) == (
        "w1|w2|w3",
        0.3,
        0.6,
    )
    assert opened(app, "beam").inputs.prompt == "w1|w2|w3"
    assert opened(app, "tokens").inputs.prompt == "w1|w2|w3"
    cache = opened(app, "cache").sections
    assert cache["with_and_without"].inputs.prompt == cache["quantised"].inputs.prompt == "w1|w2|w3"


def test_newest_typed_prompt_follows_to_other_pages(app):
    start(app, "w1|w2", temperature=0.3)
    comparison = opened(app, "compare")
    comparison.set_settings(2, SamplingSettings(temperature=0.9))
    field(app, "text_area", "compare_prompt").set_value("w4|w5").run()
    assert comparison.inputs.prompt == "w4|w5"
    assert opened(app, "beam").inputs.prompt == "w4|w5"
    assert opened(app, "compare").inputs.prompt == "w4|w5"
    start(app, "w6", temperature=0.5)
    assert opened(app, "compare").inputs.prompt == "w6"
    assert comparison.columns[1].settings.temperature == 0.9, "only a new page takes settings"
    assert opened(app, "beam").inputs.prompt == "w6"


def test_constrained_page_keeps_its_example_prompt(app):
    own = opened(app, "constrained").inputs
    start(app, "w1|w2", temperature=0.3)
    assert opened(app, "constrained").inputs == own
    assert opened(app, "beam").inputs.prompt == "w1|w2"
    lab = opened(app, "constrained")
    lab.change(prompt="w8", language="regex", source="[w1-9|]+")
    assert not lab.error
    assert opened(app, "beam").inputs.prompt == "w8"


def test_pages_start_nothing_on_a_loaded_model(app):
    for column in opened(app, "compare").columns:
        assert column.length == 0
    for page in ("beam", "speculative"):
        lab = opened(app, page)
        assert lab.text.steps == [] and not lab.player.is_growing
    opened(app, "tune")
    assert visit_of(app).present("tuning").work is None
