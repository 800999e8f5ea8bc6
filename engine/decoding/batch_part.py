"""Rows of a batch that run together, from their prompts to their ends.

Rows that are read together are at the same position: nothing is padded, no mask is needed, and
ALiBi, sliding windows and learned positions work unchanged. So rows with a long prompt begin when
those with shorter ones have reached its length:

    position   4    5    6    7    8    9
    a prompt of 4    .    .    .    .    .     tokens of its rows
    a prompt of 6              .    .    .     they join here
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from engine.decoding.batch_row import GrowingText
from engine.errors import OutOfMemoryError
from engine.runner.batch_runner import BatchRunner, Prompts

Step = Callable[[GrowingText, Sequence[np.ndarray]], None]


class BatchPart:
    """Unfinished rows that are read together.

    Args:
        rows: unfinished rows, in the order of `by_length` and with one value of `Prompts.ahead`.
        prefilled: returns a row that has read the given prompts; may raise `OutOfMemoryError`.
        step: gives a row its next token, from the logits of its texts.

    Attributes:
        rows: the rows that are currently read together.
        most_together: most rows read together so far.
    """

    def __init__(
        self,
        rows: Iterable[GrowingText],
        prefilled: Callable[[Prompts], BatchRunner],
        step: Step,
    ) -> None:
        self.rows: list[GrowingText] = []
        self.most_together = 0
        self._prefilled, self._step = prefilled, step
        self._coming = deque(_by_prompts(rows).items())
        self._position = 0  # of the rows in progress
        self._runner: BatchRunner | None = None

    def run(self) -> Iterator[None]:
        """Run all rows whose prompts fit in memory until they end; yields after every token.

        Raises:
            OutOfMemoryError: the rows keep their tokens; their caches are discarded.
        """
        while self._begin():
            for row, logits in zip(self.rows, zip(*self._runner.logits, strict=True), strict=True):
                if row.length == self._place(row):  # else it was drawn before a split or a cancel
                    self._step(row, logits)
            going_on = [place for place, row in enumerate(self.rows) if not row.has_ended]
            yield
            if len(going_on) < len(self.rows):
                self.rows = [self.rows[place] for place in going_on]
                if self.rows:
                    self._runner.keep(going_on)
            if self.rows:
                self._runner.extend([row.token_id(self._place(row)) for row in self.rows])
                self._position += 1

    def _place(self, row: GrowingText) -> int:
        """Return the index, among a row's generated tokens, of the one to be read next."""
        return self._position - len(row.prompt_ids)

    def _begin(self) -> bool:
        """Add the rows that begin at this position; returns False if no row is left."""
        if not self.rows:
            self._runner = None
        while self._coming:
            prompts, rows = self._coming[0]
            if self.rows and len(prompts.prompt_ids) > self._position:
                break
            self._coming.popleft()
            try:
                prefill = self._prefilled(prompts)
            except OutOfMemoryError:
                continue  # no room next to the others; they stay unfinished, for a separate part
            self.rows += rows
            runner = prefill.repeated(len(rows))
            if self._runner is None:
                self._runner, self._position = runner, len(prompts.prompt_ids)
            else:
                self._runner.join(runner)
        self.most_together = max(self.most_together, len(self.rows))
        return bool(self.rows)


def by_length(rows: Iterable[GrowingText]) -> list[GrowingText]:
    """Return the rows, shortest prompts first, with equal prompts next to each other."""
    groups = sorted(_by_prompts(rows).items(), key=lambda group: len(group[0].prompt_ids))
    return [row for _, together in groups for row in together]


def _by_prompts(rows: Iterable[GrowingText]) -> dict[Prompts, list[GrowingText]]:
    groups: dict[Prompts, list[GrowingText]] = {}
    for row in rows:
        groups.setdefault(row.prompts, []).append(row)
    return groups
