"""The page of beam search, as a visitor sees it."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.charts import charts
from tests.pages.tab import field, in_tab, new_app, restarted, visit_of
from ui.labs.beam.lab import BeamLab


@pytest.fixture
def app(monkeypatch) -> AppTest:
    monkeypatch.delenv("DECODING_MODEL", raising=False)
    app = in_tab(new_app()).run()
    app.switch_page("pages/beam.py").run()
    assert not app.exception
    settled(app)
    return app


def lab_of(app: AppTest) -> BeamLab:
    return visit_of(app).present("beam")


def settled(app: AppTest) -> BeamLab:
    """Draw until nothing grows and the texts are present."""
    lab = lab_of(app)
    assert lab.player.settle(30)
    app.run()  # begins the texts once there is a search to examine
    if lab.texts is not None:
        lab.texts.wait(60)
        app.run()
    assert not app.exception
    return lab


def press(app: AppTest, label: str) -> None:
    (button,) = [button for button in app.button if button.label == label]
    button.click()
    app.run()
    assert not app.exception


def html(app: AppTest) -> str:
    return "".join(str(one.proto.body) for one in app.get("html"))


def test_page_opens_with_tree_candidates_and_texts(app):
    lab = lab_of(app)
    assert len(lab.text.steps) == BeamLab.first_steps and lab.texts.is_done
    noticed = [one.value for one in app.markdown if "What to notice" in one.value]
    assert "reedy decoding" in noticed[0] and "nats" in noticed[1]
    assert len(charts(app)) == 2
    page = html(app)
    for caption in ("What may follow", "Ranking of this search", "Texts, likeliest first"):
        assert caption in page
    press(app, "Rewind")
    assert lab.text.steps == [] and any("Press Step" in one.value for one in app.markdown)


def test_tree_navigation_and_exact_search_work(app):
    lab = lab_of(app)
    nodes = field(app, "selectbox", "beam_node")
    pruned = next(name for name in nodes.options if "pruned" in name)
    nodes.set_value(pruned)
    app.run()
    assert lab.text.steps[lab.chosen[0]].candidates[lab.chosen[1]].fate == "pruned"
    assert any("so nothing follows it" in one.value for one in app.caption)
    field(app, "slider", "beam_last").set_value(3)
    app.run()
    assert lab.columns == (0, 2) and not app.exception
    field(app, "number_input", "beam_shown").set_value(2)
    app.run()
    assert lab.columns == (1, 2) and not app.exception
    field(app, "number_input", "beam_exact_tokens").set_value(6.0)
    app.run()
    press(app, "Prove the best")
    lab.exact.wait(60)
    app.run()
    assert not app.exception
    assert any("Proven: no text of at most 6 tokens" in one.value for one in app.markdown)
    assert "Exact search and beams" in html(app)
    assert any("beginnings read" in one.value for one in app.caption)


def test_settings_are_checked_applied_and_kept(app):
    lab = lab_of(app)
    field(app, "number_input", "beam_max_new_tokens").set_value(8.0)  # a restart makes texts
    field(app, "number_input", "beam_width").set_value(6.0)
    app.run()
    settled(app)
    assert (lab.text.settings.width, lab.text.settings.max_new_tokens) == (6, 8)
    assert lab.texts is None
    field(app, "number_input", "beam_groups").set_value(4.0)
    app.run()
    assert any("use one of 1, 2, 3, 6." in error.value for error in app.error)
    assert lab.text.settings.groups == 1
    field(app, "number_input", "beam_groups").set_value(3.0)
    app.run()
    field(app, "number_input", "beam_diversity_penalty").set_value(1.5)
    app.run()
    field(app, "number_input", "beam_length_penalty").set_value(0.5)
    app.run()
    settled(app)
    restarted(app)
    app.run()
    settings = settled(app).text.settings
    assert (settings.width, settings.groups, settings.diversity_penalty) == (6, 3, 1.5)
    assert settings.length_penalty == 0.5 and not app.error


def test_every_beam_keeps_to_a_constraint(app):
    field(app, "selectbox", "beam_language").set_value("choices").run()
    field(app, "text_area", "beam_source").set_value('[" we went home", " it was late"]').run()
    lab = settled(app)
    step = next(step for step in lab.text.steps if step.kept)
    lab.choose((step.index, step.candidates.index(step.kept[0])))
    app.run()
    assert "ruled out" in html(app)
    while lab.player.can_go_on:
        press(app, "Step")
    assert {one.text for one in lab.text.hypotheses} == {" we went home", " it was late"}
    assert "Both keep to the constraint" in " ".join(one.value for one in app.caption)
    field(app, "text_area", "beam_source").set_value("[]").run()
    assert "must be a list of texts" in app.error[0].value
    app.switch_page("app.py").run()
    app.switch_page("pages/beam.py").run()
    assert field(app, "text_area", "beam_source").value == "[]"
