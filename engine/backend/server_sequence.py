"""Sequences that ask a server for the scores of the next token.

Texts are kept here, and every request contains the whole text. The server's cache only saves time,
so going back, forking and a restart of the server need no request.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence as Ids

import numpy as np

from engine.backend.base import Reading
from engine.backend.dialect import ROUNDING, Listed
from engine.backend.requests import Requests
from engine.errors import LogitsError, ServerError
from engine.model.forward import Forward, Scores

# So that no token becomes impossible because the listed ones sum to 1.
_LEAST_REST = 1e-9


class ServerSequence:
    """Rows of tokens of equal length that a model on a server reads, each in a request of its own.

    Args:
        requests: the requests to the server.
        count: number of tokens to list in each step.

    Attributes:
        positions: number of tokens of each row read so far.
        last: the server's latest answer on a single row; None before the first.
    """

    usage = formula = None
    can_select = has_cache = True

    def __init__(self, requests: Requests, count: int) -> None:
        self._requests = requests
        self._count = count
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
        start = time.perf_counter()
        ids = np.concatenate([self._ids, np.asarray(token_ids, np.int64)[None]], axis=1)
        [listed] = self._listed(ids)
        scores = self._scores(listed)
        forward = Forward(scores.row(), None, listed.server_ms, scores)
        is_prefill = not self.positions or listed.reused == 0
        read = len(token_ids) if listed.reused is None else listed.read
        self._ids, self._distrusts, self.last = ids, False, listed
        passes, network_ms = (max(1, read),), max(0.0, listed.ms - listed.server_ms)
        ms = (time.perf_counter() - start) * 1e3
        return Reading(forward, ms, listed.server_ms, passes, is_prefill, network_ms=network_ms)

    def read_rows(
        self, token_ids: Ids[Ids[int]] | np.ndarray, *, tries: int = 1
    ) -> tuple[np.ndarray, None]:
        """Read more tokens of every row, as `engine.runner.runner.Runner.read_rows` does.

        `tries` is for local memory, and has no effect here.

        Raises:
            ServerError, LogitsError: as in `extend`.
        """
        ids = np.concatenate([self._ids, np.asarray(token_ids, np.int64)], axis=1)
        rows = np.stack([self._scores(listed).row() for listed in self._listed(ids)])
        self._ids, self._distrusts = ids, False
        return rows, None

    def _listed(self, ids: np.ndarray) -> list[Listed]:
        reuses_prefix = not self._distrusts
        return self._requests.next_scores(
            ids, self._count, self._sessions, reuses_prefix=reuses_prefix
        )

    def _scores(self, listed: Listed) -> Scores:
        try:
            return scores_of(listed, self._requests, self._count)
        except LogitsError:
            self._distrusts = True
            raise

    def whole_row(self, token_ids: Ids[int] | np.ndarray) -> Scores:
        """Return the scores of all tokens after a text.

        Raises:
            ServerError, LogitsError: as in `extend`.
        """
        requests, count = self._requests, self._requests.vocab_size
        ids = np.asarray(token_ids, np.int64)
        [listed] = requests.next_scores([ids], count, self._sessions[:1])
        return scores_of(listed, requests, count)

    def logprobs_of(self, token_ids: Ids[int] | np.ndarray, wanted: Ids[int]) -> np.ndarray:
        """Return log-probabilities of tokens after a text: (wanted,).

        Raises:
            ServerError: as in `extend`.
        """
        return self._requests.logprobs(token_ids, wanted)

    def truncate(self, positions: int) -> None:
        """Keep the first `positions` positions."""
        self._ids = self._ids[:, :positions]

    def fork(self) -> ServerSequence:
        """Return an independent copy, which a router sends to the same server."""
        other = ServerSequence(self._requests, self._count)
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


def scores_of(listed: Listed, requests: Requests, count: int) -> Scores:
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
            (requests.name, ids.size, count),
        )
    ascending = np.sort(ids)
    if (ascending[1:] == ascending[:-1]).any() or ascending[-1] >= requests.vocab_size:
        raise ServerError(
            "{name} listed a token twice, or one that it does not have; the text is kept, so try "
            "again.",
            requests.name,
        )
    if not (listed.logprobs <= ROUNDING).all() or logprobs.max() == -np.inf:
        raise LogitsError(
            "{name} gave a log-probability that is above 0 or not a number; the text is kept, so "
            "try again.",
            requests.name,
        )
    order = np.lexsort((ids, -logprobs))[:count]
    rest = 0.0
    if order.size < requests.vocab_size:
        rest = max(_LEAST_REST, 1.0 - float(np.exp(listed.logprobs[order]).sum()))
    return Scores(ids[order], logprobs[order], requests.vocab_size, rest)
