"""vLLM's additions to OpenAI's API: token ids in and out, and longer lists if started for them.

It gives no bytes of tokens, so the model's tokenizer must be here. Verified with version 0.32.0.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from engine.backend.dialect import Description, Listed
from engine.backend.metrics import read_metrics
from engine.backend.openai import (
    SHORT,
    Count,
    Name,
    OpenAI,
    Top,
    logprob_of,
    most_accepted,
    sample_of,
)
from engine.backend.own_sampling import OwnDraw
from engine.errors import RejectedError, ServerError, msg
from engine.model.vocabulary import Vocabulary

_ALL = -1


class _Tokens(msgspec.Struct):
    tokens: list[Count]


class _Version(msgspec.Struct):
    version: Name


class Vllm(OpenAI):
    """A vLLM server; arguments as of `OpenAI`."""

    kind = "vllm"
    tempering: ClassVar = {"temperature": 2.0, "top_k": 3}
    always: ClassVar = {"return_tokens_as_token_ids": True}

    def describe(self) -> Description:
        """Return the server's account of itself and its model; finds its limits by asking."""
        text, most, notices = self.encode(SHORT), None, ()
        try:
            size = len(self._top(self._ask(text, _ALL).value))
        except RejectedError:
            most = most_accepted(lambda count: self._ask(text, count), self._listed)
            known = self._tokens.size  # the model may score a few more
            size = most_accepted(lambda count: self.logprobs(text, [count - 1]), 2 * known)
            if most < self._listed:
                notices = (
                    msg(
                        "{name} lists at most {most:,} tokens; for more, start vLLM with {option}.",
                        (self._served.id, most, "--max-logprobs -1"),
                    ),
                )
        version = self._client.get("/version", _Version).value.version
        return self._described(size, most, version=version, notices=notices)

    def encode(self, text: str, *, adds_special: bool = False) -> list[int]:
        """Return the token ids of a text by the server's tokenizer."""
        asked = {"model": self._served.id, "prompt": text, "add_special_tokens": adds_special}
        return self._client.post("/tokenize", asked, _Tokens).value.tokens

    def check_tokenizer(self, vocabulary: Vocabulary) -> None:
        """Raise `TokenizerError` if the server encodes a text differently."""
        text = sample_of(vocabulary)
        if self.encode(text, adds_special=True) != vocabulary.encode(text):
            raise self._other_tokenizer()

    def next_scores(
        self,
        token_ids: Sequence[int] | np.ndarray,
        count: int,
        *,
        session: str = "",
        reuses_prefix: bool = True,
        settings: dict[str, Any] | None = None,
        spells: bool = False,
    ) -> Listed:
        """Return the likeliest next tokens of a text, `count` or one more; see `LlamaCpp`."""
        if not reuses_prefix:  # the cache of a text with this salt is empty
            settings = {**(settings or {}), "cache_salt": secrets.token_hex(16)}
        return super().next_scores(token_ids, count, session=session, settings=settings)

    def draw(
        self,
        token_ids: Sequence[int] | np.ndarray,
        settings: Mapping[str, Any],
        *,
        length: int = 1,
        final: int = 0,
    ) -> OwnDraw:
        """Return tokens that the server draws (see `engine.backend.own_sampling`).

        It says neither which settings it used nor their final probabilities.
        """
        text = self._text([int(each) for each in token_ids])
        asked = {"temperature": 1.0, **settings, "max_tokens": length, "return_token_ids": True}
        choices = self._ask(text, 1, **asked).value.choices
        if not choices or choices[0].token_ids is None:
            raise ServerError(
                "{server} does not give the ids of the tokens that it draws; update it.",
                self._client.address,
            )
        return OwnDraw(tuple(choices[0].token_ids))

    def metrics(self) -> dict[str, float]:
        """Return the server's metrics (see `engine.backend.metrics`)."""
        return read_metrics(self._client)

    def logprobs(self, token_ids: Sequence[int] | np.ndarray, wanted: Sequence[int]) -> np.ndarray:
        """Return the log-probabilities of up to 128 next tokens, listed or not: (wanted,)."""
        text = [int(each) for each in token_ids]
        listed = self._top(self._ask(text, 1, logprob_token_ids=list(wanted)).value)
        values = {self._id(each): logprob_of(each) for each in listed}
        return np.array([values.get(each, np.nan) for each in wanted])

    def _id(self, top: Top) -> int | None:
        _, _, digits = top.token.partition("token_id:")
        return int(digits) if digits.isdecimal() and len(digits) < 10 else None
