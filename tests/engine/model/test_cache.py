"""Caches of decoders: budget and eviction, bf16, models whose caches forget."""

import gc

import numpy as np
import pytest
import torch

from engine.decoder import Decoder
from engine.model import LanguageModel
from engine.model.kernels import Kernels
from engine.sampling import SamplingSettings
from tests.engine import tiny_models
from tests.engine.runs import (
    assert_comes_back,
    assert_same_run,
    finished,
    generate,
    live_tensors,
    rows,
    sampling,
)

TOKENS = 28  # with any prompt, far more than a sliding window holds
two_seeds = pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])


def held(decoder: Decoder) -> int:
    if decoder._runner.cache is None:
        return 0
    storages = [tensor.untyped_storage() for tensor in live_tensors(decoder)]
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


@pytest.mark.parametrize(
    ("architecture", "parity"),
    [("llama", False), ("gemma3", True), ("mamba", True), ("jamba", False)],
)
def test_decoders_over_budget_lose_only_their_caches(architecture, parity, budget):
    def decoders(model: LanguageModel) -> list[Decoder]:
        return [Decoder(model, tiny_models.prompt(i), sampling(i, parity=parity)) for i in range(3)]

    lone = [finished(decoder, TOKENS) for decoder in decoders(tiny_models.shared(architecture))]
    model = LanguageModel(tiny_models.build(architecture))
    budget.limit = 1  # less than any cache, so only the cache in use is kept
    crowd = decoders(model)

    for turn in range(4):
        for decoder in crowd:
            finished(decoder, (turn + 1) * TOKENS // 4)
            others = [other for other in crowd if other is not decoder]
            assert not any(map(held, others)), "an idle decoder kept its cache over the budget"

    for decoder, reference in zip(crowd, lone, strict=True):
        assert_same_run(decoder, reference.token_ids, rows(reference), "Evicted again and again")


def test_budget_evicts_least_recently_used_caches_first(budget):
    model = LanguageModel(tiny_models.build("llama"))
    decoders = [Decoder(model, tiny_models.prompt(i), sampling(i)) for i in range(4)]
    for decoder in decoders[:3]:
        finished(decoder, 20)
    finished(decoders[0], 21)  # now 1 has been unused for longest
    budget.limit = sum(map(held, decoders)) + 100

    decoders[3].step()

    kept = [held(decoder) > 0 for decoder in decoders]
    assert kept == [True, False, True, True], f"the wrong caches were given up: {kept}"


def test_budget_does_not_count_deleted_decoders(budget):
    model = LanguageModel(tiny_models.build("llama"))
    keeper = finished(Decoder(model, tiny_models.prompt(0), sampling(0)), 10)
    for seed in range(5):
        finished(Decoder(model, tiny_models.prompt(seed), sampling(seed)), 30)
    gc.collect()
    budget.limit = 3 * held(keeper)
    finished(keeper, 12)
    assert held(keeper), "caches of decoders that are gone pushed out a live one"


@pytest.mark.parametrize(
    "length", [1, *(pytest.param(n, marks=pytest.mark.long) for n in (15, 17)), 16]
)
@pytest.mark.parametrize("architecture", ["mistral", "gemma3", "mamba", "qwen3_next"])
def test_prompts_around_the_window_rewind_exactly(architecture, length):
    decoder = Decoder(tiny_models.shared(architecture), tiny_models.prompt(9, length), sampling(9))
    ids, logits = finished(decoder, 20).token_ids, rows(decoder)
    for keep in (19, 13, 1, 0):
        decoder.rewind(keep)
        assert_same_run(finished(decoder, 20), ids, logits, f"After rewind({keep})")


@pytest.fixture(scope="module")
def bf16_model() -> LanguageModel:
    return LanguageModel(tiny_models.build("llama", dtype=torch.bfloat16))


@pytest.mark.parametrize("onednn", [True, False], ids=["onednn", "native kernels"])
@two_seeds
def test_bf16_rewinds_and_replays_bit_for_bit(bf16_model, monkeypatch, onednn, seed):
    monkeypatch.setattr(bf16_model, "kernels", Kernels(onednn=onednn, threads=1))
    monkeypatch.setattr("engine.decoding.record.RECENT_BYTES", 0)  # replays all except the last
    decoder = Decoder(bf16_model, tiny_models.prompt(seed), sampling(seed))
    assert bf16_model.replays_exactly
    live = [decoder.logits(step.index).copy() for step in decoder.run(TOKENS)]

    assert_comes_back(decoder, np.stack(live))


@two_seeds
def test_bf16_parity_equals_generate_of_the_same_model(bf16_model, seed):
    settings = {"temperature": 0.8, "top_k": 20, "top_p": 0.9}
    prompt = tiny_models.prompt(seed)
    decoder = Decoder(bf16_model, prompt, SamplingSettings(**settings, seed=seed, parity=True))
    finished(decoder, TOKENS)
    ids, logits = generate(bf16_model, prompt, TOKENS, seed, **settings)
    assert decoder.token_ids == ids
    np.testing.assert_array_equal(rows(decoder), logits)


def test_rewind_drops_snapshots_taken_after_it():
    # A window longer than the distance between snapshots: the first rewind can still crop, and
    # must also drop the snapshots taken after it.
    model = LanguageModel(tiny_models.build("mistral", sliding_window=64))
    decoder = finished(Decoder(model, tiny_models.prompt(0)[:4], sampling(0)), 45)
    decoder.rewind(5)
    for token_id in range(1, 61):
        decoder.step(token_id)
    ids, logits = decoder.token_ids, rows(decoder)
    decoder.rewind(40)
    for token_id in ids[40:]:
        decoder.step(token_id)
    assert_same_run(decoder, ids, logits, "after a rewind past a full window")
