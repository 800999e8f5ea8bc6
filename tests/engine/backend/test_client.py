"""Checks of a server's answers; the server here is a function or a class."""

import json
import ssl

import httpx2
import numpy as np
import pytest

from engine.backend.client import Client
from engine.backend.connection import connect
from engine.backend.dialect import Description, Listed
from engine.backend.server_model import ServerModel
from engine.backend.server_sequence import scores_of
from engine.errors import LogitsError, ServerError, SettingError, TokenizerError

ADDRESS = "http://gpu.example:8080"


def client_of(answer, **settings):
    return Client(ADDRESS, transport=httpx2.MockTransport(answer), **settings)


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr("engine.backend.client.RETRY_S", 0.0)


def raising(error):
    def answer(request):
        raise error

    return answer


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (raising(httpx2.ConnectError("refused")), "cannot be reached .refused.; start it"),
        (raising(httpx2.ReadError("reset")), "cannot be reached"),
        (raising(httpx2.ReadTimeout("")), "has not answered within 60 s"),
        (raising(httpx2.ConnectTimeout("")), "has not answered within 5 s"),
        (raising(httpx2.ConnectError("certificate verify failed")), "certificate verify failed"),
        (raising(ssl.SSLError("bad record")), "cannot be reached"),
        (lambda _: httpx2.Response(401), "give the key"),
        (lambda _: httpx2.Response(404), "nothing at this path"),
        (lambda _: httpx2.Response(200, text="<!doctype html><p>Hi"), "with a web page"),
        (lambda _: httpx2.Response(200, text='{"default_gen'), "unreadable answer"),
        (lambda _: httpx2.Response(200, text="[]"), "unreadable answer"),
        (lambda _: httpx2.Response(200, text='{"a":' * 100_000), "unreadable answer"),
        (lambda _: httpx2.Response(400, text='{"a":' * 100_000), "rejected the request"),
        (
            lambda _: httpx2.Response(302, headers={"location": "http://169.254.169.254/x"}),
            "redirects to 169.254.169.254; give",
        ),
        (
            lambda _: httpx2.Response(400, json={"error": {"message": "too\nlong " * 99}}),
            "rejected the request .400.: too long too long",
        ),
        (lambda _: httpx2.Response(500, text=""), "no reason given"),
    ],
)
def test_unusable_answer_gives_a_sentence(answer, sentence):
    with pytest.raises(ServerError, match=sentence) as raised:
        client_of(answer, key="s3cret").post("/completion", {}, dict)
    assert "s3cret" not in str(raised.value)
    assert len(str(raised.value)) < 400


def test_large_answer_ends_the_request(monkeypatch):
    monkeypatch.setattr("engine.backend.client.MOST_BYTES", 1_000)
    sent = []

    def parts():
        for _ in range(100):
            sent.append(100)
            yield b" " * 100

    with pytest.raises(ServerError, match="larger than"):
        client_of(lambda _: httpx2.Response(200, content=parts())).get("/props", dict)
    assert sum(sent) == 1_100


def test_broken_connection_and_full_server_are_tried_again(monkeypatch):
    monkeypatch.setattr("engine.backend.client.RETRY_S", 60.0)
    monkeypatch.setattr("engine.backend.client.PAUSE_S", 0.0)
    outcomes = iter(
        [
            httpx2.ReadError("reset"),
            httpx2.Response(500),
            httpx2.Response(429),
            httpx2.Response(200, json={}),
        ]
    )

    def answer(request):
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    assert client_of(answer).get("/props", dict).value == {}


