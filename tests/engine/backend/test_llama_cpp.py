"""Decoders on a real llama.cpp server, against the same model here in float32."""

import json
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from engine import Decoder, SamplingSettings, connect, load_model
from engine.errors import ServerError, TokenizerError
from engine.model import LanguageModel
from tests.engine.backend.llama_server import LlamaServer, write_gguf

TARGET = Path(__file__).parents[3] / "models" / "target"
PROMPTS = ["Once upon a time", "The capital of France is", "2 + 3 =", "Ünïcödé 🙂:"]
SAMPLED = SamplingSettings(temperature=0.9, top_k=100, top_p=0.95, seed=4)
# The server's cache is in float16 (largest difference measured: 0.013 nats).
NATS = 2e-2


@pytest.fixture(scope="module")
def gguf_file(tmp_path_factory):
    return write_gguf(TARGET, tmp_path_factory.mktemp("gguf") / "target.gguf")


@pytest.fixture(scope="module")
def server(gguf_file):
    with LlamaServer(gguf_file) as server:
        yield server


@pytest.fixture(scope="module")
def local() -> LanguageModel:
    return load_model(dtype="float32")


@pytest.fixture(scope="module")
def remote(server, local):
    return connect(server.address, tokenizer=local.tokenizer)


def test_model_says_what_it_is(remote, local, server):
    assert remote.name == "target.gguf"
    assert (remote.vocab_size, remote.listed) == (local.vocab_size, 1_000)
    assert (remote.context_length, remote.eos_ids) == (1_024, local.eos_ids)
    assert remote.facts["dtype"] == "all F32"
    assert server.address not in repr(remote.facts)


def test_tokens_of_the_server_are_those_of_the_tokenizer(server, local):
    own = connect(server.address).vocabulary
    for token_id in range(local.vocab_size):
        assert own.token_bytes(token_id) == local.vocabulary.token_bytes(token_id)
    assert own.special_ids == local.vocabulary.special_ids
    assert own.has_tokens_of(local.vocabulary) and local.vocabulary.has_tokens_of(own) is False
    assert own.encode("Once upon a time") == local.vocabulary.encode("Once upon a time")
    assert own.label(0) == "<|endoftext|>"


@pytest.mark.parametrize("prompt", PROMPTS)
def test_whole_rows_match_the_local_model(server, local, prompt):
    whole = connect(server.address, listed=None, tokenizer=local.tokenizer)
    assert "full_row" in whole.capabilities
    here = Decoder(local, prompt, SAMPLED)
    there = Decoder(whole, prompt, SAMPLED)
    for step in here.run(8):
        there.step(step.token_id)
        row = here.logits(step.index).astype(np.float64)
        row -= row.max() + np.log(np.exp(row - row.max()).sum())
        assert np.abs(row - there.logits(step.index)).max() < NATS


def test_listed_tokens_give_the_local_texts(remote, local):
    differing = 0
    for seed, prompt in enumerate(PROMPTS):
        settings = SAMPLED.replace(seed=seed)
        here, there = Decoder(local, prompt, settings), Decoder(remote, prompt, settings)
        for step in here.run(12):
            drawn = there.step()
            if drawn.token_id != step.token_id:  # the difference decided a close draw
                differing += 1
                there.rewind(step.index)
                drawn = there.step(step.token_id)
            assert drawn.logprob == pytest.approx(step.logprob, abs=NATS)
            assert drawn.logit is None
    assert differing <= 1


def test_rewound_and_forked_texts_repeat(remote):
    decoder = Decoder(remote, PROMPTS[0], SAMPLED)
    first = [step.token_id for step in decoder.run(8)]
    other = decoder.fork()
    decoder.rewind(3)
    assert [step.token_id for step in decoder.run(8)] == first[3:]
    other.rewind(2)
    other.step(first[3])
    assert decoder.token_ids == first


def test_step_reads_one_token_and_reuses_the_others(remote):
    decoder = Decoder(remote, PROMPTS[0], SAMPLED)
    steps = list(decoder.run(4))
    assert [step.passes for step in steps[1:]] == [(1,)] * 3
    assert steps[0].is_prefill
    assert all(0 < step.forward_ms <= step.total_ms for step in steps)


def test_sample_that_ends_inside_a_character_is_avoided(remote, local):
    """The server gives no probabilities if its own sample does, so that is led elsewhere."""
    ids = local.vocabulary.encode("Ünïcödé 🙂")
    unfinished = {"logit_bias": [[ids[-4], 1e4]]}  # the first byte of the face
    with pytest.raises(ServerError, match="gave no probabilities"):
        remote.dialect.next_scores(ids[:-4], 5, settings=unfinished)
    for cut in range(1, 4):
        here, there = Decoder(local, ids[:-cut], SAMPLED), Decoder(remote, ids[:-cut], SAMPLED)
        step = there.step()
        assert step.logprob == pytest.approx(here.step(step.token_id).logprob, abs=NATS)


def test_killed_server_keeps_the_text_and_goes_on_once_restarted(gguf_file, local, monkeypatch):
    monkeypatch.setattr("engine.backend.client.RETRY_S", 0.0)
    with LlamaServer(gguf_file) as server:
        decoder = Decoder(connect(server.address, tokenizer=local.tokenizer), PROMPTS[0], SAMPLED)
        text = [step.token_id for step in decoder.run(3)]
        server.kill()
        with pytest.raises(ServerError, match="cannot be reached"):
            decoder.step()
        assert decoder.token_ids == text
        server.start()
        uninterrupted = [step.token_id for step in decoder.run(6)]
        decoder.rewind(0)
        assert [step.token_id for step in decoder.run(6)] == text + uninterrupted


def test_key_is_asked_for_and_in_no_record(gguf_file, local):
    with LlamaServer(gguf_file, key="s3cret") as server:
        with pytest.raises(ServerError, match="give the key"):
            connect(server.address)
        decoder = Decoder(connect(server.address, key="s3cret"), PROMPTS[0], SAMPLED)
        decoder.step()
        assert "s3cret" not in decoder.trace().to_json()


def test_other_tokenizer_is_refused(server, local):
    described = json.loads((TARGET / "tokenizer.json").read_text("utf-8"))
    words = described["model"]["vocab"]
    words["Ġthe"], words["Ġa"] = words["Ġa"], words["Ġthe"]
    other = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(described)))
    with pytest.raises(TokenizerError, match="use the tokenizer that belongs"):
        connect(server.address, tokenizer=other)
