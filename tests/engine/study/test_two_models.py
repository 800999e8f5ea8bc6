"""One text under two models, against torch's own divergences and a plain forward pass."""

import math

import pytest
import torch

from engine import load_model, read_text
from engine.study import read_with_two

TEXT = "Once upon a time, there was a bear 🙂 in the wood."


def distribution(model, ids):
    with torch.inference_mode():
        return torch.log_softmax(model.hf(torch.tensor([ids])).logits[0].double(), -1)


@pytest.fixture(scope="module")
def model():
    return load_model(dtype="float32")


def test_divergences_are_those_of_torch(model):
    draft = load_model("bundled-draft", dtype="float32")
    both = read_with_two(model, draft, TEXT)
    ids = model.vocabulary.encode(TEXT)
    one, other = (distribution(each, ids)[:-1] for each in (model, draft))
    kl = torch.nn.functional.kl_div(other, one, log_target=True, reduction="none").sum(-1)
    assert both.kl_bits == pytest.approx((kl / math.log(2)).tolist(), abs=1e-4)
    variation = (one.exp() - other.exp()).abs().sum(-1) / 2
    assert both.total_variation == pytest.approx(variation.tolist(), abs=1e-5)
    assert both.one == read_text(model, TEXT)
    parts = both.stretches()
    assert [part.one_tokens for part in parts] == [range(i, i + 1) for i in range(len(ids) - 1)]
    assert [part.one_bits for part in parts] == [t.surprisal_bits for t in both.one.tokens]
    assert "".join(part.text for part in parts[:4]) == " upon a time,"


def test_other_tokens_are_aligned_by_the_text(model, text_model):
    text = " there was a bear in the wood."
    both = read_with_two(model, text_model, text, prompt="Once")
    assert both.kl_bits is both.total_variation is None
    parts = both.stretches()
    assert "".join(part.text for part in parts) == text
    for part in parts:
        own = both.one.tokens[part.one_tokens.start : part.one_tokens.stop]
        assert part.one_bits == pytest.approx(sum(token.surprisal_bits for token in own))
        spelled = b"".join(token.token_bytes for token in own)
        theirs = both.other.tokens[part.other_tokens.start : part.other_tokens.stop]
        assert spelled == b"".join(token.token_bytes for token in theirs)


def test_nothing_is_aligned_if_the_text_is_spelled_differently(model):
    both = read_with_two(model, model, "The cat")
    changed = both.one.tokens[0].__class__(
        **{**vars(both.one.tokens[0]), "token_bytes": b"x" * len(both.one.tokens[0].token_bytes)}
    )
    other = both.other.__class__(**{**vars(both.other), "tokens": (changed,)})
    assert type(both)(both.one, other, None, None).stretches() == []
