"""Cache of the logits of a generation's steps, counted in the host's memory budget."""

from __future__ import annotations

import numpy as np
import torch

from engine.runner.budget import budget_of

_HOST = torch.device("cpu")


class KeptRows:
    """Logits by step, freed if other texts need the memory: (rows, vocab) float32."""

    def __init__(self, rows: dict[int, np.ndarray] | None = None) -> None:
        self._rows = dict(rows or {})
        self._count()

    def keep(self, index: int, logits: np.ndarray) -> None:
        """Store the logits of a step."""
        self._rows[index] = logits
        self._count()

    def get(self, index: int) -> np.ndarray | None:
        """Return the logits of a step; None if they were freed."""
        return self._rows.get(index)

    def rewind(self, last: int) -> None:
        """Forget the logits of the steps after step `last`."""
        self._rows = {index: row for index, row in list(self._rows.items()) if index <= last}
        self._count()

    def fork(self) -> KeptRows:
        """Return an independent copy; the rows themselves are shared."""
        return KeptRows(self._rows)

    def release(self) -> bool:
        """Free all rows; returns False if there were none."""
        had, self._rows = bool(self._rows), {}
        return had

    def _count(self) -> None:
        budget_of(_HOST).used(self, sum(rows.nbytes for rows in self._rows.values()))
