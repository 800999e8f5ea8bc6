"""OpenAI's API, as many servers have it: completions, or a chat that continues a message.

It lists 5 or 20 tokens by their texts, in the old API's lists or in the chat API's shape. The
model's tokenizer, which must be here, gives their ids. A list ends before a text that none or
several of its tokens have: so no other token is likelier than a listed one.

A chat endpoint reads texts: everything is the beginning of the assistant's message, after an empty
message of the user. The number of tokens that the server reads shows if it continues that message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec
import numpy as np

from engine.backend.client import Answer, Client
from engine.backend.dialect import Description, Listed, base_name, model_changed, no_probabilities
from engine.errors import RejectedError, ServerError, TokenizerError, panics_as_errors
from engine.model.vocabulary import Vocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Count = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
Name = Annotated[str, msgspec.Meta(max_length=1_000)]
_Ms = Annotated[float, msgspec.Meta(ge=0)]
_Byte = Annotated[int, msgspec.Meta(ge=0, le=255)]
SHORT = "A"
_SHOWN = 40
_SAMPLED = 200  # tokens of the text that compares two tokenizers
# Servers write it for the bytes of an incomplete character.
_REPLACED = "\N{REPLACEMENT CHARACTER}".encode()
# Servers write it for a lower log-probability, or for a probability of 0.
_IMPOSSIBLE = -9_999.0


class Served(msgspec.Struct):
    """A model, as ``/v1/models`` lists it."""

    id: Name
    owned_by: Name = ""
    max_model_len: Count | None = None


class Models(msgspec.Struct):
    """The answer of ``/v1/models``."""

    data: list[Served] | None = None


class Top(msgspec.Struct):
    """A listed token."""

    token: str
    logprob: float | None
    bytes: list[_Byte] | None = None
    id: Count | None = None


class _Position(msgspec.Struct):
    top_logprobs: list[Top]


class _Logprobs(msgspec.Struct):
    content: list[_Position] | None = None
    top_logprobs: list[dict[str, float | None]] | None = None


class _Choice(msgspec.Struct):
    logprobs: _Logprobs | None = None
    token_ids: list[Count] | None = None


class _Details(msgspec.Struct):
    cached_tokens: Count | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: Count
    prompt_tokens_details: _Details | None = None


class _Times(msgspec.Struct):
    time_to_first_token_ms: _Ms | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage
    metrics: _Times | None = None


class OpenAI:
    """A server with OpenAI's API.

    Attributes, in addition to those of `Dialect`:
        always: settings that every request for scores has.

    Args:
        client: requests to it.
        served: the model.
        tokenizer: the model's tokenizer.
        listed: most tokens to list per step.
    """

    kind = "openai"
    gives_bytes = False
    tempering: ClassVar = {"temperature": 2.0, "top_p": 0.5}
    always: ClassVar[dict[str, Any]] = {}

    def __init__(
        self, client: Client, served: Served, tokenizer: PreTrainedTokenizerBase, listed: int
    ) -> None:
        self._client, self._served = client, served
        self._tokenizer, self._listed = tokenizer, listed
        self._is_chat, self._before = False, 0  # tokens of a chat before the text

    def describe(self) -> Description:
        """Return the server's account of itself and its model; finds its limits by asking."""
        text: str | list[int] = self.encode(SHORT)
        try:
            most = most_accepted(lambda count: self._ask(text, count), self._listed)
        except RejectedError as error:
            self._begin_chat(error)
            most = most_accepted(lambda count: self._ask(SHORT, count), self._listed)
        return self._described(self._tokens.size, most)

    def _described(self, vocab_size: int, most: int | None, **more: Any) -> Description:
        name, end = self._served.id, self._tokenizer.eos_token_id
        return Description(
            name=base_name(name) or self.kind,
            dtype="",
            vocab_size=vocab_size,
            context_length=self._served.max_model_len,
            eos_ids=() if end is None else (end,),
            most=most,
            **{"version": "", **more},
        )

    def _begin_chat(self, error: RejectedError) -> None:
        """Use the chat endpoint; raises `error` if there is none."""
        self._is_chat = True
        try:
            self._before = self._read("")
        except RejectedError:
            raise error from None
        try:
            continues = self._read(SHORT) == self._before + len(self.encode(SHORT))
        except RejectedError:
            continues = False
        if not continues:
            raise ServerError(
                "{server} does not continue a message that has begun, as every step would need; "
                "use a server with an endpoint for completions.",
                self._client.address,
            )

    def encode(self, text: str, *, adds_special: bool = False) -> list[int]:
        """Return the token ids of a text by the tokenizer here."""
        with panics_as_errors():
            tokenized = self._tokenizer(text, add_special_tokens=adds_special, verbose=False)
        return list(tokenized["input_ids"])

    def check_tokenizer(self, vocabulary: Vocabulary) -> None:
        """Raise `TokenizerError` if the server makes more or fewer tokens of a text."""
        text = sample_of(vocabulary)
        more = len(self.encode(text)) - len(self.encode(SHORT))
        if self._read(text) - self._read(SHORT) != more:
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
        """Return the likeliest next tokens of a text, about `count`; see `LlamaCpp`.

        The server may always use what it has cached of the text.
        """
        text = [int(each) for each in token_ids]
        answer = self._ask(self._text(text), count, session, **(settings or {}))
        said = answer.value
        if said.usage.prompt_tokens != self._before + len(text):
            raise self._read_differently()
        top = sorted(self._top(said), key=lambda each: -logprob_of(each))
        ids = list(takewhile(lambda each: each is not None, map(self._id, top)))
        if not ids:
            raise ServerError(
                "{server} lists {token} as the likeliest token, which the tokenizer lacks or has "
                "twice; use the tokenizer that belongs to the model.",
                (self._client.address, repr(top[0].token[:_SHOWN])),
            )
        reused = said.usage.prompt_tokens_details and said.usage.prompt_tokens_details.cached_tokens
        server_ms = said.metrics and said.metrics.time_to_first_token_ms
        return Listed(
            ids=np.array(ids, np.int64),
            logprobs=np.array([logprob_of(each) for each in top[: len(ids)]], np.float64),
            tokens=None,
            read=said.usage.prompt_tokens - (reused or 0),
            reused=reused,
            server_ms=answer.ms if server_ms is None else server_ms,
            ms=answer.ms,
        )

    @cached_property
    def _tokens(self) -> Vocabulary:
        size = max(self._tokenizer.get_vocab().values()) + 1
        return Vocabulary(self._tokenizer, size)

    @cached_property
    def _ids(self) -> dict[bytes, int | None]:
        """The token that has these bytes; None if several have."""
        ids: dict[bytes, int | None] = {}
        for token_id in range(self._tokens.size):
            token = self._tokens.token_bytes(token_id)
            ids[token] = None if token in ids else token_id
        return ids

    def _id(self, top: Top) -> int | None:
        """Return a listed token's id; None if its bytes belong to no token, or to several."""
        token = top.token.encode("utf-8", "replace") if top.bytes is None else bytes(top.bytes)
        if top.id is None:
            return None if _REPLACED in token else self._ids.get(token)
        return top.id if token in (b"", self._tokens.token_bytes(top.id)) else None

    def _top(self, said: _Completion) -> list[Top]:
        """Return the listed tokens, whatever the shape of the answer."""
        top: list[Top] = []
        for listed in (choice.logprobs for choice in said.choices[:1] if choice.logprobs):
            if listed.content:
                top = listed.content[0].top_logprobs
            elif listed.top_logprobs:
                top = [Top(*each) for each in listed.top_logprobs[0].items()]
        if top:
            return top
        raise no_probabilities(self._client.address)

    def _text(self, ids: list[int]) -> str | list[int]:
        """Return a text as the endpoint takes it; a chat must read it as the same tokens."""
        if not self._is_chat:
            return ids
        with panics_as_errors():
            text = self._tokenizer.decode(ids, clean_up_tokenization_spaces=False)
        if self.encode(text) != ids:
            raise self._read_differently()
        return text

    def _read(self, text: str) -> int:
        """Return the number of tokens that the server reads for a text."""
        return self._ask(text, 1).value.usage.prompt_tokens

    def _ask(
        self, text: str | list[int], count: int, session: str = "", **settings: Any
    ) -> Answer[_Completion]:
        asked = {"model": self._served.id, "max_tokens": 1, "temperature": 0, **self.always}
        if self._is_chat:
            path, asked["logprobs"], asked["top_logprobs"] = "/v1/chat/completions", True, count
            asked["messages"] = [{"role": "user", "content": ""}]
            if text:
                asked["messages"].append({"role": "assistant", "content": text})
                asked |= {"add_generation_prompt": False, "continue_final_message": True}
        else:
            path, asked["prompt"], asked["logprobs"] = "/v1/completions", text, count
        try:
            return self._client.post(path, asked | settings, _Completion, session=session)
        except RejectedError:
            served = self._client.get("/v1/models", Models).value.data or []
            if served and all(each.id != self._served.id for each in served):
                raise model_changed(self._client.address, served[0].id) from None
            raise

    def _read_differently(self) -> ServerError:
        return ServerError(
            "{server} reads this text as other tokens, so its probabilities are those of a "
            "different text; the text is kept, but needs a server that takes token ids.",
            self._client.address,
        )

    def _other_tokenizer(self) -> TokenizerError:
        return TokenizerError(
            "The tokenizer makes other tokens of a text than {server} does; use the tokenizer that "
            "belongs to the model.",
            self._client.address,
        )


def most_accepted(ask: Callable[[int], object], most: int) -> int:
    """Return the largest number up to `most` with which a server accepts a request.

    Args:
        ask: send a request with a number; raises `RejectedError` if the server refuses it.
        most: the number to begin with.

    Raises:
        RejectedError: the server refuses 1 too.
    """
    accepted, refused, number = 0, most + 1, most
    while refused - accepted > 1:
        try:
            ask(number)
            accepted = number
        except RejectedError:
            if number == 1:
                raise
            refused = number
        number = (accepted + refused) // 2
    return accepted


def sample_of(vocabulary: Vocabulary) -> str:
    """Return a text of letters from all parts of a vocabulary, to compare two tokenizers."""
    every = max(1, vocabulary.known // _SAMPLED)
    labels = (vocabulary.label(each) for each in range(0, vocabulary.known, every))
    return "".join(each for each in labels if each.strip(" ").isalpha())


def logprob_of(token: Top) -> float:
    """Return a listed token's log-probability."""
    value = token.logprob
    return -np.inf if value is None or value <= _IMPOSSIBLE else value
