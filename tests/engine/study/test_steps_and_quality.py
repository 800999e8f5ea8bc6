"""Passages in few and many steps, measured under an autoregressive model."""

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from engine.decoding.decoder import Decoder
from engine.decoding.diffusion import DiffusionDecoder, DiffusionSettings
from engine.errors import PromptError, SettingError
from engine.model import (
    LanguageModel,
    continuation,
    fill_gaps,
    load_diffusion_model,
    load_model,
)
from engine.sampling import SamplingSettings
from engine.study.steps_and_quality import Plan, bits_per_byte, summaries
from tests.engine import tiny_models

SETTINGS = DiffusionSettings(temperature=0.7)


@pytest.fixture(scope="module")
def models():
    return load_diffusion_model(), load_model()


@pytest.fixture(scope="module")
def plan(models):
    return Plan(continuation(models[0], "Once upon a time", 8), (2, 8), (3, 4), SETTINGS)


@pytest.fixture(scope="module")
def passages(models, plan):
    return list(plan.run(*models))


def test_every_seed_writes_with_each_step_count(plan, passages):
    wanted = [(steps, seed) for seed in (3, 4) for steps in (None, 2, 8)]
    assert [(passage.steps, passage.seed) for passage in passages] == wanted
    assert plan.count == len(passages) == 6
    assert all(passage.ms > 0 and len(passage.token_ids) == 8 for passage in passages)


def test_passages_match_the_decoders(models, plan, passages):
    model, target = models
    settings = replace(SETTINGS, steps=2, seed=4)
    decoder = DiffusionDecoder(model, plan.canvas, settings)
    list(decoder.run())
    assert passages[4].token_ids == decoder.ids[-8:]
    assert "Once upon a time" + passages[4].text == decoder.text
    sampled = Decoder(target, "Once upon a time", SamplingSettings(temperature=0.7, seed=4))
    assert passages[3].token_ids == tuple(sampled.step().token_id for _ in range(8))


def test_bits_per_byte_match_a_plain_pass(models, plan, passages):
    target = models[1]
    start = len(plan.canvas) - 8
    for passage in passages[:2]:
        ids = torch.tensor([[*plan.canvas[:start], *passage.token_ids]])
        with torch.inference_mode():
            rows = target.hf(ids).logits[0].double().log_softmax(-1)
        bits = -sum(
            float(rows[place - 1, ids[0, place]]) for place in range(start, ids.shape[1])
        ) / math.log(2)
        size = len(passage.text.encode())
        # The engine reads with its own kernels; bfloat16 weights leave three digits.
        assert passage.bits_per_byte == pytest.approx(bits / size, rel=0.02)


def test_a_tiny_model_is_scored_exactly(monkeypatch):
    model = LanguageModel(tiny_models.build("llama"))
    two_bytes = SimpleNamespace(token_bytes=lambda _: b"ab", is_special=lambda id_: id_ == 95)
    monkeypatch.setattr(model, "vocabulary", two_bytes)
    ids = [*tiny_models.prompt(1, 6), 95]
    with torch.inference_mode():
        rows = model.hf(torch.tensor([ids])).logits[0].double().log_softmax(-1)
    nats = -sum(float(rows[place - 1, ids[place]]) for place in range(2, 7))
    # Four tokens of two bytes; the last one adds surprise and no text.
    assert bits_per_byte(model, ids, 2) == pytest.approx(nats / math.log(2) / 8, rel=1e-4)


def test_plan_skips_finished_passages_and_can_stop(models, plan, passages):
    rest = list(plan.run(*models, done=passages[:5]))
    assert [replace(passage, ms=0) for passage in rest] == [replace(passages[5], ms=0)]
    asked = []

    def should_stop():
        asked.append(1)
        return len(asked) > 9  # eight steps of the first passage, one of the second

    assert len(list(plan.run(*models, should_stop=should_stop))) == 1


def test_summaries_have_mean_and_spread(passages):
    rows = summaries(passages)
    assert [(row.steps, row.count) for row in rows] == [(2, 2), (8, 2), (None, 2)]
    values = [passage.bits_per_byte for passage in passages if passage.steps == 8]
    assert rows[1].bits_per_byte.mean == pytest.approx(sum(values) / 2)
    assert rows[1].bits_per_byte.sd == pytest.approx(abs(values[0] - values[1]) / math.sqrt(2))
    assert rows[2].remasked.mean == 0 and summaries([]) == []


def test_unmeasurable_plans_are_refused(models, plan):
    model, target = models
    begins = Plan(fill_gaps(model, "[2] sat"), (1,), (0,), SETTINGS)
    with pytest.raises(PromptError, match="begins with a gap"):
        next(begins.run(model, target))
    with pytest.raises(SettingError, match="steps must be at most"):
        next(replace(plan, step_counts=(9,)).run(model, target))
    for seeds in ((), (1, 1)):
        with pytest.raises(SettingError, match="seeds"):
            next(replace(plan, seeds=seeds).run(model, target))
    with pytest.raises(PromptError, match="has different tokens from"):
        next(plan.run(model, tiny_models.shared("llama")))
