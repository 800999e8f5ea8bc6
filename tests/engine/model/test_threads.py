"""Decoders in many threads on shared models give the same results as alone."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from engine.decoder import Decoder
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from tests.engine import tiny_models
from tests.engine.runs import finished, rows

THREADS = 8
TOKENS = 18  # with any prompt, more than a sliding window holds
SETTINGS = (
    {"temperature": 0.8, "top_p": 0.9},
    {"temperature": 0},
    {"repetition_penalty": 1.2, "top_k": 10},
    {"temperature": 1.3, "min_p": 0.05},
)


@pytest.fixture(autouse=True)
def threads_change_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def decoder_of(place: int, models: list[LanguageModel], parity: bool) -> Decoder:
    settings = SamplingSettings(**SETTINGS[place % len(SETTINGS)], seed=place, parity=parity)
    prompt = tiny_models.prompt(place, 3 + place)
    return Decoder(models[place % len(models)], prompt, settings)


@pytest.mark.parametrize(
    ("architectures", "parity"),
    [
        pytest.param(["mamba"], False, marks=pytest.mark.long),
        (["llama", "gpt2"], True),
        (["mistral", "falcon_h1"], False),
    ],
)
def test_threaded_decoders_match_decoders_run_alone(architectures, parity):
    models = [tiny_models.shared(name) for name in architectures]
    alone = [finished(decoder_of(i, models, parity), TOKENS) for i in range(THREADS)]
    together = [decoder_of(i, models, parity) for i in range(THREADS)]
    start = threading.Barrier(THREADS)

    def work(decoder: Decoder) -> None:
        start.wait()
        for step in decoder.run(TOKENS):
            if step.index % 8 == 7:
                decoder.fork().step()
                decoder.logits(step.index - 5)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, together))

    for i in range(THREADS):
        assert together[i].token_ids == alone[i].token_ids, f"thread {i} got another's tokens"
        assert np.array_equal(rows(together[i]), rows(alone[i])), f"thread {i} got other logits"


def test_threads_that_evict_each_other_lose_nothing(budget):
    model = LanguageModel(tiny_models.build("llama"))
    alone = [finished(decoder_of(i, [model], False), TOKENS) for i in range(THREADS)]
    budget.limit = 33_000  # about four of the eight
    together = [decoder_of(i, [model], False) for i in range(THREADS)]

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda decoder: finished(decoder, TOKENS), together))

    for i in range(THREADS):
        assert together[i].token_ids == alone[i].token_ids
        assert np.array_equal(rows(together[i]), rows(alone[i]))


def test_shared_decoder_takes_every_step_once():
    model = tiny_models.shared("llama")
    lone = finished(decoder_of(0, [model], False), TOKENS)
    decoder = decoder_of(0, [model], False)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda _: decoder.step(), range(TOKENS)))

    assert [step.index for step in decoder.steps] == list(range(TOKENS))
    assert decoder.token_ids == lone.token_ids
