"""Traces opened on their strategy's page: replayed, compared, or refused in a sentence."""

import json
import threading
from dataclasses import replace
from functools import cache

import pytest

from engine.decoder import Decoder
from engine.decoding.contrastive import ContrastiveSearch
from engine.model import BUNDLED, LanguageModel, fill_gaps, load_diffusion_model, marked_gaps
from engine.sampling import SamplingSettings
from tests.ui.labs.settling import settled
from ui.labs.beam.lab import BeamLab
from ui.labs.constrained.lab import ConstrainedLab
from ui.labs.diffusion.lab import DiffusionLab
from ui.labs.lab import Lab
from ui.labs.speculative.lab import SpeculativeLab
from ui.models import chooser
from ui.models.choice import Choice

CHOICES = {"language": "choices", "source": '[" we went home", " it was late"]'}
SAVED = {  # by lab, the inputs of the saved text, which differ from a page's opening inputs
    BeamLab: {"width": 6, "groups": 2, "diversity_penalty": 0.5, "early_stopping": "never"}
    | CHOICES
    | {"stop_strings": "home\nlate"},
    ConstrainedLab: {"prompt": "Once", "temperature": 1.2, "seed": 7} | CHOICES,
    SpeculativeLab: {"draft_length": 2, "adaptive": True, "top_p": 0.8, "seed": 5} | CHOICES,
    DiffusionLab: {"prompt": "A cat \\[1] sat [4] on[3] a mat.", "steps": 7, "seed": 2, "eta": 0.0},
}
every_lab = pytest.mark.parametrize("kind", SAVED, ids=lambda kind: kind.name)


@pytest.fixture(scope="module")
def model(bundled) -> LanguageModel:
    return bundled


@cache
def fresh(kind: type[Lab], model: LanguageModel) -> Lab:
    """The lab as its page opens it; tests change a copy."""
    return settled(kind(model))


@cache
def saved(kind: type[Lab], model: LanguageModel) -> Lab:
    lab = fresh(kind, model).copy()
    lab.change(**SAVED[kind])
    assert not lab.error, lab.error
    return settled(lab)


def opened(lab: Lab, data: str) -> Lab:
    lab.open_trace(data)
    return settled(lab)


@every_lab
def test_opened_trace_restores_text_and_inputs(kind, model):
    before = saved(kind, model)
    trace = before.text.trace()
    lab = opened(fresh(kind, model).copy(), trace.to_json())
    assert f"identical in all {len(trace.steps)} step" in lab.said
    assert not lab.error and lab.text.trace().token_ids == trace.token_ids
    assert len(lab.text.steps) == len(trace.steps) and lab.text.stop_reason == trace.stop_reason
    if kind is not DiffusionLab:  # the space before a gap is not kept exactly
        assert lab.inputs == before.inputs
    assert settled(kind.restored(lab.record(), lambda *_: model)).text.text == lab.text.text
    lab.player.rewind()
    lab.player.play()
    assert settled(lab).text.trace().token_ids[: len(trace.token_ids)] == trace.token_ids


@every_lab
def test_changed_trace_reports_the_first_difference(kind, model):
    data = json.loads(saved(kind, model).text.trace().to_json())
    step = data["steps"][0]
    if kind is BeamLab:
        step["candidates"][0]["text"], what = "other", "candidates[0].text"
    elif kind is SpeculativeLab:
        step["text"], what = "other", "text"
    elif kind is ConstrainedLab:
        step["model_entropy_bits"], what = 0.125, "model_entropy_bits"
    else:
        place = next(at for at, one in enumerate(step["confidence"]) if one is not None)
        step["confidence"][place], what = 0.125, f"confidence[{place}]"
    lab = opened(fresh(kind, model).copy(), json.dumps(data))
    assert f"Step 1 is the first to differ: {what} was" in lab.said, (lab.said, lab.error)
    if kind is BeamLab:  # the message goes once an input is changed
        lab.change(width=2)
        assert not settled(lab).said


def refusals(model: LanguageModel) -> list[tuple[type[Lab], str, str]]:
    """List (lab, text of a file, expected message)."""
    beam = BeamLab(model).text
    list(beam.run())
    beam_trace = beam.trace()
    contrastive = ContrastiveSearch(model, "a", 3)
    contrastive.step()
    free = Decoder(model, "a", SamplingSettings())
    free.step()
    text = saved(ConstrainedLab, model).text
    forced = text.fork()
    forced.rewind(0)
    forced.step(text.steps[0].token_id)
    chain = [["repetition_penalty", {"penalty": 1.2}], ["constraint", dict(CHOICES)]]
    edited = beam_trace.settings[0][1] | {"chain": chain}
    rounds = SpeculativeLab(model).text
    rounds.step()
    other = json.loads(rounds.trace().to_json())
    other["settings"][0][1]["draft"]["source"] = "somebody/else"
    tokens = json.loads(beam_trace.to_json())
    tokens["model"]["vocab_size"] += 1
    one, two = (json.loads(each.trace().to_json()) for each in (text, rounds))
    one["settings"][0][1]["seed"] = two["settings"][0][1]["sampling"]["seed"] = 2**53
    return [
        (ConstrainedLab, json.dumps(one), "Seed is out of range"),
        (SpeculativeLab, json.dumps(two), "Seed is out of range"),
        (BeamLab, "{", "not valid JSON"),
        (BeamLab, contrastive.trace().to_json(), "strategy contrastive; this page opens beam"),
        (BeamLab, replace(beam_trace, stop_strings=("x\ny",)).to_json(), "has stop_strings"),
        (BeamLab, replace(beam_trace, settings=((0, edited),)).to_json(), "The trace has chain"),
        (BeamLab, json.dumps(tokens), "made with a vocabulary of"),
        (BeamLab, replace(beam_trace, prompt="b").to_json(), "its text gives other tokens"),
        (ConstrainedLab, free.trace().to_json(), "has no constraint"),
        (ConstrainedLab, forced.trace().to_json(), "tokens that a person forced"),
        (SpeculativeLab, json.dumps(other), "somebody/else is not among the models"),
    ]


def test_invalid_trace_is_refused_and_keeps_the_text(model, monkeypatch):
    # A worker does not know its visitor, so it would assume a person alone at the computer.
    page = threading.current_thread()
    allowed = [Choice(BUNDLED)]
    monkeypatch.setattr(
        chooser, "allowed", lambda **_: allowed if threading.current_thread() is page else None
    )
    loaded = []
    monkeypatch.setattr(
        "ui.models.models.SharedModels.get", lambda *given: loaded.append(given) or model
    )
    labs = {kind: settled(kind(model)) for kind in (BeamLab, ConstrainedLab, SpeculativeLab)}
    cases = refusals(model)
    loaded.clear()
    for kind, data, said in cases:
        lab = labs[kind]
        before, inputs = lab.text, lab.inputs
        opened(lab, data)
        assert said in lab.error, (lab.error, lab.said, said)
        assert lab.text is before and lab.inputs == inputs and not lab.said
    assert not loaded, "a draft was loaded that may not be"


def test_gaps_are_marked_as_they_were_written():
    model = load_diffusion_model()
    for text in ("[2] a\\[3] b[1]", "One[1][2] two", "Once\n[3]\n\\[12][5]."):
        canvas = fill_gaps(model, text)
        assert fill_gaps(model, marked_gaps(model, canvas)) == canvas
        assert marked_gaps(model, canvas) == text.replace("[1][2]", "[3]")
