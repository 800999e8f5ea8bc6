"""Texts that share a prompt and then differ, read together one token at a time.

    branches, logits = Branches.prefilled(model, prompt_ids)
    branches, logits = branches.grown([0, 0, 0], [5, 8, 9])   # three continuations

Growing leaves the old branches unchanged, so that a failed pass loses nothing. All rows of one set
are at the same position. If a model's states cannot be copied row by row, each row has its own
runner and is read alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.model import LanguageModel
from engine.model.cache_size import CacheSize, sum_of
from engine.runner.batch_runner import LEAST_AT_ONCE, rows_at_once
from engine.runner.runner import FEWER_TEXTS, Runner, open_sequence


class Branches:
    """Rows of tokens of equal length, with their caches.

    Attributes:
        passes: forward passes that the last reading took.
    """

    def __init__(self, runners: list[Runner], passes: int, *, together: bool) -> None:
        self._runners = runners
        self._together = together  # whether one runner has all rows
        self.passes = passes

    @classmethod
    def prefilled(
        cls, model: LanguageModel, prompt_ids: Sequence[int], remedy: str = FEWER_TEXTS
    ) -> tuple[Branches, np.ndarray]:
        """Return one row that has read the prompt, and its (1, vocab) float32 logits.

        Raises:
            OutOfMemoryError, CancelledError: as `Runner.extend`.
        """
        runner = open_sequence(model, remedy)
        reading = runner.extend(prompt_ids)
        together = runner.can_select
        return cls([runner], len(reading.passes), together=together), reading.forward.logits[None]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(runner.rows for runner in self._runners)

    @property
    def positions(self) -> int:
        """Number of tokens in each row."""
        return self._runners[0].positions

    @property
    def size(self) -> CacheSize | None:
        """Bytes of all caches together; None if the model does not report them."""
        return sum_of(runner.usage for runner in self._runners)

    @property
    def rows_at_once(self) -> int:
        """Most rows to read in one pass, so that others need not wait long."""
        return rows_at_once(self._runners[:1]) if self._together else LEAST_AT_ONCE

    @property
    def has_caches(self) -> bool:
        """True if no cache was released; the next reading rebuilds one that was."""
        return all(runner.has_cache for runner in self._runners)

    def grown(self, rows: Sequence[int], token_ids: Sequence[int]) -> tuple[Branches, np.ndarray]:
        """Return new branches, each a row plus one token; the old branches stay unchanged.

        Args:
            rows: (n,) the row that each continues; a row may occur more than once.
            token_ids: (n,) the token that each adds.

        Returns:
            The branches, and (n, vocab) float32 logits after each.

        Raises:
            OutOfMemoryError, CancelledError: as `Runner.read_rows`.
        """
        if not self._together:
            runners = [self._runners[row].fork() for row in rows]
            read = [
                runner.extend([token_id]).forward.logits
                for runner, token_id in zip(runners, token_ids, strict=True)
            ]
            return Branches(runners, len(runners), together=False), np.stack(read)
        runner = self._runners[0].fork()
        runner.select(rows)
        if runner.rows == 1:  # as a single decoder steps
            logits = runner.extend(token_ids).forward.logits[None]
        else:
            logits = runner.read_rows([[token_id] for token_id in token_ids], tries=2)[0]
        return Branches([runner], 1, together=True), logits

    def fork(self) -> Branches:
        """Return an independent copy."""
        runners = [runner.fork() for runner in self._runners]
        return Branches(runners, self.passes, together=self._together)

    def release(self) -> bool:
        """Release the caches' memory; returns False if one is in use."""
        released = [runner.release() for runner in self._runners]
        return all(released)
