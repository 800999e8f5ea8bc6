"""vLLM's API: recorded answers of a real server, and a server that lists whole rows."""

import json
from pathlib import Path

import httpx2
import numpy as np
import pytest

from engine import Decoder, SamplingSettings, connect, load_model
from engine.errors import ServerError, TokenizerError

RECORDED = json.loads(Path(__file__).with_name("vllm_answers.json").read_text("utf-8"))
ADDRESS = "http://gpu.example:8000"
PROMPT = "Once upon a time"
SAMPLED = SamplingSettings(temperature=0.9, top_k=20, top_p=0.95, seed=4)
# Both compute in float32, in a different order (largest difference measured: 4e-5 nats).
NATS = 1e-4


@pytest.fixture(scope="module")
def local():
    return load_model(dtype="float32")


def body_of(request):
    return json.loads(request.content) if request.content else None


def replay(server, missing=()):
    """Return the recorded answers of a server, by request; paths in `missing` give a 404."""
    answers = {
        json.dumps([path, body], sort_keys=True): (status, answer)
        for path, body, status, answer in RECORDED["servers"][server]
    }

    def answer(request):
        if request.url.path in missing:
            return httpx2.Response(404)
        key = json.dumps([request.url.path, body_of(request)], sort_keys=True)
        status, content = answers[key]
        return httpx2.Response(status, json=content)

    return answer


def compare(here, there, count):
    for step in here.run(count):
        drawn = there.step()
        assert drawn.token_id == step.token_id
        assert drawn.logprob == pytest.approx(step.logprob, abs=NATS)


def test_recorded_server_gives_the_local_text(network, local):
    network(replay("raw"))
    remote = connect(ADDRESS, listed=21, tokenizer=local.tokenizer)
    assert (remote.listed, remote.vocab_size, remote.context_length) == (20, 16_384, 1_024)
    assert (remote.eos_ids, remote.facts["server"]) == (local.eos_ids, "0.32.0")
    assert remote.notices == (
        "target lists at most 20 tokens; for more, start vLLM with --max-logprobs -1.",
    )
    compare(Decoder(local, PROMPT, SAMPLED), Decoder(remote, PROMPT, SAMPLED), 8)


def test_recorded_server_scores_unlisted_tokens(network, local):
    network(replay("raw"))
    remote = connect(ADDRESS, listed=21, tokenizer=local.tokenizer)
    row = Decoder(local, [10, 20, 30]).next_distribution().logits.astype(float)
    wanted = [5, 340, 16_383]
    row -= row.max() + np.log(np.exp(row - row.max()).sum())
    assert remote.capabilities == {"batch", "scores_by_id"}
    found = Decoder(remote, [10, 20, 30]).unlisted_logprobs(0, wanted)
    assert found == pytest.approx(dict(zip(wanted, row[wanted], strict=True)), abs=NATS)
    assert Decoder(local, [10, 20, 30]).unlisted_logprobs(0, wanted) == {}


def test_recorded_server_draws_by_its_own_samplers(network, local):
    network(replay("raw"))
    remote = connect(ADDRESS, listed=21, tokenizer=local.tokenizer)
    drawn = remote.dialect.draw([10, 20, 30], {"top_k": 1}, length=3)
    greedy = Decoder(local, [10, 20, 30], SamplingSettings(temperature=0))
    assert drawn.token_ids == tuple(step.token_id for step in greedy.run(3))
    assert (drawn.settings, drawn.ids) == (None, None)


def test_recorded_server_reuses_a_prefix(network, local):
    network(replay("raw"))
    sequence = connect(ADDRESS, listed=21, tokenizer=local.tokenizer).open()
    sequence.extend(local.vocabulary.encode(f"{PROMPT} there was a girl. " * 16))
    reading = sequence.extend([5])
    assert (sequence.last.read, sequence.last.reused) == (18, 128)  # whole blocks only
    assert (reading.passes, reading.is_prefill) == ((18,), False)
    assert reading.forward_ms == pytest.approx(532.3, abs=0.1)  # by the server's own clock


