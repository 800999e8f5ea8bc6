"""Requests for scores to a server: as many at once as it has slots."""

from __future__ import annotations

import threading
from collections.abc import Callable
from collections.abc import Sequence as Ids
from functools import partial
from typing import Any, TypeVar

import numpy as np

from engine.backend.dialect import Description, Dialect, Listed
from engine.backend.slots import Slots
from engine.errors import ModelChangedError

T = TypeVar("T")


class Requests:
    """Requests for scores to one server; may be used from any thread.

    Args:
        dialect: the server's API.
        description: the server's account of its model.

    Attributes:
        name: the model's name.
        vocab_size: number of tokens that it scores.
    """

    def __init__(self, dialect: Dialect, description: Description) -> None:
        self.name = description.name
        self.vocab_size = description.vocab_size
        self._dialect = dialect
        self._slots = Slots(description.slots)
        self._has_changed = threading.Event()

    @property
    def has_changed(self) -> bool:
        """True once the server has answered with another model."""
        return self._has_changed.is_set()

    def next_scores(
        self, rows: Ids[np.ndarray], count: int, sessions: Ids[str], **more: Any
    ) -> list[Listed]:
        """Return the likeliest next tokens of texts, each once the server has a slot for it.

        Args:
            rows: (texts, tokens) the texts.
            count: number of tokens to list for each.
            sessions: the session of each.
            more: further arguments of `Dialect.next_scores`.

        Raises:
            ServerError: as `Dialect.next_scores`; `has_changed` is set if it has another model.
            CancelledError: the job of this thread was cancelled.
        """
        asked = zip(rows, sessions, strict=True)
        ask = partial(self._dialect.next_scores, **more)
        return self._asked(*(partial(ask, row, count, session=session) for row, session in asked))

    def logprobs(self, token_ids: Ids[int] | np.ndarray, wanted: Ids[int]) -> np.ndarray:
        """Return log-probabilities of tokens after a text (capability ``scores_by_id``)."""
        return self._asked(partial(self._dialect.logprobs, token_ids, wanted))[0]

    def _asked(self, *calls: Callable[[], T]) -> list[T]:
        try:
            return self._slots.run(calls)
        except ModelChangedError:
            self._has_changed.set()
            raise
