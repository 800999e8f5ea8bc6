"""Answers of APIs: two real ones of llama.cpp's server, and the shapes of others."""

import json
import math

import httpx2
import pytest

from engine.errors import PromptError
from engine.study import parse_answer
from tests.engine.backend.running import gguf_file, server

__all__ = ["gguf_file", "server"]
LISTED = 3


def asked(server, path, **body):
    answer = httpx2.post(server.address + path, json={"temperature": 0, **body}, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.text


def test_real_answers_of_llama_cpp_are_read(server):
    prompt = {"prompt": "Once upon a time"}
    native = asked(server, "/completion", n_predict=4, n_probs=LISTED, **prompt)
    old = asked(server, "/v1/completions", max_tokens=4, logprobs=LISTED, **prompt)
    chat = asked(
        server,
        "/v1/chat/completions",
        max_tokens=4,
        logprobs=True,
        top_logprobs=LISTED,
        messages=[{"role": "user", "content": "Hi"}],
    )
    found = [parse_answer(each) for each in (native, old, chat)]
    texts = [
        json.loads(native)["content"],
        json.loads(old)["choices"][0]["text"],
        json.loads(chat)["choices"][0]["message"]["content"],
    ]
    assert [each.text for each in found] == texts
    assert found[0].shape == "llama.cpp's completion" and found[0].model
    for answer in found:
        for token in answer.tokens:
            assert token.rank == 1 and len(token.top) == LISTED
            assert token.top[0][1] == pytest.approx(token.logprob)
    assert [t.logprob for t in found[0].tokens] == pytest.approx(
        [t.logprob for t in found[1].tokens], abs=1e-3
    )


ENTRY = {
    "token": "é",
    "bytes": [195],
    "logprob": -0.5,
    "top_logprobs": [
        {"token": "a", "logprob": -2.0, "bytes": [97]},
        {"token": "é", "logprob": -0.5, "bytes": [195]},
    ],
}
REST = {"token": "?", "bytes": [169], "logprob": -9999.0, "top_logprobs": []}
OLD = {
    "tokens": ["Hi", "!"],
    "token_logprobs": [None, -0.25],
    "top_logprobs": [None, {"!": -0.25, "?": -1.5}],
}


@pytest.mark.parametrize(
    "answer",
    [
        {"choices": [{"message": {"content": "é"}, "logprobs": {"content": [ENTRY, REST]}}]},
        {"model": "a", "response": "é", "logprobs": [ENTRY, REST]},
        {"message": {"content": "é"}, "logprobs": [ENTRY, REST]},
        {"content": "é", "completion_probabilities": [ENTRY, REST]},
    ],
)
def test_bytes_of_a_character_are_joined(answer):
    found = parse_answer(json.dumps(answer))
    assert found.text == "é" and found.model == answer.get("model", "")
    first, second = found.tokens
    assert (first.text, first.rank, first.surprisal_bits) == ("<0xC3>", 1, 0.5 / math.log(2))
    assert first.top == (("<0xC3>", -0.5), ("a", -2.0))
    assert (second.logprob, second.rank, second.top) == (-math.inf, None, ())


def test_first_token_of_an_echo_has_no_probability():
    found = parse_answer(json.dumps({"choices": [{"text": "Hi!", "logprobs": OLD}]}))
    assert found.text == "Hi!" and math.isnan(found.tokens[0].logprob)
    assert found.tokens[1].top == (("!", -0.25), ("?", -1.5))


@pytest.mark.parametrize(
    "answer",
    [
        {"choices": [{"message": {"content": "Hi"}, "logprobs": None}]},
        {"choices": [{"text": "Hi"}]},
        {"response": "Hi"},
        {"content": "Hi", "completion_probabilities": []},
    ],
)
def test_answer_without_probabilities_is_refused(answer):
    with pytest.raises(PromptError, match="has no probabilities; ask again with"):
        parse_answer(json.dumps(answer))


@pytest.mark.parametrize(
    "text",
    [
        "Once upon a time",
        "{ said the fox",
        '{"a": 1}',
        "[1, 2]",
        '{"choices": [3]}',
        '{"a":' * 5_000,
        '{"response": "a", "logprobs": [{"token": 3}]}',
        '{"choices": [{"logprobs": {"tokens": "a"}}]}',
    ],
)
def test_other_texts_are_no_answers(text):
    assert parse_answer(text) is None
