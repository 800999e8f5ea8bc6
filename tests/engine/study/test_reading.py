"""A text read token by token, against a plain forward pass of transformers."""

import math

import numpy as np
import pytest
import torch

from engine import load_model, read_text
from engine.errors import PromptError
from engine.study import likelihood

TEXTS = [
    "Once upon a time, there was a little girl named Lily.",
    "The capital of France is Paris.",
    "2 + 3 = 5\n\nÜnïcödé 🙂 and more",
]
NATS = 1e-4


def by_transformers(model, ids):
    """Return (tokens, vocab) log-probabilities after each token, in one pass."""
    with torch.inference_mode():
        logits = model.hf(torch.tensor([ids])).logits[0].double()
    return torch.log_softmax(logits, -1).numpy()


@pytest.fixture(scope="module")
def model():
    return load_model(dtype="float32")


@pytest.mark.parametrize("text", TEXTS)
def test_figures_are_those_of_one_plain_pass(model, text, monkeypatch):
    monkeypatch.setattr(likelihood, "_NUMBERS", 5 * model.vocab_size)  # several passes
    reading = read_text(model, text, top=4)
    ids = [*reading.prompt_ids, *(token.token_id for token in reading.tokens)]
    assert ids == model.vocabulary.encode(text) and len(reading.prompt_ids) == 1
    rows = by_transformers(model, ids)
    for place, token in enumerate(reading.tokens):
        row = rows[place]
        assert token.logprob == pytest.approx(row[token.token_id], abs=NATS)
        assert abs(token.rank - 1 - np.count_nonzero(row > row[token.token_id])) <= 1
        entropy = -float((np.exp(row) * row).sum()) / math.log(2)
        assert token.entropy_bits == pytest.approx(entropy, abs=1e-3)
        assert np.abs(token.top[1] - np.sort(row)[:-5:-1]).max() < NATS
        others = np.delete(row, token.token_id)
        assert token.gap == pytest.approx(token.logprob - others.max(), abs=NATS)
    own = [rows[place][token.token_id] for place, token in enumerate(reading.tokens)]
    assert reading.perplexity == pytest.approx(math.exp(-np.mean(own)), rel=1e-4)
    bits = -sum(own) / math.log(2)
    assert reading.text == model.vocabulary.tokenizer.decode(ids[1:])
    assert reading.bits_per_byte == pytest.approx(bits / len(reading.text.encode()), rel=1e-4)
    assert reading.bits_per_character == pytest.approx(bits / len(reading.text), rel=1e-4)
    assert reading.bits_per_word == pytest.approx(bits / len(reading.text.split()), rel=1e-4)


def test_prompt_is_read_and_not_judged(model):
    reading = read_text(model, " Paris.", prompt="The capital of France is")
    assert list(reading.prompt_ids) == model.vocabulary.encode("The capital of France is")
    assert reading.text == " Paris."
    within = read_text(model, "is.", prompt="The capital of France is Par")
    assert within.text.endswith("aris."), "a token with a part of both is judged"
    ids = model.vocabulary.encode("The capital of France is Paris.")
    by_ids = read_text(model, ids[5:], prompt=ids[:5])
    assert [token.token_id for token in by_ids.tokens] == ids[5:]


def test_forks_are_places_with_another_likely_token(model):
    reading = read_text(model, "Once upon a time, there was a little girl named Lily.")
    places = reading.forks(0.5)
    assert places and places == [
        place for place, token in enumerate(reading.tokens) if abs(token.gap) <= 0.5
    ]
    assert reading.forks(0.0) == [] or all(reading.tokens[p].gap == 0 for p in reading.forks(0.0))
    assert len(reading.forks(math.inf)) == len(reading.tokens)


def test_long_text_is_read_in_windows(model, monkeypatch):
    text = " ".join(["She saw a red ball and a blue ball."] * 8)
    monkeypatch.setattr(model, "context_length", 24)
    reading = read_text(model, text)
    ids = [*reading.prompt_ids, *(token.token_id for token in reading.tokens)]
    assert ids == model.vocabulary.encode(text)
    assert (reading.window, reading.stride) == (24, 12)
    for place in (1, 23, 24, 35, 36, 47, len(ids) - 1):
        begin = 0 if place < 24 else 12 * ((place - 24) // 12 + 1)
        row = by_transformers(model, ids[begin:place])[-1]
        assert place - begin >= min(place, 12)
        assert reading.tokens[place - 1].logprob == pytest.approx(row[ids[place]], abs=NATS)


def test_empty_text_is_refused(model):
    with pytest.raises(PromptError, match="text is empty"):
        read_text(model, "", prompt="a")
    assert read_text(model, "a").tokens == ()
