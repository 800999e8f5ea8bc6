"""The state of the diffusion page: inputs, views, experiments."""

import json
import re

import pytest

from engine.trace import Trace
from tests.ui.labs.settling import settled
from ui.jobs import UNKNOWN
from ui.labs.diffusion.lab import AFTER, DiffusionInputs, DiffusionLab, masked_model
from ui.labs.diffusion.picture import SIGNS, canvas, notice, percent

SHORT = "The [6] sat on the mat."
PATIENCE_S = 120


@pytest.fixture(scope="module")
def model(bundled):
    return bundled


@pytest.fixture(scope="module")
def opened(model) -> DiffusionLab:
    """The lab as the page opens it; tests change a copy, like a second tab's."""
    return settled(DiffusionLab(model))


@pytest.fixture
def lab(opened) -> DiffusionLab:
    return opened.copy()


def change(lab: DiffusionLab, **changes) -> None:
    lab.change(**changes)
    settled(lab)


def test_lab_opens_with_remasking_and_steps_until_filled(lab):
    assert len(lab.text.steps) == DiffusionLab.first_steps and not lab.error
    assert sum(len(step.remasked) for step in lab.text.steps) >= 1
    assert "masked again" in notice(lab) and "Kendall's tau" in notice(lab)
    while lab.player.can_go_on:
        lab.player.step()
    assert len(lab.text.steps) == lab.inputs.steps and lab.text.stop_reason == "filled"
    lab.compare_pair()
    assert lab.pair is None and lab.joint_task is None, "no two masks are left"
    lab.player.back()
    assert lab.player.can_go_on and lab.shown_steps == lab.inputs.steps - 1


def test_canvas_can_follow_the_prompt(lab):
    change(lab, prompt="Once upon a time", where=AFTER, masks=5)
    assert "from 14 to 5" in lab.adjusted
    assert lab.inputs.steps == 5 and len(lab.text.canvas) == 9
    change(lab, masks=8)
    assert lab.adjusted == "" and lab.inputs.steps == 5


def test_steps_and_blocks_shrink_to_a_smaller_canvas(lab):
    change(lab, block_length=14)
    assert not lab.error and lab.inputs.block_length == 14 and lab.inputs.steps == 14
    change(lab, prompt=SHORT)
    assert "from 14 to 6" in lab.adjusted and "from 14 to one block" in lab.adjusted
    assert (lab.inputs.steps, lab.inputs.block_length) == (6, 0)
    change(lab, block_length=2, steps=6)
    change(lab, prompt="The [4] sat.")
    assert (lab.inputs.steps, lab.inputs.block_length) == (4, 2)


def test_random_order_turns_remasking_off(lab):
    change(lab, remasking="random")
    assert lab.adjusted.startswith("Re-masking η went from 1 to 0")
    assert not lab.error and lab.text.settings.eta == 0
    change(lab, remasking="entropy")
    assert lab.adjusted == ""


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"steps": 512}, "steps must be at most"),
        ({"block_length": 5}, "block_length must divide"),
        ({"prompt": "no gap"}, "has no gap"),
        ({"where": AFTER, "masks": 400}, "more than the 256 positions"),
        ({"remasking": "random", "eta": 1.0}, "eta compares"),
        ({"temperature": -1.0}, "Temperature must"),
        ({"folder": "/nowhere"}, "no folder /nowhere"),
        ({"where": "there"}, "where is not known"),
    ],
)
def test_refused_change_keeps_the_text(lab, changes, said):
    text, inputs = lab.text, lab.inputs
    lab.change(**changes)
    assert said in lab.error and lab.adjusted == ""
    assert lab.text is text and lab.inputs == inputs


def test_causal_model_folder_is_refused(lab):
    lab.change(folder="models/target")
    assert "causal language model" in lab.error and lab.inputs.folder == ""
    change(lab, folder="models/diffusion")
    assert not lab.error and lab.text.model is masked_model("models/diffusion")


def test_another_step_and_position_can_be_selected(lab):
    lab.look_at(steps=2, position=9)
    assert lab.has_looked and lab.shown.index == 1 and lab.shown_position == 9
    assert lab.shown_ids == lab.text.steps[1].ids_after
    assert len(lab.shown_masks) == 24 and lab.pair == tuple(lab.shown_masks[:2])
    lab.look_at(pair=(lab.shown_masks[3], lab.shown_masks[1]))
    assert lab.pair == (lab.shown_masks[3], lab.shown_masks[1])
    lab.look_at(position=0)  # a given token
    assert lab.shown_position == lab.shown.unmasked[0]
    lab.player.step()
    assert lab.view.steps is None and lab.shown is lab.text.steps[-1]
    lab.look_at(steps=len(lab.text.steps))
    assert lab.view.steps is None, "the latest step is followed"


