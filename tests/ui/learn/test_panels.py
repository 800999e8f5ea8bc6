"""Panels of lessons without a browser: start, actions, measures, record."""

import inspect
import math
from typing import Any

import pytest
import torch

from engine.errors import DecodingError
from ui.claims.claims import CLAIMS
from ui.labs.lab import Lab
from ui.learn.lesson import lesson_model
from ui.learn.panels import PANELS, AnyPanel
from ui.learn.panels.inside.weights import PARTS
from ui.learn.panels.lab.panel import settle
from ui.learn.panels.panel import Panel
from ui.learn.panels.step.measures import settings_named
from ui.learn.source import fitted

MOVED = {"do": "move", "sampler": "xtc", "before": "top_p"}
STEP = {"kind": "step", "prompt": "The capital of France is", "settings": {"seed": 3}}
SMALL = {
    "step": STEP | {"generated": 1},
    "beam": {"kind": "beam", "steps": 1, "inputs": {"width": 2}},
    "speculative": {"kind": "speculative", "steps": 1, "inputs": {"draft_length": 2}},
    "constrained": {"kind": "constrained", "steps": 1},
    "diffusion": {
        "kind": "diffusion",
        "steps": 1,
        "inputs": {"prompt": "The [3] sat on the mat.", "steps": 0},
    },
}


def panel_of(table: dict[str, Any]) -> Panel:
    return fitted(table, AnyPanel)


def do(panel: Panel, live: Any, *actions: dict[str, Any]) -> None:
    calls = [panel.actions.call(each) for each in actions]
    panel.begin_anew(live, calls)


def measured(panel: Panel, live: Any, measure: str, /, **arguments: Any) -> Any:
    return panel.measures[measure](live, **arguments)


@pytest.mark.parametrize("kind", list(PANELS)[: len(SMALL)])
def test_panel_steps_restarts_and_is_restored(kind: str):
    panel, model = panel_of(SMALL[kind]), lesson_model()
    live = settled(panel.begun(model))
    grows = "generated" if kind == "step" else "steps"
    assert measured(panel, live, grows) == 1
    do(panel, live, {"do": "step"})
    assert measured(panel, live, grows) == 2
    before = plain(panel, live)
    again = settled(panel.restored(live.record(), lambda source, revision: model))
    assert plain(panel, again) == before
    do(panel, live)
    assert measured(panel, live, grows) == 1
    do(panel, live, {"do": "step"})
    assert plain(panel, live) == before
    live.release()


def settled(live: Any) -> Any:
    """Wait until a live state's text has its opening steps."""
    if isinstance(live, Lab):
        settle(live)
    return live


def plain(panel: Panel, live: Any) -> dict[str, Any]:
    """Return all measures that need no argument."""
    return {
        name: measure(live)
        for name, measure in panel.measures.items()
        if len(inspect.signature(measure).parameters) == 1
    }


# --- the step page --------------------------------------------------------------------------------


@pytest.fixture
def panel() -> Panel:
    return panel_of(STEP)


@pytest.fixture
def live(panel):
    return panel.begun(lesson_model())


def test_measures_match_the_step_on_screen(panel, live):
    distribution = live.decoder.next_distribution()
    paris = live.model.vocabulary.encode(" Paris")[0]
    assert measured(panel, live, "top_token") == " Paris"
    assert measured(panel, live, "rank", token=" Paris") == 1
    assert measured(panel, live, "token_to_come") and measured(panel, live, "drawn_rank") is None
    own = distribution.probability(paris)
    assert measured(panel, live, "probability", token=" Paris") == own
    assert measured(panel, live, "model_probability", token=" Paris") == pytest.approx(own)
    assert measured(panel, live, "logit", token=" Paris") == distribution.logits[paris]
    do(panel, live, {"do": "settings", "temperature": 2.5, "top_k": 2})
    assert measured(panel, live, "setting", name="top_k") == 2
    assert measured(panel, live, "samplers") == "temperature top_k"
    assert measured(panel, live, "kept") == 2
    assert measured(panel, live, "removed_by", token=" London") == "top_k"
    assert measured(panel, live, "model_probability", token=" Paris") == pytest.approx(own)
    assert 0 < measured(panel, live, "uncertainty") <= 1


def test_actions_are_counted_until_a_restart(panel, live):
    do(panel, live, {"do": "step", "times": 3}, {"do": "back"}, {"do": "settings", "top_k": 1})
    assert [measured(panel, live, "done", action=name) for name in ("step", "back")] == [3, 1]
    assert measured(panel, live, "generated") == 2 and not measured(panel, live, "token_to_come")
    assert measured(panel, live, "kept") == 1, "the recorded step, with the new settings"
    do(panel, live, {"do": "stop", "max_tokens": 3}, {"do": "run"})
    assert measured(panel, live, "done", action="step") == 0
    assert measured(panel, live, "generated") == measured(panel, live, "max_tokens") == 3
    assert measured(panel, live, "stopped_by") == "max_tokens"


