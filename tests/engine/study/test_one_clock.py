"""Decoders under one clock: the figures equal those of the runs themselves."""

import numpy as np
import pytest

from engine.decoder import Decoder
from engine.decoding.contrastive import ContrastiveSearch
from engine.errors import CancelledError, OutOfMemoryError
from engine.runner.job import as_job
from engine.sampling import SamplingSettings
from engine.study.one_clock import Entrant, OneClock
from tests.engine import tiny_models
from tests.engine.runs import sampling

PROMPT = tiny_models.prompt(2)
TOKENS = 6


def entrants(model):
    return [
        Entrant("sampling", lambda: Decoder(model, PROMPT, sampling(3)), TOKENS),
        Entrant("contrastive", lambda: ContrastiveSearch(model, PROMPT, 4, 0.6), TOKENS),
    ]


@pytest.fixture
def model():
    return tiny_models.shared("llama")


def test_texts_and_figures_match_the_decoders(model):
    clock = OneClock(model, PROMPT, entrants(model), rounds=2)
    assert clock.runs == 4
    assert list(clock.run()) == ["sampling", "contrastive"] * 2
    assert clock.done == 4 and not clock.failed
    decoder = Decoder(model, PROMPT, sampling(3))
    steps = list(decoder.run(TOKENS))
    found = clock.timed["sampling"]
    assert found.tokens == TOKENS and len(found.milliseconds) == 2
    assert found.text == b"".join(step.token_bytes for step in steps).decode("utf-8", "replace")
    np.testing.assert_allclose(found.logprob, sum(step.logprob for step in steps), atol=1e-3)
    assert found.nats_per_token == found.logprob / TOKENS
    assert found.ms_per_token == found.median_ms / TOKENS
    assert (found.passes, found.judge_passes) == (TOKENS, TOKENS)
    assert found.positions == len(PROMPT) + TOKENS - 1
    assert found.weight_bytes == TOKENS * model.read_bytes
    searched = clock.timed["contrastive"]
    # One pass over four candidates for each token, and one for the prompt.
    assert searched.passes == TOKENS + 1 and searched.positions == len(PROMPT) + 4 * TOKENS


def test_failed_entrant_is_named_and_others_continue(model):
    def full():
        raise OutOfMemoryError("The memory is full.")

    clock = OneClock(model, PROMPT, [Entrant("full", full, 1), *entrants(model)], rounds=2)
    assert list(clock.run()) == ["full", "sampling", "contrastive", "sampling", "contrastive"]
    assert clock.failed == {"full": "The memory is full."}
    assert set(clock.timed) == {"sampling", "contrastive"} and clock.done == clock.runs


def test_cancelled_clock_resumes_with_the_remaining_runs(model):
    clock = OneClock(model, PROMPT, entrants(model), rounds=1)
    stopped = []
    with as_job(lambda: bool(stopped)), pytest.raises(CancelledError):
        for name in clock.run():
            if name == "contrastive":
                stopped.append(True)
    assert set(clock.timed) == {"sampling"} and clock.done == 1 and not clock.failed
    assert list(clock.run()) == ["contrastive"]
    assert clock.done == clock.runs


def test_empty_text_and_another_model_have_own_figures(model):
    other = tiny_models.shared("gpt2")
    own = [
        Entrant("nothing", lambda: Decoder(model, PROMPT, SamplingSettings(seed=1)), 0),
        Entrant("other", lambda: Decoder(other, PROMPT, sampling(3)), TOKENS),
    ]
    clock = OneClock(model, PROMPT, own, rounds=1)
    assert list(clock.run()) == ["nothing", "other"]
    found = clock.timed["nothing"]
    assert found.tokens == 0 and found.ms_per_token is None and found.nats_per_token is None
    found = clock.timed["other"]
    assert (found.passes, found.judge_passes) == (TOKENS, 0)
    assert found.weight_bytes == TOKENS * other.read_bytes
