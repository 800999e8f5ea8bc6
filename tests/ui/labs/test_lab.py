"""Common behaviour of all decoder pages, on the smallest lab."""

import json
import re
import threading

import pytest
from streamlit.testing.v1 import AppTest

from engine.errors import DecodingError, OutOfMemoryError
from engine.model import load_model
from engine.runner.job import this_job
from tests.engine.test_panics import PanicException
from tests.pages.tab import field, in_tab, visit_of
from tests.ui.labs.example import SearchLab
from tests.ui.labs.settling import settled
from ui import playing
from ui.jobs import Call
from ui.labs.lab import SPEEDS
from ui.visits.records import BrokenRecord


@pytest.fixture(scope="module")
def model(bundled):
    return bundled


@pytest.fixture(scope="module")
def opened(model) -> SearchLab:
    """The lab as a page opens it; tests change a copy, like a second tab's."""
    return settled(SearchLab(model))


@pytest.fixture
def lab(opened) -> SearchLab:
    return opened.copy()


def ids(lab: SearchLab) -> list[int]:
    return list(lab.text.token_ids)


def test_back_and_rewind_remove_steps(lab):
    before = ids(lab)
    lab.player.step()
    after = ids(lab)
    assert after[:-1] == before
    lab.player.back()
    assert ids(lab) == before
    lab.player.step()
    assert ids(lab) == after
    lab.player.rewind()
    assert ids(lab) == [] and lab.player.can_go_on
    lab.player.back()
    assert ids(lab) == []


def test_play_stops_at_the_limit(lab):
    assert len(lab.text.steps) == SearchLab.first_steps and lab.player.look_every is None
    lab.player.limit = 12
    lab.player.speed = "Fastest"
    lab.player.play()
    assert lab.player.look_every == SPEEDS["Fastest"][0]
    settled(lab)
    assert len(lab.text.steps) == 12 and not lab.player.playing and not lab.player.can_go_on
    lab.player.play()
    assert not lab.player.playing


def test_change_restarts_the_text_with_equal_length(lab):
    lab.player.step()
    text, before = lab.text, ids(lab)
    lab.change(top_k=1)
    settled(lab)
    assert lab.text is not text and len(ids(lab)) == len(before)
    lab.change(top_k=4)
    settled(lab)
    assert ids(lab) == before


def test_compatible_change_keeps_the_text(lab):
    text, before = lab.text, ids(lab)
    lab.change(penalty_alpha=0.1)
    lab.player.step()
    assert lab.text is text and ids(lab)[:-1] == before
    assert text.steps[-1].penalty_alpha == 0.1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"top_k": 99}, "Top-k"),
        ({"prompt": ""}, "prompt"),
        ({"prompt": "a" * 20_001}, "20,001"),
    ],
)
def test_refused_change_leaves_everything_unchanged(lab, changes, said):
    text, inputs, before = lab.text, lab.inputs, ids(lab)
    lab.change(**changes)
    assert said in lab.error
    assert (lab.text, lab.inputs, ids(lab)) == (text, inputs, before)


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (OutOfMemoryError("The memory is full."), "The memory is full."),
        (PanicException("out of bounds"), "(out of bounds)"),
        (ZeroDivisionError(), Call.kept),
    ],
)
def test_failed_step_says_why_and_keeps_the_text(lab, monkeypatch, failure, said):
    before = ids(lab)

    def fails(*_):
        raise failure

    with monkeypatch.context() as patch:
        patch.setattr(type(lab.text), "_step", fails)
        lab.player.step()
        assert said in lab.error and ids(lab) == before
    lab.player.step()
    assert lab.error == "" and ids(lab)[:-1] == before


