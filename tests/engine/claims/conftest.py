"""Two models for every claim: one for which the claims hold, and a broken one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from engine.model import LanguageModel
from tests.engine import tiny_models

RING = 4  # tokens in the loop that the likeliest choice follows
SURE, TORN = 30.0, 3.0  # logit of the likeliest token, alternating by token
LEAD = {SURE: 4.0, TORN: 0.5}  # lead over the second likeliest
MOST = 2.0  # logit of any other token
ANSWER = " sat"


@pytest.fixture(scope="session")
def uniform(tokenizer) -> LanguageModel:
    """A real Llama whose output weights are zero: all tokens are equally likely."""
    network = tiny_models.build("llama", seed=5, vocab_size=len(tokenizer))
    with torch.no_grad():
        network.lm_head.weight.zero_()
    return _endless(network, tokenizer, "uniform")


@pytest.fixture(scope="session")
def chain(tokenizer) -> LanguageModel:
    """A Llama whose next token depends only on the last one, by a table.

    Its likeliest tokens loop in rings, and the second likeliest leads into a different ring. It is
    sure after every second token, and torn after the others. After ``cat`` comes ``sat``.
    """
    size = len(tokenizer)
    network = tiny_models.build(
        "llama", seed=5, vocab_size=size, hidden_size=size, num_hidden_layers=1
    )
    with torch.no_grad():
        for layer in network.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        network.model.embed_tokens.weight.copy_(torch.eye(size))
        network.model.norm.weight.fill_(1.0)
        # The norm scales a one-hot row to the length of a row of ones.
        network.lm_head.weight.copy_(torch.tensor(_table(tokenizer).T) / size**0.5)
    return _endless(network, tokenizer, "chain")


def _table(tokenizer) -> np.ndarray:
    """(vocab, vocab) logits of the next token after each token."""
    size = len(tokenizer)
    noise = np.random.default_rng(0).normal(0.0, 1.0, (size, size))
    table = np.minimum(noise, MOST).astype(np.float32)
    for token in range(size):
        start = token // RING * RING
        best = start + (token - start + 1) % RING
        second = (token + 5 * RING) % size
        height = TORN if token % 2 else SURE
        table[token, best if best < size else start] = height
        table[token, second] = height - LEAD[height]
    (answer, *others), comma = tokenizer.encode(ANSWER), tokenizer.encode(",")[0]
    assert not others
    table[tokenizer.encode("the cat")[-1], answer] = SURE + 5
    table[answer, comma] = SURE + 5
    # After a comma the likeliest token leads to a torn place, the second likeliest to a sure one.
    table[comma] = np.minimum(table[comma], MOST)
    table[comma, 5 * RING + 1], table[comma, 6 * RING] = TORN, TORN - LEAD[TORN]
    return table


def _endless(network, tokenizer, name: str) -> LanguageModel:
    model = LanguageModel(network, tokenizer, name=name)
    model.eos_ids = ()
    return model
