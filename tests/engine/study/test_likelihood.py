"""The likelihood of a text under a model, against the steps of a decoder and a plain forward."""

import math

import numpy as np
import pytest
import torch

from engine.decoder import Decoder
from engine.errors import ContextFullError, LogitsError, PromptError, SettingError
from engine.model import LanguageModel
from engine.model.passes import counted_passes
from engine.study import likelihood
from engine.study.likelihood import token_logprobs
from tests.engine import tiny_models
from tests.engine.runs import sampling

PROMPT = tiny_models.prompt(2)


def test_logprobs_match_the_decoders_record():
    model = tiny_models.shared("llama")
    text = Decoder(model, PROMPT, sampling(3))
    steps = list(text.run(12))
    found = token_logprobs(model, PROMPT, text.token_ids)
    np.testing.assert_allclose(found, [step.logprob for step in steps], atol=1e-4)


def test_logprobs_match_a_plain_forward_pass(monkeypatch):
    model = tiny_models.shared("gpt2")
    monkeypatch.setattr(likelihood, "_NUMBERS", 3 * model.vocab_size)
    ids = [5, 1, 7, 7, 2, 9, 0]
    with torch.inference_mode():
        logits = model.hf(torch.tensor([[*PROMPT, *ids]])).logits[0].double()
    wanted = torch.log_softmax(logits, -1)[len(PROMPT) - 1 : -1]
    found = token_logprobs(model, PROMPT, ids)
    expected = [float(row[token]) for row, token in zip(wanted, ids, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert token_logprobs(model, [4], [1]).shape == (1,)
    assert token_logprobs(model, [4], []).size == 0


def test_unscorable_input_is_refused(llama):
    with pytest.raises(PromptError):
        token_logprobs(llama, [], [1])
    with pytest.raises(SettingError):
        token_logprobs(llama, PROMPT, [llama.vocab_size])
    with pytest.raises(ContextFullError, match="shorter text"):
        token_logprobs(llama, PROMPT, [1] * (llama.context_length or 0))
    with torch.no_grad():
        llama.hf.get_output_embeddings().weight.fill_(math.nan)
    with pytest.raises(LogitsError):
        token_logprobs(llama, PROMPT, [1])


def test_passes_count_only_in_the_innermost_counter():
    model = tiny_models.shared("llama")
    with counted_passes() as outer:
        with counted_passes() as passes:
            list(Decoder(model, PROMPT, sampling(3)).run(5))
        assert passes.of(model) == passes.total == 5
        assert passes.positions == len(PROMPT) + 4
        assert passes.weight_bytes == 5 * model.read_bytes
    assert outer.total == 0


@pytest.mark.parametrize("tied", [True, False])
def test_input_embedding_counts_only_if_tied(tied):
    model = LanguageModel(tiny_models.build("llama", tie_word_embeddings=tied))
    weights = sum(weight.numel() * weight.element_size() for weight in model.hf.parameters())
    table = model.hf.get_input_embeddings().weight
    assert model.read_bytes == weights - (0 if tied else table.numel() * table.element_size())