def test_requests_carry_key_and_session():
    seen = []

    def answer(request):
        seen.append((request.headers["authorization"], request.headers["x-visit"]))
        return httpx2.Response(200, json=json.loads(request.content))

    client = client_of(answer, key="k", session_header="X-Visit")
    assert client.post("/x", {"a": [1]}, dict, session="mine").value == {"a": [1]}
    assert seen == [("Bearer k", "mine")]
    with pytest.raises(SettingError, match=r"session_header .* as in X-Session-ID"):
        client_of(answer, session_header="X Visit")


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("gpu.example:8080", "must be an HTTP address"),
        ("file:///etc/passwd", "must be an HTTP address"),
        ("http://", "must be an HTTP address"),
        ("http://[::1", "must be an HTTP address"),
        ("http://gpu.example:99999", "must be an HTTP address"),
        ("http://me:s3cret@gpu.example", "must not contain a name or a password"),
        ("http://me:s3cret@gpu.example:99999", "must not contain a name or a password"),
        ("me:s3cret@gpu.example", "must not contain a name or a password"),
        ("http://gpu.example/?key=s3cret", "must end with its path"),
        ("http://gpu.example/?", "must end with its path"),
    ],
)
def test_unusable_address_is_refused(address, problem):
    with pytest.raises(SettingError, match=problem) as raised:
        Client(address)
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [({"kind": "ollama"}, "is not a kind of server"), ({"listed": 0}, "must be at least 1")],
)
def test_unusable_setting_is_refused(settings, problem):
    with pytest.raises(SettingError, match=problem):
        connect(ADDRESS, **settings)


def test_redirect_is_not_followed():
    asked = []

    def answer(request):
        asked.append(request.url)
        return httpx2.Response(307, headers={"location": f"{ADDRESS}/elsewhere"})

    with pytest.raises(ServerError, match=r"redirects to gpu\.example"):
        client_of(answer).get("/props", dict)
    assert len(asked) == 1


def test_key_stays_out_of_errors():
    echo = client_of(lambda _: httpx2.Response(400, text="bad key s3cret"), key=" s3cret\n")
    with pytest.raises(ServerError, match="bad key …"):
        echo.get("/props", dict)
    with pytest.raises(SettingError, match="may contain only") as raised:
        Client(ADDRESS, key="s3crét")
    assert "s3cr" not in str(raised.value)


def test_retries_end_with_a_sentence(monkeypatch):
    monkeypatch.setattr("engine.backend.client.RETRY_S", 0.05)
    monkeypatch.setattr("engine.backend.client.PAUSE_S", 0.01)
    asked = []

    def answer(request):
        asked.append(1)
        return httpx2.Response(503, json={"error": {"message": "Loading model"}})

    with pytest.raises(ServerError, match=r"503\): Loading model\. The"):
        client_of(answer).get("/props", dict)
    assert len(asked) > 1


def test_slow_answer_ends_the_request(monkeypatch):
    monkeypatch.setattr("engine.backend.client.ANSWER_S", 0.0)
    parts = (b" " for _ in range(100))
    with pytest.raises(ServerError, match="has not answered within 0 s"):
        client_of(lambda _: httpx2.Response(200, content=parts)).get("/props", dict)


def models(*names, owner="acme"):
    listed = [{"id": name, "owned_by": owner} for name in names]
    return lambda _: httpx2.Response(200, json={"data": listed})


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lambda _: httpx2.Response(200, json={"version": "1"}), "not a supported server; give"),
        (lambda _: httpx2.Response(200, text="<!doctype html><p>Hi"), "web page; give the address"),
        (lambda _: httpx2.Response(401), "give the key"),
        (lambda _: httpx2.Response(404), "give the address of the API"),
        (models(), "has no model; load one"),
        (models("m", owner="llamacpp"), "is a llama.cpp server, not vllm; connect to it as that"),
    ],
)
def test_other_kind_of_server_is_refused(network, answer, sentence):
    network(answer)
    with pytest.raises(ServerError, match=sentence):
        connect(ADDRESS, "vllm")


@pytest.mark.parametrize("model", [None, "gpt"])
def test_one_of_several_models_is_named(network, model):
    network(models("small", "large"))
    with pytest.raises(SettingError, match="use one of small, large"):
        connect(ADDRESS, model=model)


@pytest.mark.parametrize("owner", ["acme", "vllm"])
def test_missing_tokenizer_is_asked_for(network, owner):
    network(models("small", "large", owner=owner))
    with pytest.raises(TokenizerError, match="give the folder of the model's tokenizer"):
        connect(f"{ADDRESS}/v1/", model="small")


