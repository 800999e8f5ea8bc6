"""OpenAI's API: as a real llama.cpp server has it, and as smaller servers would."""

import json
from pathlib import Path

import httpx2
import numpy as np
import pytest

from engine import Decoder, SamplingSettings, connect, load_model
from engine.errors import (
    CapabilityError,
    ModelChangedError,
    RejectedError,
    ServerError,
    TokenizerError,
)
from tests.engine.backend.llama_server import LlamaServer
from tests.engine.gguf_files import write_gguf

TARGET = Path(__file__).parents[3] / "models" / "target"
PROMPT = "Once upon a time"
SAMPLED = SamplingSettings(temperature=0.9, top_k=20, top_p=0.95, seed=4)
# Both compute in float32, in a different order.
NATS = 1e-3


@pytest.fixture(scope="module")
def local():
    return load_model(dtype="float32")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with LlamaServer(write_gguf(TARGET, tmp_path_factory.mktemp("gguf") / "a.gguf")) as server:
        yield server


class NoCompletions(httpx2.HTTPTransport):
    """The network to a server that has an endpoint for chats only."""

    def handle_request(self, request):
        if request.url.path == "/v1/completions":
            return httpx2.Response(404, request=request)
        return super().handle_request(request)


def test_completions_give_the_local_text(server, local):
    remote = connect(f"{server.address}/v1", "openai", listed=50, tokenizer=local.tokenizer)
    assert (remote.name, remote.listed, remote.eos_ids) == ("a.gguf", 50, local.eos_ids)
    here, there = Decoder(local, PROMPT, SAMPLED), Decoder(remote, PROMPT, SAMPLED)
    for step in here.run(10):
        drawn = there.step()
        assert drawn.token_id == step.token_id
        assert drawn.logprob == pytest.approx(step.logprob, abs=NATS)
    assert len(there.steps) == 10


def test_chat_continues_the_message(server, local, network):
    native = connect(server.address).dialect
    network(NoCompletions())
    remote = connect(server.address, "openai", listed=20, tokenizer=local.tokenizer)
    begin = "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n"  # llama.cpp's template
    decoder = Decoder(remote, PROMPT, SAMPLED)
    for step in decoder.run(4):
        assert remote.listed == 20
        read = native.encode(begin + PROMPT + decoder.text[: -len(step.text)])
        listed = native.next_scores(read, 100)
        place = listed.ids.tolist().index(step.token_id)
        assert step.logprob == pytest.approx(listed.logprobs[place], abs=NATS)
    sequence = remote.open()
    with pytest.raises(ServerError, match="reads this text as other tokens"):
        sequence.extend([local.vocabulary.encode(each)[0] for each in ("On", "ce")])
    assert sequence.positions == 0


class Listing:
    """A server that lists the given texts, whatever it reads.

    Attributes:
        asked: the bodies of all requests for scores.
    """

    def __init__(self, its_tokenizer, **changes):
        self.tokenizer, self.asked, self.name = its_tokenizer, [], "small"
        self.texts = {" there": 0.5, " the": 0.2, ",": 0.1}
        self.cap, self.before, self.continues, self.paths = 5, 7, True, {"completions"}
        vars(self).update(changes)

    def __call__(self, request):
        path = request.url.path.removeprefix("/v1/")
        if path == "models":
            return httpx2.Response(200, json={"data": [{"id": self.name, "owned_by": "acme"}]})
        if path not in self.paths:
            return httpx2.Response(404)
        body = json.loads(request.content)
        self.asked.append(body)
        if body["model"] != self.name:
            return httpx2.Response(404, json={"error": {"message": "no such model"}})
        is_chat = path == "chat/completions"
        count = body["top_logprobs"] if is_chat else body["logprobs"]
        if count > self.cap:
            return httpx2.Response(400, json={"error": {"message": "too many"}})
        read = self._read(body)
        shape = self.shape(list(self.texts.items())[:count])
        answer = {"choices": [{"logprobs": shape}], "usage": {"prompt_tokens": read}}
        return httpx2.Response(200, json=answer)

    def _read(self, body):
        texts = body.get("prompt", "")
        if "messages" in body:
            texts = "".join(each["content"] for each in body["messages"])
            added = self.before if self.continues or not texts else self.before + 3
            return len(self.tokenizer(texts)["input_ids"]) + added
        return len(texts) if isinstance(texts, list) else len(self.tokenizer(texts)["input_ids"])

    def shape(self, listed):
        """Return the lists of the old API."""
        return {"top_logprobs": [{text: float(np.log(value)) for text, value in listed}]}


