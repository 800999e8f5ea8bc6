"""The logits of every step, exact and over the full vocabulary, at a few kilobytes a step.

A row of logits is large (600 KB at 152k tokens in float32), the hidden state it was made from is
small (2 KB). So the hidden state is kept and the output layer is run again when an old row is asked
for: same input, same kernels, same shape, hence the same bits, which `LanguageModel` verifies when
it is loaded. Models that do something else to their logits afterwards (soft-capping, scaling) fail
that check; their rows go to a temporary file instead.

The newest rows also stay in memory, as part of the memory budget: they are given back when others
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
    """A source that gives the row of a step again: one forward pass, or two under guidance.

    Attributes:
        bytes_held: memory that it takes.
    """

    @property
    def bytes_held(self) -> int:
        """See above."""

    def move_to(self, file: RowFile) -> None:
        """Let its memory go."""

    def row(self, model: Backend) -> np.ndarray:
        """(vocab,) float32 raw logits."""


class LogitRecord:
    """Raw logits by step index; forks share what is already written.

    A holder of the host's memory budget (see `engine.runner.budget`): rows may be given back at any
    time, by any thread.
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
        """Store what the row of a forward pass can be had from again.

        Raises:
            RecordError: it goes to a temporary file, which cannot be written or is full.
            OutOfMemoryError: also after idle memory was given back.
        """
        return self._with_memory(lambda: self._keep(forward, tokens, parity))

    def _keep(self, forward: Forward, tokens: int, parity: bool) -> RowSource:
        if forward.scores is not None:
            return forward.scores
        if self._model.replays_exactly and forward.hidden is not None:
            if self._hidden_bytes > HIDDEN_BYTES:
                self._move_hidden_states()
            # A GPU's memory is for weights and caches. The copy is small, and waits for nothing,
            # as the logits have come from there already.
            return HiddenState(forward.hidden.to(_HOST), tokens, parity)
        return StoredRow(self._own_file(), forward.logits)

    def _own_file(self) -> RowFile:
        if self._file is None:
            self._file = RowFile()
        return self._file

    def _move_hidden_states(self) -> None:
        """Let the older half of the hidden states go to the file."""
        left = self.bytes_held  # without what forks have moved
        for source in self._sources:
            if left <= HIDDEN_BYTES // 2:
                break
            left -= source.bytes_held
            source.move_to(self._own_file())
        self._hidden_bytes = self.bytes_held

    def append(self, source: Source, row: np.ndarray) -> None:
        """Make `row`, which comes from `source`, the row of the next step."""
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

    def row(self, index: int) -> np.ndarray:
        """(vocab,) float32 raw logits of a step, not to be modified.

        Raises:
            OutOfMemoryError: also after idle memory was given back.
        """
        with self._lock:
            recent = self._recent.get(index)
        if recent is not None:
            return recent
        return self._with_memory(lambda: self._sources[index].row(self._model))

    def _with_memory(self, work: Callable[[], _Result]) -> _Result:
        """The result of `work`, tried once more with more room."""
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
        # Out here: the error would hold what the failed pass had allocated.
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
        """A record that goes its own way from here."""
        twin = LogitRecord(self._model)
        with self._lock:
            twin._sources = list(self._sources)
            twin._hidden_bytes = self._hidden_bytes
            twin._recent = dict(self._recent)
            twin._recent_bytes = self._recent_bytes
            twin._file = self._file
        # What both have counts twice: either may be the last to have it.
        self._budget.used(twin, twin._held)
        return twin

    def release(self) -> bool:
        """Give the recent rows back, which can be had again; False if in use just now."""
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
        """Memory of the record without the recent rows, which have a fixed limit."""
        return sum(source.bytes_held for source in self._sources)


class HiddenState:
    """A row as the hidden state that the output layer makes it from.

    In the host's memory, or in a file; forks share it, so it moves for all of them.
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
        """(1, 1, d_model) in the model's dtype, on the host."""
        hidden = self._hidden  # once: another thread may move it meanwhile
        if hidden is not None:
            return hidden
        place, shape, dtype = self._place
        return torch.frombuffer(bytearray(place.read()), dtype=dtype).view(shape)

    def move_to(self, file: RowFile) -> None:
        """Write it down, and let its memory go; raises `RecordError` where that is impossible."""
        hidden = self._hidden
        if hidden is None:
            return
        data = hidden.contiguous().view(-1).view(torch.uint8).numpy().tobytes()
        self._place = file.write(data), hidden.shape, hidden.dtype
        self._hidden = None

    def row(self, model: Backend) -> np.ndarray:
        """(vocab,) float32, read-only."""
        return model.replay(self.hidden, tokens=self.tokens, parity=self.parity)


RowSource = HiddenState | StoredRow | Scores
