"""A guidance scale that changes midway: a step is as if all had been taken at its scale."""

import numpy as np
import pytest
import torch

from engine.decoder import Decoder
from engine.decoding.guidance import guided_row, guided_rows
from engine.errors import SettingError
from engine.trace import Trace
from tests.engine import tiny_models
from tests.engine.runs import GREEDY

PROMPT = tiny_models.prompt(0)
NEGATIVE = tiny_models.prompt(1, length=11)


@pytest.fixture(params=["llama", "gemma2"])  # rows that are replayed, and rows that are stored
def model(request):
    return tiny_models.shared(request.param)


def guided(model, scale=1.5):
    return Decoder(model, PROMPT, GREEDY, negative_prompt=NEGATIVE, guidance_scale=scale)


def test_changed_scale_applies_from_the_next_step(model):
    decoder = guided(model)
    decoder.step()
    decoder.guidance_scale = 3.0
    second = decoder.step()
    other = guided(model, 3.0)
    other.step(decoder.token_ids[0])
    assert second.token_id == other.step().token_id
    assert np.array_equal(decoder.logits(1), other.logits(1))
    assert [step.guidance_scale for step in decoder.steps] == [1.5, 3.0]


def test_pending_row_follows_a_changed_scale(model):
    decoder = guided(model)
    before = decoder.next_distribution().logits
    decoder.guidance_scale = 2.5
    after = decoder.next_distribution().logits
    assert not np.array_equal(before, after)
    assert np.array_equal(after, guided(model, 2.5).next_distribution().logits)
    decoder.step()
    assert np.array_equal(decoder.logits(0), after), "the step was not taken from the row shown"


def test_rewind_keeps_the_current_scale(model):
    decoder = guided(model)
    list(decoder.run(3))
    decoder.guidance_scale = 4.0
    decoder.rewind(1)
    other = guided(model, 4.0)
    other.step(decoder.token_ids[0])
    assert np.array_equal(decoder.next_distribution().logits, other.next_distribution().logits)
    twin = decoder.fork()
    twin.guidance_scale = 1.5
    assert decoder.guidance_scale == 4.0
    assert decoder.step().guidance_scale == 4.0
    assert twin.step().guidance_scale == 1.5


def test_scale_1_gives_the_prompts_own_rows(model):
    decoder = guided(model)
    decoder.guidance_scale = 1.0
    list(decoder.run(5))
    alone = Decoder(model, PROMPT, GREEDY)
    list(alone.run(5))
    assert decoder.token_ids == alone.token_ids
    expected = torch.log_softmax(torch.tensor(alone.logits(4)), -1).numpy()
    assert np.array_equal(decoder.logits(4), expected)


def test_guided_rows_combine_at_any_scale(model):
    decoder = guided(model, 2.0)
    decoder.step()
    for index in (0, 1):  # a past step and the next one
        rows = decoder.guided_rows(index)
        for scale in (1.0, 1.7, 5.0):
            other = guided(model, 2.0)
            other.guidance_scale = scale
            for token_id in decoder.token_ids[:index]:
                other.step(token_id)
            assert np.array_equal(rows.at(scale), other.next_distribution().logits)
            if index == 0:
                assert np.array_equal(rows.at(scale), decoder.distribution(0, scale=scale).logits)
    assert Decoder(model, PROMPT).guided_rows(0) is None


def test_guided_row_matches_torch_bit_for_bit():
    """Expect the same bits as Torch's `scale * (a - b) + b`."""
    prompt, negative = (
        torch.randn(5000, generator=torch.Generator().manual_seed(seed)) * 4 for seed in range(2)
    )
    towards, away = (torch.log_softmax(row, -1) for row in (prompt, negative))
    for scale in (0.3, 1.15, 2.7, 99.9):
        row = guided_row(prompt.numpy(), negative.numpy(), scale, torch.float32)
        assert np.array_equal(row, (scale * (towards - away) + away).numpy())


def test_token_ruled_out_by_either_row_stays_out():
    row, other = np.zeros(4, np.float32), np.zeros(4, np.float32)
    row[1] = other[2] = row[3] = other[3] = -np.inf
    rows = guided_rows(row, other, torch.float32)
    assert np.isneginf(rows.at(2.0)).tolist() == [False, True, True, True]


def test_step_counts_the_negative_prompts_cache(model):
    decoder = guided(model)
    step = decoder.step()
    plain = Decoder(model, NEGATIVE)
    assert step.negative_cache_bytes == plain.step().cache_bytes
    assert plain.steps[0].negative_cache_bytes is None
    assert plain.steps[0].guidance_scale is None


def test_a_trace_keeps_the_scale_of_every_step(tmp_path, model):
    decoder = guided(model)
    decoder.step()
    decoder.guidance_scale = 1.0
    decoder.step()
    loaded = Trace.load(decoder.trace().save(tmp_path / "run.json"))
    assert loaded == decoder.trace()
    assert [step.guidance_scale for step in loaded.steps] == [1.5, 1.0]
    assert loaded.guidance.scale == 1.0


@pytest.mark.parametrize("scale", [-0.1, 101.0, float("nan"), "2", None, True])
def test_a_scale_out_of_range_changes_nothing(model, scale):
    decoder = guided(model)
    with pytest.raises(SettingError, match="guidance_scale must be"):
        decoder.guidance_scale = scale
    assert decoder.guidance_scale == 1.5


def test_scale_needs_a_negative_prompt(model):
    decoder = Decoder(model, PROMPT)
    decoder.guidance_scale = 1.0
    with pytest.raises(SettingError, match="finds no negative prompt read"):
        decoder.guidance_scale = 1.5
