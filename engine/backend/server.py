"""A model on a server: its tokens, and sequences that ask it for the scores of the next token.

Texts are kept here, and every request contains the whole text. The server's cache only saves time,
so going back, forking and a restart of the server need no request.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from collections.abc import Sequence as Ids
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import torch

from engine.backend.base import Reading
from engine.backend.metrics import ReportsMetrics, ServerLoad
from engine.backend.slots import Slots
from engine.errors import (
    CapabilityError,
    LogitsError,
    Message,
    ModelChangedError,
    ServerError,
    TokenizerError,
    msg,
)
from engine.grammar import Places, TokenTable
from engine.model.forward import Forward, Scores
from engine.model.loaded import hash_of_tokenizer
from engine.model.vocabulary import Vocabulary, checked_text, readable

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# Listed log-probabilities are rounded, and may sum to a little more than 1.
_ROUNDING = 1e-3
# A temperature of 2 moves the likeliest tokens by whole nats, a full batch by hundredths.
_COMPARED, _MOVED_NATS = 100, 0.1
_MOST_CONTROL_TOKENS = 20_000  # a request for the name of each
_PROBE = "A text of a few tokens"
# So that no token becomes impossible because the listed ones sum to 1.
_LEAST_REST = 1e-9

T = TypeVar("T")


@dataclass(frozen=True)
class Description:
    """A server's own account of itself and its model.

    Attributes:
        name: the model's name.
        version: the server's version; empty if it does not say.
        dtype: the dtype or quantisation of the weights; empty if it does not say.
        vocab_size: number of tokens that the model scores.
        context_length: most tokens of a text; None if it does not say.
        eos_ids: tokens that end a text.
        most: most tokens that it lists in one answer, as far as asked; None for all.
        slots: most requests that it works on at once; more would only wait there.
        notices: sentences about it that a person should see.
    """

    name: str
    version: str
    dtype: str
    vocab_size: int
    context_length: int | None
    eos_ids: tuple[int, ...]
    most: int | None = None
    slots: int = 8
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Listed:
    """The likeliest next tokens of a text, as a server lists them.

    Attributes:
        ids: (n,) token ids, likeliest first.
        logprobs: (n,) float64 natural logarithms of their probabilities, before any sampler.
        tokens: their bytes, if all tokens were asked for; empty for a control token. None if the
            server gives ids alone.
        read: number of tokens of the text that the server read for this request.
        reused: number of those that it took from its cache; None if it does not say.
        server_ms: time that the server reports for the request, in milliseconds; `ms` if it does
            not.
        ms: time until the answer was here, in milliseconds.
    """

    ids: np.ndarray
    logprobs: np.ndarray
    tokens: list[bytes] | None
    read: int
    reused: int | None
    server_ms: float
    ms: float


class Dialect(Protocol):
    """The API of one kind of server.

    Attributes:
        kind: its name, as in `connect`.
        gives_bytes: whether it gives the bytes of tokens; otherwise a tokenizer is needed here.
        tempering: settings of the server's sampling that move values listed after it.
    """

    kind: str
    gives_bytes: bool
    tempering: dict[str, Any]

    def describe(self) -> Description:
        """Return the server's account of itself and its model."""

    def encode(self, text: str, *, adds_special: bool = False) -> list[int]:
        """Return the token ids of a text by the server's tokenizer."""

    def name_of(self, token_id: int) -> str:
        """Return the text of a token, or the name of a control token, if it gives bytes."""

    def check_tokenizer(self, vocabulary: Vocabulary) -> None:
        """Raise `TokenizerError` if a tokenizer is not the model's, if it gives no bytes."""

    def next_scores(
        self,
        token_ids: Ids[int] | np.ndarray,
        count: int,
        *,
        session: str = "",
        reuses_prefix: bool = True,
        settings: dict[str, Any] | None = None,
    ) -> Listed:
        """Return the likeliest next tokens of a text."""


@runtime_checkable
class ScoresById(Protocol):
    """A dialect whose server scores any tokens that a request names."""

    def logprobs(self, token_ids: Ids[int] | np.ndarray, wanted: Ids[int]) -> np.ndarray:
        """Return the log-probabilities of next tokens, listed or not: (wanted,)."""


