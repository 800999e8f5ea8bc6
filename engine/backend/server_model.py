"""A model on a server, as decoders use it."""

from __future__ import annotations

import secrets
from copy import copy
from typing import TYPE_CHECKING

import numpy as np
import torch

from engine.backend.capabilities import require
from engine.backend.dialect import ROUNDING, Dialect, Listed, ScoresById
from engine.backend.metrics import ReportsMetrics, ServerLoad
from engine.backend.requests import Requests
from engine.backend.server_sequence import ServerSequence
from engine.backend.server_vocabulary import ServerVocabulary
from engine.errors import (
    CapabilityError,
    Message,
    ServerError,
    TokenizerError,
    msg,
)
from engine.grammar import Places
from engine.model.loaded import hash_of_tokenizer
from engine.model.vocabulary import Vocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# A temperature of 2 moves the likeliest tokens by whole nats, a full batch by hundredths.
_COMPARED, _MOVED_NATS = 100, 0.1
_MOST_CONTROL_TOKENS = 20_000  # a request for the name of each
_PROBE = "A text of a few tokens"


class ServerModel:
    """A model on a server, as decoders use it (see `engine.backend.Backend`).

    Args:
        dialect: the server's API.
        listed: most tokens to list per step; an answer has about 90 bytes for each.
        tokenizer: the model's tokenizer, if there is a copy of it here.
        source: the address, by which records name the model, and its name if it was given.

    Attributes, in addition to those of `Backend`:
        dialect: the server's API.
        description: the server's account of itself.
        tokenizer_hash: SHA-256 of `tokenizer`; without it, of the bytes of all tokens.
        reuses_prefix: whether the server read only the new tokens of a text that it had read; None
            if it does not say.

    Raises:
        ServerError: the server does not answer, or does not give raw log-probabilities.
        TokenizerError: `tokenizer` has other tokens than the server.
    """

    revision = cache_formula = None

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
        listed = min(listed, said.most or said.vocab_size)
        self.tokenizer = tokenizer
        self.reuses_prefix: bool | None = None
        self._requests = Requests(dialect, said)
        if dialect.gives_bytes:
            own = self._tokens()
            self.vocabulary = own if tokenizer is None else self._checked(tokenizer, own)
        else:
            self.vocabulary = Vocabulary(tokenizer, said.vocab_size, said.eos_ids)
            dialect.check_tokenizer(self.vocabulary)
            probe, session = dialect.encode("A")[-1:], secrets.token_hex(16)
            row = dialect.next_scores(probe, said.most or said.vocab_size, session=session)
            listed = min(listed, row.ids.size)
            self._check_raw(probe, row, session)
        self.listed = listed if listed < said.vocab_size else None
        self.tokenizer_hash = own.sha256 if tokenizer is None else hash_of_tokenizer(tokenizer)
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
        """Several texts at once, and the scores of all tokens, of a step's, or of named ones."""
        if self.listed is None:
            return frozenset({"batch", "full_row"})
        found = {"batch"}
        if self.description.most is None:
            found.add("row_on_demand")
        if isinstance(self.dialect, ScoresById):
            found.add("scores_by_id")
        return frozenset(found)

    @property
    def count(self) -> int:
        """Number of tokens that it lists in each step."""
        return self.vocab_size if self.listed is None else self.listed

    @property
    def has_changed(self) -> bool:
        """True once the server has answered with another model."""
        return self._requests.has_changed

    def with_whole_rows(self) -> ServerModel:
        """Return the same model with the scores of all tokens in every step.

        Raises:
            CapabilityError: the server does not list all tokens.
        """
        require(self, msg("A whole row in every step"), "row_on_demand")
        other = copy(self)
        other.listed = None
        return other

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
        return ServerSequence(self._requests, self.count)

    def _tokens(self) -> ServerVocabulary:
        """Return the server's tokens, from one request for a whole row."""
        dialect, size = self.dialect, self.vocab_size
        probe, session = dialect.encode(_PROBE), secrets.token_hex(16)
        listed = dialect.next_scores(probe, size, session=session, spells=True)
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
        if not most >= 1 - ROUNDING or not least <= 1 + ROUNDING:
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
