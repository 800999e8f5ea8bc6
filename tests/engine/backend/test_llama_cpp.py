"""Decoders on a real llama.cpp server, against the same model here in float32."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from engine import Decoder, SamplingSettings, Trace, connect, replay
from engine.decoding import Batch, BeamSearch, BeamSettings, Row
from engine.errors import CapabilityError, ModelChangedError, ServerError, TokenizerError
from engine.sampling.samplers import Constraint
from tests.engine.backend.llama_server import LlamaServer
from tests.engine.backend.running import TARGET

PROMPTS = ["Once upon a time", "The capital of France is", "2 + 3 =", "Ünïcödé 🙂:"]
SAMPLED = SamplingSettings(temperature=0.9, top_k=100, top_p=0.95, seed=4)
# Both compute in float32, in a different order (largest difference measured: 0.00015 nats).
NATS = 1e-3


def test_model_says_what_it_is(remote, local, server):
    assert remote.name == "target.gguf"
    assert (remote.vocab_size, remote.listed) == (local.vocab_size, 1_000)
    assert (remote.context_length, remote.eos_ids) == (1_024, local.eos_ids)
    assert remote.facts["dtype"] == "all F32"
    assert remote.reuses_prefix and remote.capabilities == {"batch", "row_on_demand"}
    said = " ".join(map(str, remote.findings))
    assert "A text holds 1,024 tokens. It ends at <|endoftext|>." in said
    assert remote.facts["source"] == remote.source == server.address


def test_whole_rows_serve_decoders_that_need_them(remote, local):
    whole = remote.with_whole_rows()
    settings = BeamSettings(width=3, max_new_tokens=3)
    here, there = (BeamSearch(model, PROMPTS[0], settings) for model in (local, whole))
    assert [step.ids_after for step in there.run()] == [step.ids_after for step in here.run()]
    assert (there.steps[-1].cache_bytes, there.steps[-1].rows_read) == (None, 3)
    assert there.hypotheses[0].score == pytest.approx(here.hypotheses[0].score, abs=NATS)
    names = Constraint("regex", r"[A-Z][a-z]+ and [A-Z][a-z]+\.")
    for more in ({}, {"negative_prompt": "A sad", "guidance_scale": 1.5}):
        texts = [
            Decoder(model, "Their names were ", SamplingSettings(constraint=names, seed=3), **more)
            for model in (local, whole)
        ]
        chosen = [[step.token_id for step in text.run(6)] for text in texts]
        assert chosen[0] == chosen[1] and texts[1].steps[0].cache_bytes is None
    with pytest.raises(CapabilityError, match="needs the scores of all tokens"):
        BeamSearch(remote, PROMPTS[0], settings)


def test_server_tokens_match_the_tokenizer(server, local):
    own = connect(server.address).vocabulary
    for token_id in range(local.vocab_size):
        assert own.token_bytes(token_id) == local.vocabulary.token_bytes(token_id)
    assert own.special_ids == local.vocabulary.special_ids
    assert own.has_tokens_of(local.vocabulary) and local.vocabulary.has_tokens_of(own)
    assert own.encode("Once upon a time") == local.vocabulary.encode("Once upon a time")
    assert own.label(0) == "<|endoftext|>"


@pytest.mark.parametrize(
    ("prompt", "steps"),
    [(PROMPTS[-1], 3), *(pytest.param(each, 8, marks=pytest.mark.long) for each in PROMPTS)],
)
def test_whole_rows_match_the_local_model(server, local, prompt, steps):
    whole = connect(server.address, listed=10**9, tokenizer=local.tokenizer)
    assert whole.listed is None and whole.capabilities == {"batch", "full_row"}
    here = Decoder(local, prompt, SAMPLED)
    there = Decoder(whole, prompt, SAMPLED)
    for step in here.run(steps):
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
    ids = [*remote.vocabulary.encode(PROMPTS[0]), *first[:2], first[3]]
    fresh = Decoder(remote, ids, SAMPLED)
    assert other.step(first[0]).logprob == pytest.approx(fresh.step(first[0]).logprob, abs=NATS)
    assert decoder.token_ids == first


def test_server_reads_one_token_and_reuses_the_others(remote):
    sequence = remote.open()
    ids = remote.vocabulary.encode(PROMPTS[0])
    assert sequence.extend(ids).is_prefill
    reading = sequence.extend([5])
    assert (reading.passes, reading.is_prefill) == ((1,), False)
    assert (sequence.last.read, sequence.last.reused) == (1, len(ids))
    assert 0 < reading.forward_ms == sequence.last.server_ms < reading.ms
    assert reading.network_ms == sequence.last.ms - reading.forward_ms < reading.ms
    decoder = Decoder(remote, PROMPTS[0], SAMPLED)
    assert 0 < decoder.step().network_ms < decoder.steps[0].forward_ms


def test_whole_row_of_a_single_step_is_fetched(remote, local):
    here, there = Decoder(local, PROMPTS[1], SAMPLED), Decoder(remote, PROMPTS[1], SAMPLED)
    for step in there.run(3):
        here.step(step.token_id)
    there.fetch_row(1)
    row = here.logits(1).astype(np.float64)
    row -= row.max() + np.log(np.exp(row - row.max()).sum())
    assert np.abs(row - there.logits(1)).max() < NATS
    assert [there.listed(index) is None for index in range(3)] == [False, True, False]


def test_threads_share_a_model(remote):
    def text(seed):
        decoder = Decoder(remote, PROMPTS[seed % 4], SAMPLED.replace(seed=seed))
        return [step.token_id for step in decoder.run(5)]

    alone = [text(seed) for seed in range(8)]
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(text, range(8)))
    # A batch of texts rounds differently, which may decide a close draw.
    assert sum(one != other for one, other in zip(alone, together, strict=True)) <= 1


def test_batch_asks_for_several_texts_at_once(remote):
    rows = [Row(PROMPTS[seed % 2], SAMPLED.replace(seed=seed), 6) for seed in range(10)]
    batch = Batch(remote, rows)
    assert list(batch.run())[-1].rows_done == len(rows)
    assert (batch.rows_together, batch.notices) == (len(rows), ())
    for row, text in zip(rows, batch.texts, strict=True):
        lone = Decoder(remote, row.prompt, row.settings)
        for record in text.records:
            # A batch of texts rounds differently.
            step = lone.step(int(record["token_id"]))
            assert step.logprob == pytest.approx(record["logprob"], abs=NATS)


def test_requests_wait_for_a_slot(remote, monkeypatch):
    working, most, lock = 0, 0, threading.Lock()
    ask = remote.dialect.next_scores

    def counted(*args, **more):
        nonlocal working, most
        with lock:
            working += 1
            most = max(most, working)
        try:
            return ask(*args, **more)
        finally:
            with lock:
                working -= 1

    monkeypatch.setattr(remote.dialect, "next_scores", counted)
    list(Batch(remote, [Row(PROMPTS[0], SAMPLED.replace(seed=n), 3) for n in range(12)]).run())
    assert 1 < most <= remote.description.slots == 4


def test_trace_replays_on_the_server(remote):
    decoder = Decoder(remote, PROMPTS[0], SAMPLED)
    list(decoder.run(4))
    trace = Trace.from_json(decoder.trace().to_json())
    replayed = replay(trace, remote)
    assert (replayed.token_at, replayed.repeated, replayed.facts) == (None, 4, ())
    written = trace.to_dict()
    written["steps"][1]["logprob"] -= 0.25
    changed = replay(Trace.from_dict(written), remote)
    assert changed.first <= 1 and "A server rounds the same text differently" in changed.sentence


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


def test_text_continues_when_server_restarts(gguf_file, local, monkeypatch):
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


def test_other_model_at_the_address_is_noticed(gguf_file, draft_file, local):
    with LlamaServer(gguf_file) as server:
        model = connect(server.address, tokenizer=local.tokenizer)
        decoder = Decoder(model, PROMPTS[0], SAMPLED)
        text = [step.token_id for step in decoder.run(3)]
        server.kill()
        server.model = draft_file
        server.start()
        with pytest.raises(ModelChangedError, match=r"another model now \(draft.gguf\)"):
            decoder.step()
        assert (decoder.token_ids, model.has_changed) == (text, True)
        assert connect(server.address).name == "draft.gguf"


def test_server_reports_its_load(remote):
    list(Decoder(remote, PROMPTS[0], SAMPLED).run(3))
    load = remote.load()
    assert (load.running, load.waiting) == (0, 0)
    assert 0 < load.prefix_hits < 1
    assert (load.cache_used, load.first_token_ms, load.token_ms) == (None, None, None)


def test_key_is_required_and_never_recorded(gguf_file, local):
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
