"""The API of one kind of server, and its answers."""

from __future__ import annotations

from collections.abc import Sequence as Ids
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from engine.errors import ModelChangedError, ServerError
from engine.model.vocabulary import Vocabulary

# Listed log-probabilities are rounded, and may sum to a little more than 1.
ROUNDING = 1e-3


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
        tokens: their bytes, if asked for; empty for a control token. None otherwise, or if the
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
        spells: bool = False,
    ) -> Listed:
        """Return the likeliest next tokens of a text, with their bytes if it `spells` them."""


@runtime_checkable
class ScoresById(Protocol):
    """A dialect whose server scores any tokens that a request names."""

    def logprobs(self, token_ids: Ids[int] | np.ndarray, wanted: Ids[int]) -> np.ndarray:
        """Return the log-probabilities of next tokens, listed or not: (wanted,)."""


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