class ServerVocabulary(Vocabulary):
    """The tokens of a server that keeps its tokenizer: their bytes are here, it encodes texts.

    Args:
        dialect: the server.
        name: the model's name.
        tokens: the bytes of every token, control tokens by their names.
        special_ids: ids of control tokens.
        eos_ids: ids that end a text.
    """

    def __init__(
        self,
        dialect: Dialect,
        name: str,
        tokens: list[bytes],
        special_ids: frozenset[int],
        eos_ids: tuple[int, ...],
    ) -> None:
        super().__init__(None, len(tokens), eos_ids)
        self.known = len(tokens)
        self.special_ids = special_ids | frozenset(eos_ids)
        self._dialect = dialect
        self._name = name
        self._tokens = tokens
        self._line_break_ids = tuple(dialect.encode("\n")[-1:])

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes of a token; for a special token, those of its name."""
        return self._tokens[token_id] if 0 <= token_id < len(self._tokens) else b""

    def label(self, token_id: int) -> str:
        """Return a token as readable text; bytes outside a whole character become ``<0xE2>``."""
        return readable(self.token_bytes(token_id)) or f"<id {token_id}>"

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a prompt, with those that the server's tokenizer adds.

        Raises:
            PromptError: the text is empty or too large to be any model's prompt.
            ServerError: the server does not answer.
        """
        return self._dialect.encode(checked_text(text), adds_special=True)

    @property
    def line_break_ids(self) -> tuple[int, ...]:
        """The last token of an encoded line break; empty if there is none."""
        return self._line_break_ids

    def token_table(self, eos_ids: tuple[int, ...]) -> TokenTable:
        """Return the tokens for use in constraints."""
        return TokenTable(self._tokens, self.special_ids, eos_ids)

    def _tokenizer(self) -> PreTrainedTokenizerBase:
        raise TokenizerError(
            "The tokenizer of {name} is on its server; connect with a copy of it here.", self._name
        )


