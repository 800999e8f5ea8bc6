"""The answer of a model's API as JSON: its text, and the probabilities that the API gave.

Four shapes are read: OpenAI's chat and completions, as many servers have them (vLLM, llama.cpp,
LM Studio), llama.cpp's own, and Ollama's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from engine.errors import PromptError, msg
from engine.model.vocabulary import readable

_LN2 = math.log(2.0)
# Servers write it for a lower log-probability, or for a probability of 0.
_IMPOSSIBLE = -9_000.0


@dataclass(frozen=True)
class GivenToken:
    """A token of an answer, as the API gave it.

    Attributes:
        text: the token as readable text.
        token_bytes: its bytes.
        logprob: its log-probability, in nats; NaN if the API gave none.
        top: the listed tokens with their log-probabilities, likeliest first.
    """

    text: str
    token_bytes: bytes
    logprob: float
    top: tuple[tuple[str, float], ...]

    @property
    def surprisal_bits(self) -> float:
        """-log2 of its probability."""
        return -self.logprob / _LN2

    @property
    def gap(self) -> float:
        """Its log-probability minus that of the likeliest other listed token; inf without one."""
        other = next((logprob for text, logprob in self.top if text != self.text), None)
        return math.inf if other is None or math.isnan(self.logprob) else self.logprob - other

    @property
    def rank(self) -> int | None:
        """Its place among the listed tokens, from 1; None if it is not listed."""
        return next((n for n, (text, _) in enumerate(self.top, 1) if text == self.text), None)


@dataclass(frozen=True)
class ApiAnswer:
    """An answer with the probabilities that its API gave.

    Attributes:
        shape: the shape of the JSON.
        model: name of the model; empty if the answer does not say.
        tokens: the tokens of the text.
    """

    shape: str
    model: str
    tokens: tuple[GivenToken, ...]

    @property
    def text(self) -> str:
        """The text of the answer."""
        return b"".join(token.token_bytes for token in self.tokens).decode("utf-8", "replace")


class _Token(msgspec.Struct):
    token: str = ""
    logprob: float | None = None
    bytes: list[int] | None = None
    top_logprobs: list[_Token] = []


class _Lists(msgspec.Struct):
    """The older shape of completions."""

    tokens: list[str]
    token_logprobs: list[float | None]
    top_logprobs: list[dict[str, float | None] | None] | None = None


def parse_answer(text: str) -> ApiAnswer | None:
    """Return an API's answer with its probabilities; None if a text is no such JSON.

    Raises:
        PromptError: it is an answer without probabilities.
    """
    if not text.lstrip().startswith("{"):
        return None
    try:
        found = msgspec.json.decode(text)
        shape, given, is_answer = _given(found)
        if given is None:
            if is_answer:
                raise PromptError(
                    "This answer of an API has no probabilities; ask again with {options}, or "
                    "paste its text alone.",
                    '"logprobs": true, "top_logprobs": 5',
                )
            return None
        model = found.get("model")
        return ApiAnswer(shape, model if isinstance(model, str) else "", tuple(_tokens(given)))
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None  # a text that begins as JSON does


def _given(found: dict[str, Any]) -> tuple[str, Any, bool]:
    """Return the shape, the part with the probabilities, and whether it is an answer at all."""
    choices = found.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        logprobs = choices[0].get("logprobs")
        if isinstance(logprobs, dict) and logprobs.get("content"):
            return msg("OpenAI's chat"), logprobs["content"], True
        if isinstance(logprobs, dict) and logprobs.get("tokens"):
            return msg("OpenAI's completions"), logprobs, True
        return "", None, True
    if found.get("completion_probabilities"):
        return msg("llama.cpp's completion"), found["completion_probabilities"], True
    if found.get("logprobs") and ("response" in found or "message" in found):
        return msg("Ollama's answer"), found["logprobs"], True
    return "", None, any(isinstance(found.get(name), str) for name in ("response", "content"))


def _tokens(given: Any) -> Iterable[GivenToken]:
    if isinstance(given, dict):
        lists = msgspec.convert(given, _Lists)
        listed = lists.top_logprobs or [None] * len(lists.tokens)
        for token, logprob, top in zip(lists.tokens, lists.token_logprobs, listed, strict=False):
            pairs = [(text, _value(each)) for text, each in (top or {}).items()]
            yield GivenToken(
                token, token.encode("utf-8", "replace"), _value(logprob), _sorted(pairs)
            )
        return
    for token in msgspec.convert(given, list[_Token]):
        pairs = [(_text(each), _value(each.logprob)) for each in token.top_logprobs]
        yield GivenToken(_text(token), _bytes(token), _value(token.logprob), _sorted(pairs))


def _value(logprob: float | None) -> float:
    if logprob is None:
        return math.nan
    return -math.inf if logprob <= _IMPOSSIBLE else min(float(logprob), 0.0)


def _bytes(token: _Token) -> bytes:
    if token.bytes is None or any(not 0 <= each <= 255 for each in token.bytes):
        return token.token.encode("utf-8", "replace")
    return bytes(token.bytes)


def _text(token: _Token) -> str:
    return readable(_bytes(token))


def _sorted(pairs: Sequence[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    known = [pair for pair in pairs if not math.isnan(pair[1])]
    return tuple(sorted(known, key=lambda pair: -pair[1]))
