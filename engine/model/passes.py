"""Counts of the forward passes of each model.

>>> with counted_passes() as passes:
...     decoder.step()
>>> passes.of(model)
1
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.model.loaded import LoadedModel


class Passes:
    """Numbers of forward passes, by model.

    Attributes:
        positions: positions that all passes computed, over all rows.
    """

    def __init__(self) -> None:
        self._passes: Counter[LoadedModel] = Counter()
        self.positions = 0

    def of(self, model: LoadedModel) -> int:
        """Return the number of passes of one model."""
        return self._passes[model]

    @property
    def total(self) -> int:
        """Number of passes of all models."""
        return self._passes.total()

    @property
    def weight_bytes(self) -> int:
        """Bytes of weights that the passes read: `LoadedModel.read_bytes` for each."""
        return sum(count * model.read_bytes for model, count in self._passes.items())

    def _note(self, model: LoadedModel, positions: int) -> None:
        self._passes[model] += 1
        self.positions += positions


_counting: ContextVar[Passes | None] = ContextVar("counting", default=None)


@contextmanager
def counted_passes() -> Iterator[Passes]:
    """Count this thread's passes in the block; an outer count does not see them."""
    passes = Passes()
    token = _counting.set(passes)
    try:
        yield passes
    finally:
        _counting.reset(token)


def note_pass(model: LoadedModel, positions: int) -> None:
    """Count a pass of a model over `positions` positions, if this thread counts passes."""
    passes = _counting.get()
    if passes is not None:
        passes._note(model, positions)