class ServerModel:
    """A model on a server, as decoders use it (see `engine.backend.Backend`).

    Args:
        dialect: the server's API.
        listed: most tokens to list per step; an answer has about 90 bytes for each.
        tokenizer: the model's tokenizer, if there is a copy of it here.
        source: the address, by which records name the model.

    Attributes, in addition to those of `Backend`:
        dialect: the server's API.
        description: the server's account of itself.
        tokenizer_hash: SHA-256 of `tokenizer`; without it, of the bytes of all tokens.
        reuses_prefix: whether the server read only the new tokens of a text that it had read; None
            if it does not say.
        has_changed: True once the server has answered with another model.

    Raises:
        ServerError: the server does not answer, or does not give raw log-probabilities.
        TokenizerError: `tokenizer` has other tokens than the server.
    """

    revision = None

    def __init__(
        self,
        dialect: Dialect,
        listed: int,
        tokenizer: PreTrainedTokenizerBase | None = None,
        *,
        source: str = "",
    ) -> None:
        self.dialect = dialect
        self.description = said = dialect.describe()
        self.name = said.name
        self.source = source
        self.notices = said.notices
        self.device = torch.device("cpu")
        self.vocab_size = self.input_size = said.vocab_size
        self.context_length = said.context_length
        self.eos_ids = self.generate_eos_ids = said.eos_ids
        self.listed = min(listed, said.most or said.vocab_size)
        self.tokenizer = tokenizer
        self.reuses_prefix: bool | None = None
        self.has_changed = False
        self._slots = Slots(said.slots)
        if dialect.gives_bytes:
            own = self._tokens()
            self.vocabulary = own if tokenizer is None else self._checked(tokenizer, own)
        else:
            self.vocabulary = Vocabulary(tokenizer, said.vocab_size, said.eos_ids)
            dialect.check_tokenizer(self.vocabulary)
            probe, session = dialect.encode("A")[-1:], secrets.token_hex(16)
            row = dialect.next_scores(probe, said.most or said.vocab_size, session=session)
            self.listed = min(self.listed, row.ids.size)
            self._check_raw(probe, row, session)
        self.tokenizer_hash = _hash_of(own) if tokenizer is None else hash_of_tokenizer(tokenizer)
        self.places = Places(lambda: self.vocabulary.token_table(self.eos_ids), self.vocab_size)

    @property
    def facts(self) -> dict[str, object]:
        """Everything that a text depends on, as far as the server reports it."""
        return {
            "name": self.name,
            "source": self.source,
            "revision": self.revision,
            "vocab_size": self.vocab_size,
            "input_size": self.input_size,
            "context_length": self.context_length,
            "listed": self.listed,
            "dtype": self.description.dtype,
            "tokenizer_hash": self.tokenizer_hash,
            "server": self.description.version,
        }

    @property
    def capabilities(self) -> frozenset[str]:
        """Several texts at once; if steps list only some tokens, a whole row, or tokens by id."""
        found = {"batch"}
        if self.listed < self.vocab_size:
            if self.description.most is None:
                found.add("row_on_demand")
            if isinstance(self.dialect, ScoresById):
                found.add("scores_by_id")
        return frozenset(found)

    @property
    def findings(self) -> tuple[Message, ...]:
        """Sentences for the user on what the checks at connection found."""
        server = f"{self.dialect.kind} {self.description.version}".strip()
        template = "{server}: its values are log-probabilities before any sampler (checked)."
        found = [msg(template, server)]
        if self.context_length is not None:
            found.append(msg("A text holds {length:,} tokens.", self.context_length))
        if self.eos_ids:
            ends = ", ".join(map(self.vocabulary.label, self.eos_ids))
            found.append(msg("It ends at {ends}.", ends))
        else:
            found.append(msg("The server names no token that ends a text."))
        if self.tokenizer is None:
            found.append(msg("Its own tokenizer splits prompts."))
        else:
            found.append(msg("The tokenizer here splits prompts; it agrees with the server's."))
        if self.reuses_prefix is None:
            found.append(msg("It does not say whether it reads only the new tokens of a text."))
        elif self.reuses_prefix:
            found.append(msg("It reads only the new tokens of a text."))
        else:
            found.append(msg("It read a text again from its beginning: its cache is off or full."))
        return tuple(found)

    def load(self) -> ServerLoad:
        """Return the server's present load.

        Raises:
            CapabilityError: it reports none.
            ServerError: it does not answer.
        """
        if not isinstance(self.dialect, ReportsMetrics):
            raise CapabilityError("The load of {name} is not known; its API has none.", self.name)
        return ServerLoad.of(self.dialect.metrics())

    def open(self) -> ServerSequence:
        """Return a new, empty sequence."""
        return ServerSequence(self)

    def next_scores(self, token_ids: Ids[int] | np.ndarray, count: int, **more: Any) -> Listed:
        """Return the likeliest next tokens of a text, once the server has a slot for it.

        Raises:
            ServerError: as `Dialect.next_scores`; `has_changed` is set if it has another model.
            CancelledError: the job of this thread was cancelled.
        """
        return self._asked(partial(self.dialect.next_scores, token_ids, count, **more))[0]

    def next_scores_of_rows(
        self, rows: Ids[np.ndarray], count: int, sessions: Ids[str], **more: Any
    ) -> list[Listed]:
        """Return the likeliest next tokens of several texts, asked for at once."""
        asked = zip(rows, sessions, strict=True)
        ask = partial(self.dialect.next_scores, **more)
        return self._asked(*(partial(ask, row, count, session=session) for row, session in asked))

    def logprobs(self, token_ids: Ids[int] | np.ndarray, wanted: Ids[int]) -> np.ndarray:
        """Return log-probabilities of tokens after a text (capability ``scores_by_id``)."""
        return self._asked(partial(self.dialect.logprobs, token_ids, wanted))[0]

    def _asked(self, *calls: Callable[[], T]) -> list[T]:
        try:
            return self._slots.run(calls)
        except ModelChangedError:
            self.has_changed = True
            raise

    def _tokens(self) -> ServerVocabulary:
        """Return the server's tokens, from one request for a whole row."""
        dialect, size = self.dialect, self.vocab_size
        probe, session = dialect.encode(_PROBE), secrets.token_hex(16)
        listed = dialect.next_scores(probe, size, session=session)
        if np.unique(listed.ids).size != size or listed.ids.max(initial=0) >= size:
            raise ServerError(
                "{name} listed {count:,} of its {size:,} tokens when asked for all; change the "
                "settings of the server that limit them.",
                (self.name, listed.ids.size, size),
            )
        tokens = [b""] * size
        for token_id, token in zip(listed.ids.tolist(), listed.tokens, strict=True):
            tokens[token_id] = token
        special = frozenset(each for each, token in enumerate(tokens) if not token)
        if len(special) > _MOST_CONTROL_TOKENS:
            raise ServerError(
                "{name} has {count:,} tokens without bytes; use a model with fewer.",
                (self.name, len(special)),
            )
        for each in special:
            tokens[each] = dialect.name_of(each).encode("utf-8", "surrogatepass")
        self._check_raw(probe, listed, session)
        return ServerVocabulary(dialect, self.name, tokens, special, self.eos_ids)

    def _check_raw(self, text: list[int], before: Listed, session: str) -> None:
        """Check that listed values are log-probabilities, and that settings do not change them."""
        # No unlisted token is likelier than a listed one, which bounds the sum over all.
        probabilities = np.exp(before.logprobs)
        least = float(probabilities.sum())
        most = least + (self.vocab_size - probabilities.size) * float(probabilities.min())
        if not most >= 1 - _ROUNDING or not least <= 1 + _ROUNDING:
            raise ServerError(
                "The values that {name} lists are not log-probabilities: over all tokens their "
                "probabilities sum to {total:.4f} instead of 1; use a server that lists those.",
                (self.name, max(least, min(most, 1.0))),
            )
        settings, count = self.dialect.tempering, before.ids.size
        after = self.dialect.next_scores(text, count, session=session, settings=settings)
        if after.reused is not None and len(text) > 1:  # a server reads at least one token
            self.reuses_prefix = after.reused > 0
        values = dict(zip(after.ids.tolist(), after.logprobs.tolist(), strict=True))
        # The last ones of a short list may give way to others as likely.
        compared = min(_COMPARED, (before.ids.size + 1) // 2)
        likeliest = np.argsort(-before.logprobs, kind="stable")[:compared]
        now = np.array([values.get(each, -np.inf) for each in before.ids[likeliest].tolist()])
        if not (np.abs(now - before.logprobs[likeliest]) <= _MOVED_NATS).all():
            raise ServerError(
                "{name} lists probabilities after its own samplers, but the raw ones are needed; "
                "change the server's settings.",
                self.name,
            )

    def _checked(self, tokenizer: PreTrainedTokenizerBase, own: ServerVocabulary) -> Vocabulary:
        """Return the local tokenizer's vocabulary, checked to have the server's tokens."""
        local = Vocabulary(tokenizer, self.vocab_size, self.eos_ids)
        differs = next(
            (
                each
                for each in range(min(local.known, self.vocab_size))
                if own.token_bytes(each) != local.token_bytes(each)
            ),
            None,
        )
        if differs is not None:
            raise TokenizerError(
                "The tokenizer has {local} as token {token_id:,}, where {name} has {own}; use the "
                "tokenizer that belongs to the model.",
                (local.label(differs), differs, self.name, own.label(differs)),
            )
        return local


class ServerSequence:
    """Rows of tokens of equal length that a model on a server reads, each in a request of its own.

    Attributes:
        positions: number of tokens of each row read so far.
        last: the server's latest answer on a single row; None before the first.
    """

    usage = formula = None
    can_select = True

    def __init__(self, model: ServerModel) -> None:
        self._model = model
        self._ids = np.empty((1, 0), np.int64)
        self._sessions = [secrets.token_hex(16)]
        self._distrusts = False
        self.last: Listed | None = None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self._ids)

    @property
    def positions(self) -> int:
        """Number of tokens of each row read so far."""
        return self._ids.shape[1]

    def extend(self, token_ids: Ids[int] | np.ndarray, *, parity: bool = False) -> Reading:
        """Read more tokens of a single row; `forward_ms` is the server's own time.

        Raises:
            ServerError: the server does not answer as expected; nothing has been read.
            LogitsError: it listed an invalid log-probability; nothing has been read, and the next
                request reads the whole text again.
        """
        start, model = time.perf_counter(), self._model
        ids = np.concatenate([self._ids, np.asarray(token_ids, np.int64)[None]], axis=1)
        listed = model.next_scores(
            ids[0], model.listed, session=self._sessions[0], reuses_prefix=not self._distrusts
        )
        scores = self._scores(listed)
        forward = Forward(scores.row(), None, listed.server_ms, scores)
        is_prefill = not self.positions or listed.reused == 0
        read = len(token_ids) if listed.reused is None else listed.read
        self._ids, self._distrusts, self.last = ids, False, listed
        passes, network_ms = (max(1, read),), max(0.0, listed.ms - listed.server_ms)
        ms = (time.perf_counter() - start) * 1e3
        return Reading(forward, ms, listed.server_ms, passes, is_prefill, network_ms=network_ms)

    def read_rows(self, token_ids: Ids[Ids[int]] | np.ndarray) -> tuple[np.ndarray, None]:
        """Read more tokens of every row, as `engine.runner.runner.Runner.read_rows` does.

        Raises:
            ServerError, LogitsError: as in `extend`.
        """
        model = self._model
        ids = np.concatenate([self._ids, np.asarray(token_ids, np.int64)], axis=1)
        read = model.next_scores_of_rows(
            ids, model.listed, self._sessions, reuses_prefix=not self._distrusts
        )
        rows = np.stack([self._scores(listed).row() for listed in read])
        self._ids, self._distrusts = ids, False
        return rows, None

    def _scores(self, listed: Listed) -> Scores:
        try:
            return scores_of(listed, self._model, self._model.listed)
        except LogitsError:
            self._distrusts = True
            raise

    def whole_row(self, token_ids: Ids[int] | np.ndarray) -> Scores:
        """Return the scores of all tokens after a text.

        Raises:
            ServerError, LogitsError: as in `extend`.
        """
        model = self._model
        listed = model.next_scores(token_ids, model.vocab_size, session=self._sessions[0])
        return scores_of(listed, model, model.vocab_size)

    def logprobs_of(self, token_ids: Ids[int] | np.ndarray, wanted: Ids[int]) -> np.ndarray:
        """Return log-probabilities of tokens after a text: (wanted,).

        Raises:
            ServerError: as in `extend`.
        """
        return self._model.logprobs(token_ids, wanted)

    def truncate(self, positions: int) -> None:
        """Keep the first `positions` positions."""
        self._ids = self._ids[:, :positions]

    def fork(self) -> ServerSequence:
        """Return an independent copy, which a router sends to the same server."""
        other = ServerSequence(self._model)
        other._ids, other._distrusts = self._ids, self._distrusts
        other._sessions = list(self._sessions)
        return other

    def select(self, rows: Ids[int]) -> None:
        """Keep the given rows, in this order; a router may send a repeated one elsewhere."""
        self._ids = self._ids[list(rows)]
        first = {row: place for place, row in reversed(list(enumerate(rows)))}
        self._sessions = [
            self._sessions[row] if first[row] == place else secrets.token_hex(16)
            for place, row in enumerate(rows)
        ]

    def can_join(self, other: ServerSequence) -> bool:
        """Return whether the rows of `other` can be appended."""
        return self.positions == other.positions

    def join(self, other: ServerSequence) -> None:
        """Append the rows of another sequence."""
        self._ids = np.concatenate([self._ids, other._ids])
        self._sessions += other._sessions
        self._distrusts |= other._distrusts

    def distrust(self) -> None:
        """Have the next request read the whole text again."""
        self._distrusts = True

    def release(self) -> bool:
        """Return False: no memory here can be rebuilt."""
        return False