def test_a_pair_is_compared_in_both_orders(lab, monkeypatch):
    monkeypatch.setattr("ui.labs.diffusion.lab.TRIED", 3)
    pair = lab.pair
    lab.compare_pair()
    assert lab.joint_task.wait(PATIENCE_S) and not lab.joint_task.problem
    canvas, errors = lab.joint
    assert canvas == lab.shown_ids
    assert [(error.first, error.second) for error in errors] == [pair, pair[::-1]]
    assert all(0 < error.lowest <= error.highest <= 1 for error in errors)
    assert all(len(error.outcomes) == 3 for error in errors)
    change(lab, seed=4)
    assert lab.joint is None


def test_passages_resume_after_a_cancel_and_are_kept(lab):
    change(lab, prompt=SHORT, steps=6)
    lab.take_seeds(1.0)
    assert lab.plan.step_counts == (1, 2, 4, 6) and lab.plan.count == 5
    lab.begin(UNKNOWN)
    lab.passages.cancel()
    lab.passages.wait(PATIENCE_S)
    before = list(lab.passages.passages)
    assert len(before) < lab.passages.count
    lab.passages.start()
    lab.passages.wait(PATIENCE_S)
    assert lab.passages.is_done and not lab.passages.problem
    assert [passage.steps for passage in lab.passages.passages] == [None, 1, 2, 4, 6]
    assert lab.passages.passages[: len(before)] == before
    change(lab, seed=9)
    assert lab.passages.is_done, "they stay on the page"
    twin = lab.copy()
    assert twin.passages is lab.passages and twin.text.ids == lab.text.ids
    lab.release()


def test_unmeasurable_prompt_or_seeds_are_refused(lab):
    change(lab, prompt="[4] sat on the mat.")
    lab.begin(UNKNOWN)
    assert "begins with a gap" in lab.error and lab.passages is None
    lab.take_seeds(0)
    assert lab.error.startswith("Seeds is out of range, got 0") and lab.seeds == 3


def test_notice_says_when_tokens_cannot_be_remasked(lab):
    change(lab, eta=0.0)
    while lab.player.can_go_on:
        lab.player.step()
    shown = []
    for steps in range(1, lab.inputs.steps + 1):
        lab.look_at(steps=steps)
        shown.append(notice(lab))
    assert any("it stays" in text for text in shown)
    assert not any("is masked again" in text for text in shown)
    change(lab, remasking="left_to_right", steps=0)
    assert "strictly from left to right" in notice(lab)


def test_lab_is_restored_and_its_trace_round_trips(lab, model):
    change(lab, seed=11, eta=0.5)
    record = json.loads(json.dumps(lab.record()))
    again = DiffusionLab.restored(record, lambda source, revision: model)
    settled(again)
    assert again.inputs == lab.inputs and again.text.ids == lab.text.ids
    trace = Trace.from_json(lab.text.trace().to_json())
    assert trace.steps == tuple(lab.text.steps)


def test_inputs_are_fitted_to_the_masks():
    inputs = DiffusionInputs(steps=14, block_length=7)
    assert inputs.fitted(28) == DiffusionInputs(steps=12, block_length=7)
    assert inputs.fitted(14) == inputs
    assert DiffusionInputs(steps=0).fitted(3).steps == 0
    assert inputs.fitted(8) == DiffusionInputs(steps=8, block_length=0)
    assert DiffusionInputs(steps=1, block_length=2).fitted(8).steps == 4


def test_stage_view_marks_states_with_legend_signs(opened):
    assert [percent(share) for share in (0, 0.001, 0.5, 1)] == ["0 %", "<1 %", "50 %", "100 %"]
    tiles = re.findall(r'<li class="dv-([a-z-]+)">.*?</li>', canvas(opened, is_short=True))
    assert len(tiles) == len(opened.text.canvas)
    page = canvas(opened, is_short=True)
    for state, sign in SIGNS.items():
        assert f'<span class="dv-{state}"><b>{sign}</b>' in page
        shown = re.findall(rf'<li class="dv-{state}">.*?<i>(.*?)</i>', page)
        assert len(shown) == tiles.count(state)
        assert all(re.fullmatch(rf"{sign}( (&lt;)?\d+ %)?", one) for one in shown), shown