def test_forcing_a_past_step_branches(panel, live):
    actions = [{"do": "step", "times": 2}, {"do": "look", "token": 1}]
    do(panel, live, *actions, {"do": "force", "token": " Rome"})
    assert measured(panel, live, "branches") == 2 and measured(panel, live, "text") == " Rome"
    assert measured(panel, live, "forced") == 1 and measured(panel, live, "not_likeliest") == 1


def test_guidance_and_contrastive_search_are_measured(panel, live):
    assert measured(panel, live, "strategy") == "sampling"
    assert measured(panel, live, "guidance_scale") == 1
    do(panel, live, {"do": "guide", "negative_prompt": "The", "scale": 2}, {"do": "step"})
    assert measured(panel, live, "guidance_scale") == 2
    assert measured(panel, live, "negative_prompt") == "The"
    rows = live.guided_rows()
    (place,) = live.model.vocabulary.encode(" Rome")
    before = 1 + int((rows.prompt > rows.prompt[place]).sum())
    assert measured(panel, live, "unguided_rank", token=" Rome") == before
    do(panel, live, {"do": "search", "candidates": 3, "alpha": 0.5}, {"do": "step"})
    assert measured(panel, live, "strategy") == "contrastive search"
    assert (live.search.top_k, live.search.penalty_alpha) == (3, 0.5)
    assert measured(panel, live, "candidates") == 3
    assert measured(panel, live, "penalty_alpha") == 0.5
    assert measured(panel, live, "not_likeliest") == (live.search.steps[0].chosen > 0)
    do(panel, live)
    assert measured(panel, live, "strategy") == "sampling"
    assert measured(panel, live, "candidates") is None
    assert measured(panel, live, "guidance_scale") == 1


def test_multi_number_samplers_are_set_moved_and_measured(panel, live):
    xtc = {"threshold": 0.2, "probability": 1}
    do(panel, live, {"do": "settings", "xtc": xtc, "top_p": 0.9})
    assert measured(panel, live, "setting", name="xtc", field="threshold") == 0.2
    assert measured(panel, live, "figure", sampler="xtc", name="removed") == 0
    assert measured(panel, live, "figure", sampler="mirostat", name="mu") is None
    assert measured(panel, live, "samplers") == "top_p xtc"
    do(panel, live, {"do": "settings", "xtc": xtc, "top_p": 0.9}, MOVED)
    assert measured(panel, live, "samplers") == "xtc top_p"
    do(panel, live, {"do": "switch_on", "sampler": "dry"})
    assert measured(panel, live, "setting", name="dry", field="multiplier") == 0.8
    with pytest.raises(DecodingError, match="got 'warmth'"):
        measured(panel, live, "setting", name="warmth")
    with pytest.raises(DecodingError, match="of dry, got 'mu'"):
        measured(panel, live, "figure", sampler="dry", name="mu")
    with pytest.raises(DecodingError, match="of xtc, got 'tau'"):
        measured(panel, live, "setting", name="xtc", field="tau")
    with pytest.raises(DecodingError, match="temperature must"):
        do(panel, live, {"do": "settings", "temperature": -1})


def test_tokens_are_biased_and_banned(panel, live):
    biased = [{"do": "bias", "token": " Rome", "by": by} for by in (1, 50)]
    do(panel, live, *biased, {"do": "ban", "text": " London"})
    (rome,), (london,) = (live.model.vocabulary.encode(text) for text in (" Rome", " London"))
    bias, banned = live.settings.chain
    assert (bias.bias, banned.sequences) == (((rome, 50.0),), ((london,),))
    assert measured(panel, live, "top_token") == " Rome"
    assert measured(panel, live, "removed_by", token=" London") == "banned"


def test_measures_read_the_exported_code(panel, live):
    do(panel, live, {"do": "settings", "top_k": 5, "min_p": 0.1}, {"do": "stop", "max_tokens": 7})
    openai = "OpenAI-style API (Python)"
    assert measured(panel, live, "lacking", program=openai) == "top_k min_p"
    assert "max_new_tokens=7" in measured(panel, live, "exported", program="transformers")
    assert measured(panel, live, "differing", program="transformers") == "seed"
    assert settings_named("top_k min_p contrastive_search") == "Top-k, Min-p, contrastive search"
    with pytest.raises(DecodingError, match="Export code, got 'none'"):
        measured(panel, live, "lacking", program="none")


# --- decoder pages --------------------------------------------------------------------------------