def scores_of(listed: Listed, model: ServerModel, count: int) -> Scores:
    """Return the likeliest `count` tokens as scores, lower ids first on ties.

    Raises:
        ServerError: fewer tokens than that, an id twice, or one outside the vocabulary.
        LogitsError: a value is NaN or above 0, or all are minus infinity.
    """
    ids, logprobs = listed.ids, listed.logprobs.astype(np.float32)
    if ids.size < count:
        raise ServerError(
            "{name} listed {count:,} tokens instead of {wanted:,}; the text is kept, so connect "
            "again with a smaller number.",
            (model.name, ids.size, count),
        )
    ascending = np.sort(ids)
    if (ascending[1:] == ascending[:-1]).any() or ascending[-1] >= model.vocab_size:
        raise ServerError(
            "{name} listed a token twice, or one that it does not have; the text is kept, so try "
            "again.",
            model.name,
        )
    if not (listed.logprobs <= _ROUNDING).all() or logprobs.max() == -np.inf:
        raise LogitsError(
            "{name} gave a log-probability that is above 0 or not a number; the text is kept, so "
            "try again.",
            model.name,
        )
    order = np.lexsort((ids, -logprobs))[:count]
    rest = 0.0
    if order.size < model.vocab_size:
        rest = max(_LEAST_REST, 1.0 - float(np.exp(listed.logprobs[order]).sum()))
    return Scores(ids[order], logprobs[order], model.vocab_size, rest)


def base_name(name: str) -> str:
    """Return a model's name without the folder that some servers put before it."""
    return name.replace("\\", "/").rpartition("/")[2]


def model_changed(address: str, name: str) -> ModelChangedError:
    """Return the error for an answer of another model than at connection."""
    return ModelChangedError(
        "{server} has another model now ({name}); the text is kept, so load the server's model "
        "again under Model.",
        (address, base_name(name)),
    )


def no_probabilities(address: str) -> ServerError:
    """Return the error for an answer without probabilities."""
    return ServerError(
        "{server} gave no probabilities for this text; start it without options that switch them "
        "off.",
        address,
    )


def _hash_of(vocabulary: Vocabulary) -> str:
    digest = hashlib.sha256()
    for token_id in range(vocabulary.size):
        token = vocabulary.token_bytes(token_id)
        digest.update(len(token).to_bytes(4, "big") + token)
    return digest.hexdigest()