class FakeDialect:
    """Four tokens, a control token among them, and answers that a test may change."""

    kind = "fake"
    gives_bytes = True
    tempering = {"temperature": 2}  # noqa: RUF012
    probabilities = (0.4, 0.3, 0.2, 0.1)
    tempered = probabilities
    listed = (3, 1, 0, 2)

    def __init__(self):
        self.reused = []

    def describe(self):
        return Description("model", "1", "f32", 4, 16, (2,))

    def encode(self, text, *, adds_special=False):
        return [1]

    def name_of(self, token_id):
        return "<end>"

    def next_scores(self, token_ids, count, *, reuses_prefix=True, settings=None, **_):
        self.reused.append(reuses_prefix)
        probabilities = self.tempered if settings else self.probabilities
        ids = list(self.listed[:count])
        return Listed(
            ids=np.array(ids),
            logprobs=np.log(probabilities[: len(ids)]),
            tokens=[b"" if token_id == 2 else b"%d" % token_id for token_id in ids],
            read=1,
            reused=0,
            server_ms=1.0,
            ms=2.0,
        )


def test_tokens_without_bytes_are_named():
    vocabulary = ServerModel(FakeDialect(), 3).vocabulary
    assert [vocabulary.label(each) for each in range(5)] == ["0", "1", "<end>", "3", "<id 4>"]
    assert vocabulary.special_ids == {2}
    with pytest.raises(TokenizerError, match="is on its server"):
        vocabulary.chat("Hi")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"probabilities": (0.4, 0.3, 0.2, 0.2)}, "sum to 1.1000 instead of 1"),
        ({"tempered": (0.3, 0.3, 0.2, 0.2)}, "after its own samplers"),
        ({"tempered": (np.nan, 0.3, 0.2, 0.1)}, "after its own samplers"),
        ({"listed": (3, 1, 0)}, "listed 3 of its 4 tokens|sum to 0.9"),
        ({"listed": (3, 1, 0, 0)}, "of its 4 tokens when asked for all"),
    ],
)
def test_unusable_server_is_refused_when_it_connects(change, sentence):
    dialect = FakeDialect()
    vars(dialect).update(change)
    with pytest.raises(ServerError, match=sentence):
        ServerModel(dialect, 3)


def test_invalid_value_makes_the_server_read_again():
    dialect = FakeDialect()
    sequence = ServerModel(dialect, 3).open()
    sequence.extend([1])
    dialect.probabilities = (np.nan, 0.3, 0.2)
    with pytest.raises(LogitsError):
        sequence.extend([0])
    assert sequence.positions == 1
    del dialect.probabilities
    dialect.reused.clear()
    sequence.extend([0])
    sequence.extend([0])
    assert (sequence.positions, dialect.reused) == (3, [False, True])


class FakeModel:
    name, vocab_size, listed = "model", 4, 2


@pytest.mark.parametrize(
    ("ids", "logprobs", "error"),
    [
        ([0, 0], [-1, -1], ServerError),
        ([0, 4], [-1, -1], ServerError),
        ([0], [-1], ServerError),
        ([0, 1], [-1, np.nan], LogitsError),
        ([0, 1], [-1, np.inf], LogitsError),
        ([0, 1], [-1, 0.5], LogitsError),
        ([0, 1], [-np.inf, -np.inf], LogitsError),
    ],
)
def test_unusable_values_are_refused(ids, logprobs, error):
    listed = Listed(np.array(ids, np.int64), np.array(logprobs, float), [], 1, 0, 0.0, 0.0)
    with pytest.raises(error, match="the text is kept"):
        scores_of(listed, FakeModel(), 2)


def test_scores_are_sorted_and_sum_to_one():
    listed = Listed(np.array([3, 1]), np.log([0.3, 0.6]), [], 1, 0, 0.0, 0.0)
    scores = scores_of(listed, FakeModel(), 2)
    assert scores.ids.tolist() == [1, 3]
    assert scores.rest == pytest.approx(0.1)
    assert np.exp(scores.row().astype(float)).sum() == pytest.approx(1)
