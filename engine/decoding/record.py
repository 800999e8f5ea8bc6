"""The logits of every step, exact and over the full vocabulary, at a few kilobytes a step.

A row of logits is large (600 KB at 152k tokens in float32), but the hidden state it was made from
is small (2 KB). So the hidden state is kept, and the output layer runs again when an old row is
needed. The same input, kernels and shape give the same bits, which `LanguageModel` verifies when it
is loaded. Models that process their logits further (soft-capping, scaling) fail that check; their
rows go to a temporary file instead.

The newest rows also stay in memory, as part of the memory budget, and are freed when other texts
need room. Hidden states of a long text go to the file as well.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
import torch

from engine.decoding.row_file import Place, RowFile, StoredRow
from engine.errors import OutOfMemoryError, msg
from engine.model.forward import Scores
from engine.model.loaded import is_out_of_memory
from engine.runner.budget import budget_of, with_room

if TYPE_CHECKING:
    from engine.backend import Backend
    from engine.model.forward import Forward

RECENT_BYTES = 4 * 2**20  # of rows, per text
HIDDEN_BYTES = 8 * 2**20  # of hidden states, per text
_HOST = torch.device("cpu")
_Result = TypeVar("_Result")
_REMEDY = msg("close other texts, or use a smaller model")


class Source(Protocol):
    """Stored form of a step's row of logits, from which the row can be restored.

    Attributes:
        bytes_held: memory that it takes.
    """

    @property
    def bytes_held(self) -> int:
        """Memory that it takes, in bytes."""

    def move_to(self, file: RowFile) -> None:
        """Move it to a file if it is large, which frees its memory."""

    def row(self, model: Backend) -> np.ndarray:
        """Raw logits: (vocab,) float32."""


class LogitRecord:
    """Raw logits by step index; forks share the rows written before.

    It is a holder in the host's memory budget (see `engine.runner.budget`), so any thread may free
    rows at any time.
    """

    def __init__(self, model: Backend) -> None:
        self._model = model
        self._sources: list[Source] = []
        self._recent: dict[int, np.ndarray] = {}
        self._recent_bytes = 0
        self._hidden_bytes = 0
        self._file: RowFile | None = None
        self._budget = budget_of(_HOST)
        self._lock = threading.Lock()  # of the recent rows

    def __len__(self) -> int:
        return len(self._sources)

    def keep(self, forward: Forward, *, tokens: int, parity: bool) -> RowSource:
        """Return a source that can restore the row of a forward pass.

        Raises:
            RecordError: the row must go to a temporary file, which is full or cannot be written.
            OutOfMemoryError: even after idle memory was freed.
        """
        return self._with_memory(lambda: self._keep(forward, tokens, parity))

    def _keep(self, forward: Forward, tokens: int, parity: bool) -> RowSource:
        if forward.scores is not None:
            return forward.scores
        if self._model.replays_exactly and forward.hidden is not None:
            if self._hidden_bytes > HIDDEN_BYTES:
                self._move_hidden_states()
            # A GPU's memory is for weights and caches. The copy is small and does not wait, as
            # the logits have already been copied from there.
            return HiddenState(forward.hidden.to(_HOST), tokens, parity)
        return StoredRow(self._own_file(), forward.logits)

    def _own_file(self) -> RowFile:
        if self._file is None:
            self._file = RowFile()
        return self._file

    def _move_hidden_states(self) -> None:
        """Move the older half of the hidden states to the file."""
        left = self.bytes_held  # without states that forks have moved
        for source in self._sources:
            if left <= HIDDEN_BYTES // 2:
                break
            left -= source.bytes_held
            source.move_to(self._own_file())
        self._hidden_bytes = self.bytes_held

    def append(self, source: Source, row: np.ndarray) -> None:
        """Record `row`, which comes from `source`, as the row of the next step."""
        with self._lock:
            self._recent[len(self._sources)] = row
            self._recent_bytes += row.nbytes
            self._sources.append(source)
            self._hidden_bytes += source.bytes_held
            while self._recent_bytes > RECENT_BYTES and len(self._recent) > 1:
                self._recent_bytes -= self._recent.pop(next(iter(self._recent))).nbytes
        self._budget.used(self, self._held)

    def source(self, index: int) -> Source:
        """Return the source of a step's row."""
        return self._sources[index]

    def replace(self, index: int, scores: Scores) -> None:
        """Replace a step's listed scores by those of all tokens."""
        with self._lock:
            self._sources[index] = scores
            self._recent_bytes -= getattr(self._recent.pop(index, None), "nbytes", 0)

    def row(self, index: int) -> np.ndarray:
        """Return a step's raw logits, not to be modified: (vocab,) float32.

        Raises:
            OutOfMemoryError: even after idle memory was freed.
        """
        with self._lock:
            recent = self._recent.get(index)
        if recent is not None:
            return recent
        return self._with_memory(lambda: self._sources[index].row(self._model))

    def _with_memory(self, work: Callable[[], _Result]) -> _Result:
        """Return the result of `work`; if memory runs out, free some and retry once."""
        try:
            on_host = partial(with_room, self._budget, work)
            if self._model.device.type == "cpu":
                return on_host()
            return with_room(budget_of(self._model.device), on_host)
        except OutOfMemoryError:
            raise
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
        # Raised out here: the caught error would keep the failed pass's memory.
        raise OutOfMemoryError(
            "{device} ran out of memory for the logits of a step; {remedy}.",
            (self._model.device, _REMEDY),
        )

    def truncate(self, length: int) -> None:
        """Forget all steps from `length` on."""
        with self._lock:
            self._hidden_bytes -= sum(source.bytes_held for source in self._sources[length:])
            del self._sources[length:]
            for index in [index for index in self._recent if index >= length]:
                self._recent_bytes -= self._recent.pop(index).nbytes
            self._budget.keeps(self, self._held)

    def fork(self) -> LogitRecord:
        """Return a copy that is independent from here on."""
        twin = LogitRecord(self._model)
        with self._lock:
            twin._sources = list(self._sources)
            twin._hidden_bytes = self._hidden_bytes
            twin._recent = dict(self._recent)
            twin._recent_bytes = self._recent_bytes
            twin._file = self._file
        # Shared rows count twice: either record may be the last to hold them.
        self._budget.used(twin, twin._held)
        return twin

    def release(self) -> bool:
        """Free the recent rows, which can be restored; returns False if they are in use."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            self._recent.clear()
            self._recent_bytes = 0
            self._budget.keeps(self, self._held)
            return True
        finally:
            self._lock.release()

    @property
    def _held(self) -> int:
        """Bytes that count towards the budget."""
        return self._recent_bytes + self._hidden_bytes

    @property
    def bytes_held(self) -> int:
        """Memory of the record in bytes, without the recent rows, which have a fixed limit."""
        return sum(source.bytes_held for source in self._sources)


class HiddenState:
    """Source of a row: the hidden state from which the output layer computes it.

    It is in the host's memory or in a file. Forks share it, so it moves for all of them.
    """

    __slots__ = ("_hidden", "_place", "parity", "tokens")

    def __init__(self, hidden: torch.Tensor, tokens: int, parity: bool) -> None:
        self._hidden: torch.Tensor | None = hidden
        self._place: tuple[Place, torch.Size, torch.dtype] | None = None
        self.tokens = tokens
        self.parity = parity

    @property
    def bytes_held(self) -> int:
        """Bytes in memory."""
        hidden = self._hidden
        return 0 if hidden is None else hidden.untyped_storage().nbytes()

    @property
    def hidden(self) -> torch.Tensor:
        """Hidden state on the host, in the model's dtype: (1, 1, d_model)."""
        hidden = self._hidden  # read once: another thread may move it
        if hidden is not None:
            return hidden
        place, shape, dtype = self._place
        return torch.frombuffer(bytearray(place.read()), dtype=dtype).view(shape)

    def move_to(self, file: RowFile) -> None:
        """Write it to a file and free its memory; raises `RecordError` if it cannot be written."""
        hidden = self._hidden
        if hidden is None:
            return
        data = hidden.contiguous().view(-1).view(torch.uint8).numpy().tobytes()
        self._place = file.write(data), hidden.shape, hidden.dtype
        self._hidden = None

    def row(self, model: Backend) -> np.ndarray:
        """Raw logits, read-only: (vocab,) float32."""
        return model.replay(self.hidden, tokens=self.tokens, parity=self.parity)


RowSource = HiddenState | StoredRow | Scores
