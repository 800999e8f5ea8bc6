"""Bad answers of a server, each a sentence; the server here is a function."""

import json
import ssl

import httpx2
import numpy as np
import pytest

from engine.backend.client import Client
from engine.backend.connection import connect
from engine.backend.llama_cpp import LlamaCpp
from engine.backend.server import Listed, scores_of
from engine.errors import LogitsError, ServerError, SettingError

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
        (lambda _: httpx2.Response(404), "no such address"),
        (lambda _: httpx2.Response(200, text="<!doctype html><p>Hi"), "a web page"),
        (lambda _: httpx2.Response(200, text='{"default_gen'), "cannot be read"),
        (lambda _: httpx2.Response(200, text="[]"), "cannot be read"),
        (lambda _: httpx2.Response(200, text="[" * 100_000), "cannot be read"),
        (
            lambda _: httpx2.Response(302, headers={"location": "http://169.254.169.254/x"}),
            "sends requests on to 169.254.169.254; if you trust",
        ),
        (
            lambda _: httpx2.Response(400, json={"error": {"message": "too\nlong " * 99}}),
            "refuses the request .400.: too long too long",
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


def test_broken_connection_is_tried_again(monkeypatch):
    monkeypatch.setattr("engine.backend.client.RETRY_S", 60.0)
    monkeypatch.setattr("engine.backend.client.PAUSE_S", 0.0)
    outcomes = iter(
        [httpx2.ReadError("reset"), httpx2.Response(500), httpx2.Response(200, json={})]
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
        seen.append((request.headers["authorization"], request.headers["x-session-id"]))
        return httpx2.Response(200, json=json.loads(request.content))

    client = client_of(answer, key="k")
    assert client.post("/x", {"a": [1]}, dict, X_Session_ID="mine").value == {"a": [1]}
    assert seen == [("Bearer k", "mine")]


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("gpu.example:8080", "must be an HTTP address"),
        ("file:///etc/passwd", "must be an HTTP address"),
        ("http://", "must be an HTTP address"),
        ("http://[::1", "must be an HTTP address"),
        ("http://gpu.example:99999", "must be an HTTP address"),
        ("http://me:s3cret@gpu.example", "must not contain a name or a password"),
        ("http://gpu.example/?key=1", "must end with its path"),
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


def test_other_kind_of_server_is_refused():
    assert not LlamaCpp.is_at(client_of(lambda _: httpx2.Response(200, json={"version": "1"})))


class FakeModel:
    name, vocab_size = "model", 4


@pytest.mark.parametrize(
    ("ids", "logprobs", "error"),
    [
        ([0, 0], [-1, -1], ServerError),
        ([0, 4], [-1, -1], ServerError),
        ([], [], ServerError),
        ([0, 1], [-1, np.nan], LogitsError),
        ([0, 1], [-1, np.inf], LogitsError),
        ([0, 1], [-1, 0.5], LogitsError),
        ([0, 1], [-np.inf, -np.inf], LogitsError),
    ],
)
def test_unusable_values_are_refused(ids, logprobs, error):
    listed = Listed(np.array(ids, np.int64), np.array(logprobs, float), [], 1, 0, 0.0, 0.0, 0)
    with pytest.raises(error, match="try again"):
        scores_of(listed, FakeModel())


def test_scores_are_sorted_and_sum_to_one():
    listed = Listed(np.array([3, 1, 0]), np.log([0.2, 0.5, 0.2]), [], 1, 0, 0.0, 0.0, 0)
    scores = scores_of(listed, FakeModel())
    assert scores.ids.tolist() == [1, 0, 3]
    assert scores.rest == pytest.approx(0.1)
    assert np.exp(scores.row().astype(float)).sum() == pytest.approx(1)
