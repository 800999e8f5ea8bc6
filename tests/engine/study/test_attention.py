"""Attention weights, equal to the model's own."""

import numpy as np
import pytest
import torch

from engine.errors import PromptError
from engine.model import BUNDLED, LanguageModel, load_model
from engine.model.kernels import ENGINE_LOCK
from engine.runner.scheduler import SCHEDULER
from engine.study import attention
from engine.study.attention import MOST_TOKENS, attention_weights


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return load_model(BUNDLED)


def test_rows_sum_to_1_over_earlier_positions(model: LanguageModel):
    text = "The dog saw the cat, and the dog"
    weights = attention_weights(model, text)
    count = len(model.vocabulary.encode(text))
    assert weights.shape == (8, 6, count, count)
    assert np.allclose(weights.sum(-1), 1, atol=1e-5)
    assert not np.triu(weights, 1).any()


def test_weights_match_the_formula_of_the_layer(model: LanguageModel):
    # In the first layer, keys and queries come from the embedding alone. The first position is not
    # rotated, so the score of two tokens at distance 1 is q(1) rotated by 1 against k(0).
    text = "The dog"
    layer, ids = model.hf.model.layers[0], model.vocabulary.encode(text)
    with torch.inference_mode():
        rows = layer.input_layernorm(model.hf.model.embed_tokens(torch.tensor([ids]))).float()
        own = layer.self_attn
        shape = (1, len(ids), -1, own.head_dim)
        q = own.q_norm((rows @ own.q_proj.weight.float().T).view(shape)).transpose(1, 2)
        k = own.k_norm((rows @ own.k_proj.weight.float().T).view(shape)).transpose(1, 2)
        k = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
        half = own.head_dim // 2
        turn = 10_000.0 ** (-torch.arange(half) / half)
        cos, sin = torch.cos(turn), torch.sin(turn)
        last = q[0, :, 1]
        low, high = last[:, :half], last[:, half:]
        turned = torch.cat([low * cos - high * sin, high * cos + low * sin], -1)
        first = (turned * k[0, :, 0]).sum(-1)
        same = (last * k[0, :, 1]).sum(-1)
        wanted = torch.softmax(torch.stack([first, same], -1) / own.head_dim**0.5, -1)
    assert np.allclose(attention_weights(model, text)[0, :, 1], wanted.numpy(), atol=0.01)


def test_model_is_loaded_before_its_turn_begins(model: LanguageModel, monkeypatch):
    telling, seen = attention._telling, []

    def state() -> tuple[int, int]:
        return ENGINE_LOCK.depth, SCHEDULER.line()["running"]

    def noted(folder):
        seen.append(state())
        passes = telling(folder)
        return lambda *args, **kwargs: seen.append(state()) or passes(*args, **kwargs)

    monkeypatch.setattr(attention, "_telling", noted)
    attention_weights(model, "Ja.")
    assert seen == [(0, 0), (1, 1)]


def test_too_long_text_is_refused(model: LanguageModel):
    with pytest.raises(PromptError, match=f"at most {MOST_TOKENS}"):
        attention_weights(model, "dog " * (MOST_TOKENS + 1))
