"""The page of constrained decoding without a browser: fields, figures, experiments, and back."""

import json
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from engine.study.validity import judge
from tests.bundled import bundled
from tests.charts import charts
from tests.engine.backend.top_n import TopN
from tests.pages.tab import field, in_tab, new_app, restarted, visit_of
from ui.labs.constrained.lab import ConstrainedLab
from ui.models.models import SharedModels
from ui.models.startup import START
from ui.texts.constraints import EXAMPLES, FIRST

PAGE = "pages/constrained.py"


@pytest.fixture(scope="module")
def opened() -> Iterator[AppTest]:
    """The page for a new visitor; tests look at it and change nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DECODING_MODEL", raising=False)
        app = in_tab(new_app()).run()
        START.wait(lambda activity: None, lambda: True)
        app.switch_page(PAGE).run()
        yield settled(app)


@pytest.fixture
def app(monkeypatch, opened) -> AppTest:
    """The page of a second visitor, who has a copy of the same text."""
    monkeypatch.delenv("DECODING_MODEL", raising=False)
    app = in_tab(new_app()).run()
    visit_of(app).put("constrained", held(opened).copy())
    app.switch_page(PAGE).run()
    return settled(app)


def held(app: AppTest) -> ConstrainedLab:
    return visit_of(app).present("constrained")


def settled(app: AppTest) -> AppTest:
    """Wait until all work is done."""
    lab = held(app)
    assert lab.player.settle(30) and (lab.walk is None or lab.walk.wait(30))
    assert not app.run().exception
    return app


def page_text(app: AppTest) -> str:
    return " ".join(str(each.proto.body) for each in app.get("html"))


def choose(app: AppTest, name: str) -> ConstrainedLab:
    field(app, "selectbox", "constrained_example").set_value(name).run()
    settled(app)
    return held(app)


def press(app: AppTest, label: str) -> AppTest:
    next(button for button in app.button if button.label == label).click().run()
    return settled(app)


def test_page_opens_with_text_and_notice(opened):
    app, lab = opened, held(opened)
    assert len(lab.text.steps) > 8 and not app.error
    notices = [one.value for one in app.markdown if one.value.startswith("**What to notice:**")]
    assert len(notices) == 1 and "The constraint costs" in notices[0]
    shown = page_text(app)
    assert "con-forced" in shown and "what the model wanted instead" in shown
    assert "Every step" in shown and "allowed probability" in shown
    assert len(charts(app)) == 1


def test_every_example_gives_a_valid_text(app):
    field(app, "selectbox", "constrained_language").set_value("regex").run()
    lab = held(app)
    assert (lab.inputs.language, lab.inputs.source) == ("regex", FIRST["regex"].source)
    for example in EXAMPLES:
        lab.choose(example)
        settled(app)
        assert (lab.inputs.language, lab.inputs.source) == (example.language, example.source)
        assert lab.inputs.prompt == example.prompt and not lab.error
        assert lab.text.stop_reason == "eos" and lab.ribbon.is_complete
        assert judge(lab.constraint, lab.text.text).is_valid is not False


def test_refused_source_stays_as_draft_without_changing_text(app):
    lab = choose(app, "A small number")
    ids = lab.text.token_ids
    field(app, "text_area", "constrained_source").set_value("[0-9").run()
    assert [error.value for error in app.error] and "unclosed character class" in app.error[0].value
    assert field(app, "text_area", "constrained_source").value == "[0-9"
    assert held(app).text.token_ids == ids and held(app).inputs.source != "[0-9"
    field(app, "text_area", "constrained_source").set_value("[0-9]{3}").run()
    settled(app)
    assert not app.error
    assert field(app, "text_area", "constrained_source").value == "[0-9]{3}"
    assert len(held(app).text.text) == 3 and held(app).text.text.isdigit()
    field(app, "selectbox", "constrained_language").set_value("json_schema").run()
    source = field(app, "text_area", "constrained_source")
    source.set_value('{"type": "boolean", "maxlength": 3}').run()
    assert any('are not enforced: "maxlength"' in one.value for one in app.caption)
    field(app, "text_area", "constrained_source").set_value('{"maxlength": 3').run()
    assert app.error and not any("not enforced" in one.value for one in app.caption)


def test_figures_follow_text_and_chosen_step(app):
    lab = held(app)
    length = len(lab.text.steps)
    assert lab.shown == lab.dearest
    other = 0 if lab.dearest else 1
    field(app, "number_input", "constrained_step_shown").set_value(other + 1).run()
    assert lab.shown == other and f"Step {other + 1}: what the model wanted" in page_text(app)
    field(app, "number_input", "constrained_step_shown").set_value(900).run()
    assert lab.shown == other and "Step to look at" in app.error[0].value
    press(app, "Back")
    assert len(lab.figures) == len(lab.text.steps) == length - 1
    press(app, "Rewind")
    assert lab.figures == [] and lab.shown is None
    press(app, "Step")
    assert len(lab.figures) == 1 and lab.shown == 0


def test_forced_token_breaks_object_but_not_text(app):
    lab = held(app)
    assert lab.verdict.is_valid and lab.text.stop_reason == "eos"
    ids = lab.text.token_ids
    press(app, "Force it")
    broken = lab.broken
    assert broken is not None and lab.text.token_ids == ids
    assert broken.index == lab.dearest and broken.verdict.is_valid is False
    assert broken.left_at is not None or not broken.is_complete
    shown = page_text(app)
    assert "Without the constraint" in shown and "With the constraint" in shown


def test_both_distributions_are_computed_over_whole_texts(app):
    lab = choose(app, "Yes or no")
    press(app, "Compute both")
    found = lab.walk.result
    assert lab.walk.is_done and not lab.walk.problem
    assert {each.text for each in found.texts} <= {" yes", " no"} and found.texts
    assert any("total variation" in one.value for one in app.markdown)
    assert len(charts(app)) == 2
    choose(app, "A small number")
    assert lab.walk is None, "results of another constraint"


def test_prompt_and_source_come_back_after_a_restart(app):
    lab = choose(app, "A tiny tale")
    field(app, "number_input", "constrained_temperature").set_value(0.5).run()
    settled(app)
    ids = held(app).text.token_ids
    restarted(app)
    settled(app.run())
    back = held(app)
    assert back is not lab and back.inputs == lab.inputs and back.text.token_ids == ids
    assert json.loads(back.text.trace().to_json())["settings"]


def test_hostile_texts_are_shown_as_text(app):
    lab = held(app)
    lab.change(language="choices", source='["<b>x</b>"]', prompt="<script>alert(1)</script>")
    app.run()
    settled(app)
    shown = page_text(app)
    assert "<script>" not in shown and "<b>x" not in shown and "&lt;script&gt;" in shown


def test_model_lacking_allowed_characters_is_reported(monkeypatch, folder):
    monkeypatch.setenv("DECODING_MODEL", folder)
    monkeypatch.setattr("ui.models.chooser.MODELS", SharedModels())
    app = in_tab(new_app()).run()
    app.switch_page(PAGE).run()
    assert not app.exception
    assert "allows none of this model" in app.error[0].value and held(app).text is None


def test_server_lists_all_tokens_here(monkeypatch):
    monkeypatch.setattr("ui.visit_page.model_of", lambda visit: (TopN(bundled(), 50), ""))
    app = in_tab(new_app()).run()
    app.switch_page(PAGE).run()
    lab = held(app)
    for _ in range(3):
        app.button(key="constrained_step").click().run()
        settled(app)
    assert lab.model.listed is None and lab.figures[0].wanted
    alone = ConstrainedLab(bundled(), steps=3)
    assert lab.text.token_ids == alone.text.token_ids
    assert any("scores of all 16,384 tokens at every step" in each.value for each in app.caption)
