"""Passes with a static cache against the model's own, on the CPU, without capturing a graph."""

import numpy as np
import pytest
import torch

from engine.decoder import Decoder
from engine.model import LanguageModel, decode_graph
from engine.model.decode_graph import DecodeGraphs
from tests.engine import tiny_models
from tests.engine.runs import (
    assert_same_run,
    assert_the_same_after_going_back,
    finished,
    rows,
    sampling,
)

PROMPT = tiny_models.prompt(4)
TOKENS = 20
# float32: sums in a different order; logits of the tiny model reach about 10.
NEAR = {"rtol": 1e-4, "atol": 1e-4}


def as_it_is(run):
    return run


def with_graphs(model: LanguageModel, capture=as_it_is) -> LanguageModel:
    model._graphs = DecodeGraphs(model.hf, model._always, model._head_input.take, capture)
    return model


@pytest.fixture(params=["llama", pytest.param("gpt2", marks=pytest.mark.long)])
def plain(request) -> LanguageModel:
    return LanguageModel(tiny_models.build(request.param))


@pytest.fixture
def model(plain) -> LanguageModel:
    return with_graphs(LanguageModel(plain.hf))


def steps(model: LanguageModel, cache, ids, position: int) -> np.ndarray:
    return np.stack([model.forward([one], cache, position + n).logits for n, one in enumerate(ids)])


def test_graph_pass_matches_the_plain_pass(plain, model, monkeypatch):
    monkeypatch.setattr(decode_graph, "LEAST_ROOM", 8)  # the text grows through four rooms
    ids, found = tiny_models.prompt(1, 40), []
    for one in (plain, model):
        cache = one.new_cache()
        one.forward(ids[:4], cache, 0)
        found.append((steps(one, cache, ids[4:], 4), cache.layers[-1].values))
    assert set(model._graphs._graphs) == {8, 16, 32, 64}
    np.testing.assert_allclose(found[1][0], found[0][0], **NEAR)
    torch.testing.assert_close(found[1][1], found[0][1], rtol=1e-4, atol=1e-4)


def test_interleaved_texts_match_texts_decoded_alone(model):
    texts = [tiny_models.prompt(seed, 24) for seed in (1, 2)]
    alone = []
    for ids in texts:
        cache = model.new_cache()
        model.forward(ids[:4], cache, 0)
        alone.append(steps(model, cache, ids[4:], 4))
    caches = [model.new_cache() for _ in texts]
    for ids, cache in zip(texts, caches, strict=True):
        model.forward(ids[:4], cache, 0)
    for place in range(4, 24):
        for ids, cache, expected in zip(texts, caches, alone, strict=True):
            found = model.forward([ids[place]], cache, place).logits
            assert np.array_equal(found, expected[place - 4])


def test_rewinds_forks_and_rebuilt_caches_are_bit_exact(model):
    assert_the_same_after_going_back(model, PROMPT, TOKENS)


def test_recorded_states_replay_bit_for_bit(model, monkeypatch):
    monkeypatch.setattr("engine.decoding.record.RECENT_BYTES", 0)
    decoder = Decoder(model, PROMPT, sampling(2))
    live = [decoder.logits(step.index).copy() for step in decoder.run(TOKENS)]
    assert np.array_equal(rows(decoder), live)


def test_parity_and_windowed_caches_skip_the_graphs(model):
    finished(Decoder(model, PROMPT, sampling(1, parity=True)), 5)
    assert not model._graphs._graphs
    windowed = with_graphs(LanguageModel(tiny_models.build("mistral", sliding_window=8)))
    finished(Decoder(windowed, PROMPT, sampling(1)), 5)
    assert not windowed._graphs._graphs and not windowed._graphs.problem


def otherwise(run):
    return lambda: 2 * run()


def uncapturable(run):
    raise RuntimeError("operation not permitted when stream is capturing\nand more")


def wordless(run):
    raise RuntimeError


@pytest.mark.parametrize(
    ("capture", "reason"),
    [
        (otherwise, "would differ by 100"),
        (uncapturable, "cannot be captured (operation not permitted when stream is capturing)"),
        (wordless, "cannot be captured (RuntimeError)"),
    ],
)
def test_untrusted_graph_falls_back_to_the_model(plain, capture, reason):
    model = with_graphs(LanguageModel(plain.hf), capture)
    expected = finished(Decoder(plain, PROMPT, sampling(4)), TOKENS)
    decoder = finished(Decoder(model, PROMPT, sampling(4)), TOKENS)
    assert_same_run(decoder, expected.token_ids, rows(expected), "Without graphs")
    assert reason in model._graphs.problem
    assert sum("CUDA graph" in notice for notice in model.notices) == 1


def test_out_of_memory_at_capture_keeps_graphs_enabled(plain):
    def full(run):
        raise torch.OutOfMemoryError("CUDA out of memory")

    model = with_graphs(LanguageModel(plain.hf), full)
    cache = model.new_cache()
    model.forward(PROMPT, cache, 0)
    with pytest.raises(Exception, match="ran out of memory"):
        model.forward([1], cache, len(PROMPT))
    assert not model._graphs.problem