def test_decoder_inputs_can_be_changed_and_measured():
    panel = panel_of(SMALL["beam"])
    live = panel.begun(lesson_model())
    do(panel, live, {"do": "inputs", "width": 3})
    assert measured(panel, live, "number", name="width") == 3
    assert measured(panel, live, "chosen", name="early_stopping") == "false"
    assert live.inputs.width == 3
    do(panel, live)
    assert measured(panel, live, "number", name="width") == 2
    with pytest.raises(DecodingError, match="must be"):
        do(panel, live, {"do": "inputs", "width": 0})
    with pytest.raises(DecodingError, match='"widths"'):
        measured(panel, live, "number", name="widths")


def test_forced_wrong_token_breaks_the_constraint():
    panel = panel_of(SMALL["constrained"])
    live = panel.begun(lesson_model())
    assert not measured(panel, live, "broken")
    do(panel, live, {"do": "force_wrong", "step": 1})
    assert measured(panel, live, "broken") and measured(panel, live, "price") > 0


def test_exact_beam_search_runs_to_its_end():
    small = {"width": 2, "exact_tokens": 2, "max_new_tokens": 2}
    panel = panel_of({"kind": "beam", "steps": 1, "inputs": small})
    live = panel.begun(lesson_model())
    assert not measured(panel, live, "exact_search_done")
    do(panel, live, {"do": "search_exactly"})
    assert measured(panel, live, "exact_search_done")
    live.release()


# --- sections of measuring pages ------------------------------------------------------------------


def test_section_is_measured_and_its_cells_read():
    panel = panel_of({"kind": "cache", "section": "bytes", "inputs": {"positions": 12}})
    live = panel.begun(lesson_model())
    assert not measured(panel, live, "measured") and cell(panel, live) is None
    do(panel, live, {"do": "inputs", "batch": 2}, {"do": "measure"})
    assert measured(panel, live, "measured")
    assert measured(panel, live, "number", name="positions") == 12
    assert cell(panel, live) > 0 and cell(panel, live, row="13") is None
    with pytest.raises(DecodingError, match='no table "Length of"'):
        cell(panel, live, table="Length of")
    again = panel.restored(live.record(), lambda source, revision: live.model)
    assert again.held.inputs == live.held.inputs
    do(panel, live)
    assert not measured(panel, live, "measured")
    assert measured(panel, live, "number", name="batch") == 1


def cell(panel: Panel, live: Any, table: str = "Lengths", row: str = "12") -> float | None:
    return measured(panel, live, "cell", table=table, row=row, column="tensors, bytes")


def test_every_claim_can_be_a_panel():
    for section in CLAIMS:
        panel = panel_of({"kind": "claim", "section": section.key})
        live = panel.begun(lesson_model())
        assert measured(panel, live, "outcome") == "" and panel.page == "Claims"


def test_induction_head_attends_after_the_same_word():
    text, to, share = "The dog saw the cat, and the dog", 3, 0.9
    panel, model = panel_of({"kind": "inside", "section": "attention"}), lesson_model()
    live = panel.begun(model)
    do(panel, live, {"do": "inputs", "text": text, "layer": 3, "head": 3})
    assert measured(panel, live, "attention", to=to) > share
    assert measured(panel, live, "attention", to=99) is None
    again = panel.restored(live.record(), lambda source, revision: model)
    assert measured(panel, again, "attention", to=to) > share


def test_loss_matches_the_model_probabilities():
    text = "Once upon a time, there was a little girl."
    panel, model = panel_of({"kind": "inside", "section": "loss"}), lesson_model()
    live = panel.begun(model)
    do(panel, live, {"do": "inputs", "text": text})
    ids = model.vocabulary.encode(text)
    logits = model.hf(torch.tensor([ids])).logits[0].float().log_softmax(-1)
    wanted = -logits[range(len(ids) - 1), ids[1:]].mean() / math.log(2)
    assert measured(panel, live, "loss") == pytest.approx(wanted.item(), rel=0.02)
    assert measured(panel, live, "tokens_predicted") == len(ids) - 1


def test_training_loss_matches_the_model_log():
    panel, model = panel_of({"kind": "inside", "section": "training"}), lesson_model()
    live = panel.begun(model)
    for read, bits in ((1, 12.41), (300, 1.76)):
        do(panel, live, {"do": "inputs", "read": read})
        assert measured(panel, live, "loss") == pytest.approx(bits, abs=0.01)


def test_weights_section_counts_all_model_parameters():
    panel, model = panel_of({"kind": "inside", "section": "weights"}), lesson_model()
    live = panel.begun(model)
    for part in PARTS:
        do(panel, live, {"do": "inputs", "part": part})
        result = live.held.result()
        assert sum(result.counts.values()) == model.parameters
        tensor = dict(model.hf.named_parameters())[result.name]
        assert result.corner[0, 0] == float(tensor.flatten()[0])
