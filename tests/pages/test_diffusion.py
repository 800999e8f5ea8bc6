"""The diffusion page without a browser: fields, picture, experiments, and back."""

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from tests.charts import charts
from tests.pages.tab import field, in_tab, new_app, visit_of
from ui.labs.diffusion.lab import DiffusionLab
from ui.shell import navigation

PAGE = "pages/diffusion.py"
PATIENCE_S = 120


@pytest.fixture(scope="module")
def opened() -> Iterator[AppTest]:
    """The page for a new visitor; tests look at it and change nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DECODING_MODEL", raising=False)
        app = in_tab(new_app()).run()
        app.switch_page(PAGE).run()
        assert not app.exception
        yield settled(app)


@pytest.fixture
def app(monkeypatch, opened) -> AppTest:
    """The page of a second visitor, who has a copy of the same text."""
    monkeypatch.delenv("DECODING_MODEL", raising=False)
    app = in_tab(new_app()).run()
    visit_of(app).put("diffusion", held(opened).copy())
    app.switch_page(PAGE).run()
    assert not app.exception
    return settled(app)


def settled(app: AppTest) -> AppTest:
    lab, was_busy = held(app), True  # at the last drawing
    while was_busy:
        was_busy = lab.player.is_growing or lab.player.is_busy
        app.run()
    assert not app.exception
    return app


def held(app: AppTest) -> DiffusionLab:
    return visit_of(app).present("diffusion")


def canvas(app: AppTest) -> str:
    drawn = [one.body for one in app.get("html") if 'class="dv-canvas"' in one.body]
    (found,) = [body for body in drawn if "dv-staged" not in body]
    return found


def words(app: AppTest) -> str:
    return " ".join(one.value for one in (*app.markdown, *app.caption))


def test_page_opens_with_tiles_charts_and_notice(opened):
    app = opened
    step = held(app).text.steps[-1]
    found = canvas(app)
    for state, places in (
        ("new", step.unmasked),
        ("re-masked", step.remasked),
        ("masked", [place for place in step.masked if place not in step.remasked]),
    ):
        assert found.count(f'<li class="dv-{state}">') == len(places) > 0, state
    assert set(charts(app)) == {
        f"diffusion_{name}" for name in ("map", "distribution", "order", "counts")
    }
    assert "What to notice" in words(app) and "masked again" in words(app)
    shares = charts(app)["diffusion_distribution"]["data"][0]["x"]
    assert len(shares) == 11 and sum(shares) == pytest.approx(1)


def test_canvas_follows_steps_and_scrubber(app):
    before = len(held(app).text.steps)
    field(app, "slider", "diffusion_scrubber").set_value(2).run()
    assert held(app).shown_steps == 2 and len(held(app).text.steps) == before
    step = held(app).text.steps[1]
    found = canvas(app)
    assert found.count('<li class="dv-new">') == len(step.unmasked)
    assert found.count('<li class="dv-masked">') == len(step.masked)
    app.button(key="diffusion_step").click().run()
    assert len(held(app).text.steps) == before + 1
    assert field(app, "slider", "diffusion_scrubber").value == before + 1
    app.button(key="diffusion_back").click().run()
    assert len(held(app).text.steps) == before
    app.button(key="diffusion_rewind").click().run()
    assert not held(app).text.steps and not app.exception
    assert canvas(app).count('<li class="dv-masked">') == 28
    assert "Press Step" in words(app)


def test_distribution_follows_chosen_position_and_step(app):
    lab = held(app)
    field(app, "slider", "diffusion_scrubber").set_value(1).run()
    place = lab.text.steps[0].masked[5]
    field(app, "selectbox", "diffusion_position").set_value(place).run()
    (bars,) = charts(app)["diffusion_distribution"]["data"]
    expected = lab.text.distribution(0, place).raw
    expected.sort_to_depth(10)
    assert bars["x"][:10] == pytest.approx((expected.weights[:10] / expected.total).tolist())
    assert f"over all {expected.count:,} tokens" in words(app)


def test_fields_change_canvas_or_show_an_error(app):
    markup = "x <b>hi</b> <script>alert(1)</script> **y** $z$ [4] end"
    field(app, "text_area", "diffusion_prompt").set_value(markup).run()
    settled(app)
    _, tiles = canvas(app).split('<div class="dv-canvas">')
    assert "<b>" not in tiles and "<script" not in tiles and "&lt;" in tiles
    assert app.info[0].value.startswith("Steps went from 14 to 4")
    assert len(held(app).text.steps) == 4
    field(app, "number_input", "diffusion_steps").set_value(512).run()
    assert "at most the number of masks, 4" in app.error[0].value
    assert field(app, "number_input", "diffusion_steps").value == 4
    field(app, "selectbox", "diffusion_remasking").set_value("random").run()
    assert not app.error and app.info[0].value.startswith("Re-masking η went from 1 to 0")
    assert held(app).text.settings.remasking == "random"


def test_two_positions_are_compared(app, monkeypatch):
    monkeypatch.setattr("ui.labs.diffusion.lab.TRIED", 3)
    app.button(key="diffusion_joint_start").click().run()
    lab = held(app)
    lab.joint_task.wait(PATIENCE_S)
    app.run()
    assert "diffusion_joint" in charts(app) and "Total variation" in words(app)
    assert "Over the 3 likeliest first tokens" in words(app)
    first = lab.joint[1][0]
    assert f"position {first.first} first" in words(app)
    field(app, "selectbox", "diffusion_pair_0").set_value(first.second).run()
    assert held(app).pair == (first.second, first.first), "the two change places"


def test_passages_are_kept_across_page_changes(app):
    field(app, "text_area", "diffusion_prompt").set_value("The [3] sat.").run()
    field(app, "number_input", "diffusion_seeds").set_value(1).run()
    app.button(key="diffusion_passages_start").click().run()
    held(app).passages.wait(PATIENCE_S)
    app.run()
    measures = ("bits_per_byte", "repeated_2", "ms")
    assert {f"diffusion_{name}" for name in measures} <= set(charts(app))
    sheet = next(one.body for one in app.get("html") if "Quality and time by" in one.body)
    assert all(name in sheet for name in ("1 step", "2 steps", "3 steps", "autoregressive"))
    assert "Diffusion: 18.9 M parameters" in words(app)
    app.switch_page(navigation.HOME).run()
    app.switch_page(PAGE).run()
    settled(app)
    assert field(app, "text_area", "diffusion_prompt").value == "The [3] sat."
    assert "diffusion_bits_per_byte" in charts(app)


def test_page_explains_refusal_of_causal_model(app, monkeypatch):
    monkeypatch.setenv("DECODING_MODELS", "models/target")
    assert any("cannot fill gaps" in one.value for one in app.markdown)
    field(app, "text_area", "diffusion_folder").set_value("models/target").run()
    assert "causal language model" in app.error[0].value
    assert field(app, "text_area", "diffusion_folder").value == ""
