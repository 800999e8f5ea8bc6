"""A guidance scale that changes midway: a step is as if all had been taken at its scale."""

import numpy as np
import pytest
import torch

from engine.decoder import Decoder
from engine.errors import SettingError
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
    decoder.next_distribution()  # the row waits, and is to follow the scale
    decoder.guidance_scale = 3.0
    other = guided(model, 3.0)
    other.step(decoder.token_ids[0])
    waiting = other.next_distribution().logits
    assert np.array_equal(decoder.next_distribution().logits, waiting)
    assert decoder.step().token_id == other.step().token_id
    assert np.array_equal(decoder.logits(1), waiting), "the step was not taken from that row"
    decoder.rewind(1)
    decoder.guidance_scale = 4.0
    decoder.rewind(0)
    assert np.array_equal(
        decoder.next_distribution().logits, guided(model, 4.0).next_distribution().logits
    )
    twin = decoder.fork()
    twin.guidance_scale = 1.5
    assert [decoder.step().guidance_scale, twin.step().guidance_scale] == [4.0, 1.5]
    assert decoder.guidance_scale == 4.0


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


def test_scale_needs_a_negative_prompt(model):
    decoder = Decoder(model, PROMPT)
    decoder.guidance_scale = 1.0
    with pytest.raises(SettingError, match="needs a negative prompt, which this text lacks"):
        decoder.guidance_scale = 1.5