@pytest.mark.parametrize("missing", [(), ("/v1/completions",)], ids=["completions", "chat"])
def test_recorded_server_has_openais_api(network, local, missing):
    network(replay("raw", missing))
    remote = connect(ADDRESS, "openai", listed=5, tokenizer=local.tokenizer)
    assert remote.listed == 5
    here, there = (Decoder(each, PROMPT, SAMPLED.replace(top_k=5)) for each in (local, remote))
    if missing:  # the chat's template comes before the text
        assert [step.token_id for step in there.run(4)]
    else:
        compare(here, there, 4)


@pytest.mark.parametrize(
    ("server", "sentence"),
    [("processed", "after its own samplers"), ("logits", "sum to 16595.8014 instead of 1")],
)
def test_recorded_modes_are_refused(network, local, server, sentence):
    network(replay(server))
    with pytest.raises(ServerError, match=sentence):
        connect(ADDRESS, listed=5, tokenizer=local.tokenizer)


class Whole:
    """A server that lists as many tokens as it is asked for, and does not report its cache."""

    def __init__(self, tokenizer):
        self.tokenizer, self.asked, self.top = tokenizer, [], None
        row = np.random.default_rng(0).normal(0, 3, 16_400)
        self.row = row - np.log(np.exp(row).sum())

    def __call__(self, request):
        path, body = request.url.path, body_of(request)
        if path == "/v1/models":
            served = {"id": "lab/small", "owned_by": "vllm", "max_model_len": 64}
            return httpx2.Response(200, json={"data": [served]})
        if path == "/version":
            return httpx2.Response(200, json={"version": "0.33"})
        if path == "/tokenize":
            ids = self.tokenizer(body["prompt"])["input_ids"]
            return httpx2.Response(200, json={"tokens": ids})
        self.asked.append(body)
        order = np.argsort(-self.row)[: None if body["logprobs"] == -1 else body["logprobs"]]
        top = self.top or {f"token_id:{each}": self.row[each] for each in order.tolist()}
        usage = {"prompt_tokens": len(body["prompt"]), "prompt_tokens_details": None}
        choice = {"logprobs": {"top_logprobs": [top]}}
        return httpx2.Response(200, json={"choices": [choice], "usage": usage})


def test_whole_rows_are_listed(network, local):
    server = Whole(local.tokenizer)
    network(server)
    remote = connect(ADDRESS, listed=10**9, tokenizer=local.tokenizer)
    assert (remote.name, remote.listed, remote.vocab_size) == ("small", None, 16_400)
    assert (remote.notices, remote.description.most) == ((), None)
    sequence = remote.open()
    reading = sequence.extend([1, 2])
    assert reading.forward.logits == pytest.approx(server.row, abs=1e-5)
    assert (reading.passes, reading.is_prefill) == ((2,), True)
    reading = sequence.extend([3])
    assert (reading.passes, reading.is_prefill, sequence.last.reused) == ((1,), False, None)
    assert remote.vocabulary.label(16_399) == "<id 16399>"


def test_distrusted_cache_is_not_used(network, local):
    server = Whole(local.tokenizer)
    network(server)
    sequence = connect(ADDRESS, listed=4, tokenizer=local.tokenizer).open()
    sequence.extend([1])
    sequence.distrust()
    sequence.extend([2])
    sequence.extend([3])
    assert [len(body.get("cache_salt", "")) for body in server.asked[-3:]] == [0, 32, 0]


def test_other_tokenizer_is_refused(network, local):
    server = Whole(lambda text: {"input_ids": [len(text)]})
    network(server)
    with pytest.raises(TokenizerError, match="use the tokenizer that belongs"):
        connect(ADDRESS, tokenizer=local.tokenizer)


@pytest.mark.parametrize("name", ["token_id:", "token_id:-1", "token_id:99999999999", "the"])
def test_unreadable_id_is_refused(network, local, name):
    server = Whole(local.tokenizer)
    network(server)
    sequence = connect(ADDRESS, listed=2, tokenizer=local.tokenizer).open()
    server.top = {name: -0.1, "token_id:3": -3.0}
    with pytest.raises(ServerError, match=r"lists .* as the likeliest token"):
        sequence.extend([1])
    assert sequence.positions == 0