class Bytes(Listing):
    """A server with the chat API's shape, without ids."""

    def shape(self, listed):
        top = [
            {"token": "�", "bytes": list(text.encode()), "logprob": float(np.log(value))}
            for text, value in listed
        ]
        return {"content": [{"top_logprobs": top}]}


@pytest.mark.parametrize("shape", [Listing, Bytes])
@pytest.mark.parametrize("path", ["completions", "chat/completions"])
def test_listed_texts_become_tokens(local, network, shape, path):
    network(shape(local.tokenizer, paths={path}))
    remote = connect("http://acme.example", tokenizer=local.tokenizer)
    assert (remote.name, remote.listed, remote.vocab_size) == ("small", 3, 16_384)
    reading = remote.open().extend(local.vocabulary.encode(PROMPT))
    ids = [local.vocabulary.encode(text)[0] for text in (" there", " the", ",")]
    assert reading.forward.scores.ids.tolist() == ids
    assert reading.forward.scores.rest == pytest.approx(0.2)


def test_list_ends_before_an_unknown_text(local, network):
    server = Listing(local.tokenizer)
    network(server)
    remote = connect("http://acme.example", tokenizer=local.tokenizer, listed=2)
    sequence = remote.open()
    # Beyond the two tokens that are needed, any text may be unknown.
    server.texts = {" there": 0.5, " the": 0.2, "�": 0.15, ",": 0.1}
    assert sequence.extend([5]).forward.scores.ids.size == 2
    server.texts = {" there": 0.5, "no token has this text": 0.2, ",": 0.1}
    with pytest.raises(ServerError, match="listed 1 tokens instead of 2; the text is kept"):
        sequence.extend([6])
    server.texts = {"�": 0.5, " there": 0.2}
    with pytest.raises(ServerError, match="lists '�' as the likeliest token"):
        sequence.extend([6])
    assert sequence.positions == 1


def test_other_model_at_the_address_is_noticed(local, network):
    server = Listing(local.tokenizer)
    network(server)
    model = connect("http://acme.example", tokenizer=local.tokenizer)
    sequence = model.open()
    sequence.extend([5])
    server.name = "large"
    with pytest.raises(ModelChangedError, match=r"another model now \(large\)"):
        sequence.extend([6])
    assert model.has_changed and sequence.positions == 1
    with pytest.raises(CapabilityError, match="The load of small is not known"):
        model.load()


@pytest.mark.parametrize("most", [1, 2, 5])
def test_most_listed_is_found_by_asking(local, network, most):
    texts = {f" {word}": 0.1 for word in ("there", "the", "a", "in", "of", "to")}
    server = Listing(local.tokenizer, cap=most, texts=texts)
    network(server)
    assert connect("http://acme.example", tokenizer=local.tokenizer).listed == most


@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        ({"paths": {"chat/completions"}, "continues": False}, ServerError, "does not continue a"),
        ({"paths": ()}, RejectedError, "nothing at this path"),
        ({"cap": 0}, RejectedError, "too many"),
        ({"tokenizer": lambda text: {"input_ids": text}}, TokenizerError, "that belongs to the"),
        ({"texts": {" there": 0.9, " the": 0.5}}, ServerError, "sum to 1.4000 instead of 1"),
        ({"texts": {" there": 1e-5, " the": 1e-5}}, ServerError, "sum to 0.1638 instead of 1"),
        ({"shape": lambda listed: {}}, ServerError, "gave no probabilities"),
        ({"shape": lambda listed: {"content": []}}, ServerError, "gave no probabilities"),
        ({"shape": lambda listed: {"top_logprobs": [{"a": "b"}]}}, ServerError, "unreadable"),
        ({"shape": lambda listed: {"top_logprobs": [{}]}}, ServerError, "gave no probabilities"),
    ],
)
def test_unusable_server_is_refused(local, network, changes, error, sentence):
    network(Listing(local.tokenizer, **changes))
    with pytest.raises(error, match=sentence):
        connect("http://acme.example", tokenizer=local.tokenizer)


def test_values_after_samplers_are_refused(local, network):
    class Tempered(Listing):
        def _read(self, body):
            if body["temperature"]:
                self.texts = {" there": 0.4, " the": 0.25, ",": 0.2}
            return super()._read(body)

    network(Tempered(local.tokenizer))
    with pytest.raises(ServerError, match="after its own samplers"):
        connect("http://acme.example", tokenizer=local.tokenizer)
