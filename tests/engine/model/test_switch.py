"""Phi-3's switch of position frequencies, at which `generate` reads the whole text again."""

import numpy as np
import pytest
import torch

from engine.decoder import Decoder
from engine.decoding.batch import Row
from engine.decoding.contrastive import ContrastiveSearch
from engine.errors import ContextFullError
from engine.model import LanguageModel
from tests.engine import tiny_models
from tests.engine.model import small_configs
from tests.engine.model.small_configs import SWITCH
from tests.engine.runs import GREEDY, assert_same_run, finished, generate, rows
from tests.engine.runs import sampling as settings_of
from tests.engine.twins import finished as batch_finished
from tests.engine.twins import is_twin
from tests.engine.twins import lone as lone_of

TOKENS = 64
CLOSE = 1e-4
PROMPT = [token_id % small_configs.VOCAB for token_id in tiny_models.prompt(3)]


@pytest.fixture(scope="module", params=["phi3", pytest.param("phimoe", marks=pytest.mark.long)])
def model(request) -> LanguageModel:
    return LanguageModel(small_configs.build(request.param))


@pytest.mark.parametrize("length", [1, SWITCH - 1, SWITCH, SWITCH + 1])
def test_prompts_around_the_switch_equal_generate(model, length):
    prompt = (PROMPT * 9)[:length]
    decoder = finished(Decoder(model, prompt, GREEDY), 40)
    ids, logits = generate(model, prompt, 40)
    assert decoder.token_ids == ids
    np.testing.assert_allclose(rows(decoder), logits, atol=CLOSE, rtol=0)


@pytest.mark.parametrize("length", [SWITCH, SWITCH + 1])
def test_chunks_do_not_cross_the_switch(model, monkeypatch, length):
    monkeypatch.setattr("engine.runner.runner.CHUNK", 8)
    prompt = (PROMPT * 9)[:length]
    decoder = finished(Decoder(model, prompt, GREEDY), 20)
    ids, logits = generate(model, prompt, 20)
    assert decoder.steps[0].passes == ((8,) * 4 if length == SWITCH else (length,))
    assert decoder.token_ids == ids
    np.testing.assert_allclose(rows(decoder), logits, atol=CLOSE, rtol=0)


def test_lost_cache_beyond_switch_is_rebuilt_in_chunks(model, monkeypatch):
    ids, logits = generate(model, PROMPT, TOKENS + 10)
    decoder = finished(Decoder(model, PROMPT, GREEDY), TOKENS)
    monkeypatch.setattr("engine.runner.runner.CHUNK", 8)
    monkeypatch.setattr("engine.runner.runner.EXACT", 4)
    decoder.release_cache()
    finished(decoder, TOKENS + 10)
    read = len(PROMPT) + TOKENS - 1  # before the last token
    full, rest = divmod(read - (SWITCH + 1), 8)
    assert decoder.steps[TOKENS].passes == (SWITCH + 1, *[8] * full, *[rest][:rest], 1)
    assert decoder.token_ids == ids
    np.testing.assert_allclose(rows(decoder), logits, atol=CLOSE, rtol=0)


def test_parity_equals_generate(model):
    decoder = finished(Decoder(model, PROMPT, settings_of(1, parity=True)), TOKENS)
    ids, logits = generate(
        model, PROMPT, TOKENS, 1, temperature=0.8, top_k=20, top_p=0.9, repetition_penalty=1.1
    )
    assert decoder.token_ids == ids
    np.testing.assert_allclose(rows(decoder), logits, atol=CLOSE, rtol=0)


def test_rewinding_across_the_switch_repeats_tokens_and_logits(model):
    decoder = finished(Decoder(model, PROMPT, settings_of(2)), TOKENS)
    ids, logits = decoder.token_ids, rows(decoder)
    switch = SWITCH - len(PROMPT)
    for keep in (switch + 5, switch + 1, switch, switch - 1, 3):
        decoder.rewind(keep)
        finished(decoder, TOKENS)
        assert_same_run(decoder, ids, logits, f"After rewind({keep})")


@pytest.mark.long
def test_forks_and_lost_caches_survive_the_switch(model):
    lone = finished(Decoder(model, PROMPT, settings_of(4)), TOKENS)
    ids, logits = lone.token_ids, rows(lone)
    decoder = finished(Decoder(model, PROMPT, settings_of(4)), SWITCH - len(PROMPT))
    forks = [decoder.fork(), finished(decoder.fork(), 40).fork()]
    forks[1].rewind(10)
    decoder.release_cache()
    for each in (decoder, *forks):
        assert_same_run(finished(each, TOKENS), ids, logits, "As a fork, or evicted")
    decoder.release_cache()
    decoder.rewind(TOKENS - 5)
    assert_same_run(finished(decoder, TOKENS), ids, logits, "With its cache rebuilt")


@pytest.mark.parametrize("tokens", [SWITCH - len(PROMPT), 40])
def test_rows_of_a_batch_equal_lone_decoders(model, tokens):
    jobs = [Row(PROMPT[seed:], settings_of(seed), tokens) for seed in range(3)]
    batch = batch_finished(model, jobs)
    assert batch.rows_together == 3 and not batch.notices
    for job, text in zip(jobs, batch.texts, strict=True):
        assert is_twin(text, lone_of(model, job))


def test_guidance_rereads_both_texts_at_the_switch(model):
    scale, negative = 1.5, PROMPT[:3]
    decoder = Decoder(model, PROMPT, GREEDY, negative_prompt=negative, guidance_scale=scale)
    finished(decoder, TOKENS)
    for index in (0, 20, 25, 26, 29, 30, 45, TOKENS - 1):
        text = decoder.token_ids[:index]
        with torch.inference_mode():  # the slow twin: the whole text in one pass, without a cache
            scores = [
                model.hf(torch.tensor([ids + text]), use_cache=False).logits[0, -1].log_softmax(-1)
                for ids in (PROMPT, negative)
            ]
        expected = scale * (scores[0] - scores[1]) + scores[1]
        found = torch.tensor(decoder.logits(index)).log_softmax(-1)
        torch.testing.assert_close(found, expected.log_softmax(-1), atol=1e-3, rtol=0)


def test_contrastive_search_stops_at_the_switch(model):
    search = ContrastiveSearch(model, PROMPT, top_k=3)
    with pytest.raises(ContextFullError, match="again after 32 tokens"):
        for _ in search.run(TOKENS):
            pass
    assert len(search.steps) == SWITCH - len(PROMPT)


def test_phi4_multimodal_context_ends_at_the_switch():
    model = LanguageModel(small_configs.build("phi4_multimodal"))
    assert model.context_length == SWITCH
    assert any("end at 32 tokens" in notice for notice in model.notices)
    new = SWITCH - len(PROMPT)
    decoder = finished(Decoder(model, PROMPT, GREEDY), new)
    ids, logits = generate(model, PROMPT, new)
    assert decoder.token_ids == ids
    np.testing.assert_allclose(rows(decoder), logits, atol=CLOSE, rtol=0)
    with pytest.raises(ContextFullError):
        decoder.step()