def test_long_step_runs_in_background_until_cancelled(lab, monkeypatch):
    monkeypatch.setattr(playing, "PATIENCE_SECONDS", 0.0)
    begun, before = threading.Event(), ids(lab)

    def waits(*_):
        begun.set()
        while True:
            this_job().check()

    with monkeypatch.context() as patch:
        patch.setattr(type(lab.text), "_step", waits)
        lab.player.step()
        assert begun.wait(30) and lab.player.is_busy
        assert lab.player.look_every == playing.LOOK_SECONDS
        lab.player.step()  # only one task at a time
        lab.player.cancel()
        settled(lab)
    assert lab.error == Call.cancelled and ids(lab) == before and not lab.player.is_busy
    lab.player.step()
    settled(lab)
    assert ids(lab)[:-1] == before


def test_lab_is_restored_from_its_record(lab, model):
    lab.change(top_k=3, note="seen")
    lab.player.step()
    settled(lab)
    record = json.loads(json.dumps(lab.record()))
    again = SearchLab.restored(record, lambda source, revision: model)
    settled(again)
    assert ids(again) == ids(lab) and again.inputs == lab.inputs
    assert again.player.speed == lab.player.speed
    again.copy().player.step()
    assert ids(again) == ids(lab), "a copy does not change the original"


@pytest.mark.parametrize(("name", "value"), [("top_k", "4"), ("note", 2), ("penalty_alpha", None)])
def test_a_record_with_a_wrong_value_is_refused(lab, model, name, value):
    record = lab.record()
    record["inputs"][name] = value
    with pytest.raises(BrokenRecord, match=name):
        SearchLab.restored(record, lambda source, revision: model)


def test_another_model_restarts_the_text_or_refuses_inputs(lab):
    other = load_model()
    lab.load(other)
    text = settled(lab).text
    assert text.model is other and len(ids(lab)) == SearchLab.first_steps

    def refused(model, inputs):
        raise DecodingError("Not with this model.")

    lab.begun = refused
    with pytest.raises(DecodingError):
        lab.load(other)
    assert lab.text is text


def page() -> None:
    from tests.ui.labs.example import PAGE

    PAGE.draw()


@pytest.fixture
def drawn(monkeypatch) -> AppTest:
    monkeypatch.delenv("DECODING_MODEL", raising=False)
    monkeypatch.setattr("ui.shell.navigation.MAIN", {})
    monkeypatch.setattr("ui.shell.navigation.MENUS", {})
    app = in_tab(AppTest.from_function(page, default_timeout=120)).run()
    assert not app.exception
    return app


def press(app: AppTest, label: str) -> AppTest:
    (button,) = [button for button in app.button if button.label == label]
    button.click()
    app.run()
    assert not app.exception
    return app


def why_still(app: AppTest) -> str:
    """Return the caption at the buttons: the number of steps, and the reason for the end."""
    return next(one.value for one in app.caption if re.match(r"\d+ steps?( ·|$)", one.value))


def test_page_steps_rewinds_and_validates_inputs(drawn):
    lab = visit_of(drawn).present("search")
    settled(lab)
    drawn.run()
    assert any("The penalty changed" in one.value for one in drawn.markdown)
    assert why_still(drawn).startswith("8 steps · not at its end")
    press(drawn, "Step")
    assert len(lab.text.steps) == 9
    press(drawn, "Back")
    assert len(lab.text.steps) == 8
    press(drawn, "Rewind")
    assert lab.text.steps == [] and any("Press Step" in one.value for one in drawn.markdown)
    assert why_still(drawn) == "0 steps"
    field(drawn, "number_input", "search_top_k").set_value(99)
    drawn.run()
    assert any("Candidates" in error.value for error in drawn.error)
    assert lab.inputs.top_k == 4
    field(drawn, "number_input", "search_top_k").set_value(2)
    drawn.run()
    assert lab.inputs.top_k == 2 and not drawn.error
    lab.player.limit, lab.player.speed = 8, "Fastest"
    lab.player.play()
    settled(lab)
    assert "8 steps · ended: " in why_still(drawn.run())
