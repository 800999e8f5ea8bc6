"""The logits of every step, exact and over the full vocabulary, at a few kilobytes a step.

A row of logits is large (600 KB at 152k tokens in float32), the hidden state it was made from is
small (2 KB). So the hidden state is kept and the output layer is run again when an old row is asked
for: same input, same kernels, same shape, hence the same bits, which `LanguageModel` verifies when
it is loaded. Models that do something else to their logits afterwards (soft-capping, scaling) fail
that check; their rows go to a temporary file instead. The newest rows also stay in memory.
"""

from __future__ import annotations

import tempfile
import threading
from typing import TYPE_CHECKING

import numpy as np
import torch

from engine.errors import RecordError

if TYPE_CHECKING:
    from engine.model import Forward, LanguageModel

RECENT_BYTES = 16 * 2**20


class LogitRecord:
    """Raw logits by step index; forks share what is already written."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._sources: list[RowSource] = []
        self._recent: dict[int, np.ndarray] = {}
        self._file: _RowFile | None = None

    def __len__(self) -> int:
        return len(self._sources)

    def keep(self, forward: Forward, *, tokens: int, parity: bool) -> RowSource:
        """Store what the row of a forward pass can be had from again."""
        if self._model.replays_exactly and forward.hidden is not None:
            return _Replay(forward.hidden, tokens, parity)
        if self._file is None:
            self._file = _RowFile()
        return _Stored(self._file, *self._file.write(forward.logits))

    def append(self, source: RowSource, row: np.ndarray) -> None:
        """Make `row`, which comes from `source`, the row of the next step."""
        self._recent[len(self._sources)] = row
        self._sources.append(source)
        most = max(1, RECENT_BYTES // row.nbytes)
        while len(self._recent) > most:
            del self._recent[next(iter(self._recent))]

    def source(self, index: int) -> RowSource:
        """Where the row of a step can be had from."""
        return self._sources[index]

    def row(self, index: int) -> np.ndarray:
        """(vocab,) float32 raw logits of a step, not to be modified."""
        recent = self._recent.get(index)
        return self._sources[index].row(self._model) if recent is None else recent

    def truncate(self, length: int) -> None:
        """Forget all steps from `length` on."""
        del self._sources[length:]
        for index in [index for index in self._recent if index >= length]:
            del self._recent[index]

    def fork(self) -> LogitRecord:
        """A record that goes its own way from here."""
        twin = LogitRecord(self._model)
        twin._sources = list(self._sources)
        twin._recent = dict(self._recent)
        twin._file = self._file
        return twin

    @property
    def bytes_held(self) -> int:
        """Memory of the record without the recent rows, which have a fixed limit."""
        return sum(source.bytes_held for source in self._sources)


class _Replay:
    """A row as the hidden state that the output layer makes it from."""

    __slots__ = ("hidden", "parity", "tokens")

    def __init__(self, hidden: torch.Tensor, tokens: int, parity: bool) -> None:
        self.hidden = hidden
        self.tokens = tokens
        self.parity = parity

    @property
    def bytes_held(self) -> int:
        return self.hidden.untyped_storage().nbytes()

    def row(self, model: LanguageModel) -> np.ndarray:
        return model.replay(self.hidden, tokens=self.tokens, parity=self.parity)


class _Stored:
    """A row as a place in a file."""

    __slots__ = ("dtype", "file", "offset")
    bytes_held = 0

    def __init__(self, file: _RowFile, offset: int, dtype: np.dtype) -> None:
        self.file = file
        self.offset = offset
        self.dtype = dtype

    def row(self, model: LanguageModel) -> np.ndarray:
        return self.file.read(self.offset, model.vocab_size, self.dtype)


RowSource = _Replay | _Stored


def _cannot_store(error: OSError) -> RecordError:
    try:
        folder = tempfile.gettempdir()
        remedy = "make room there, or set TMPDIR to another folder"
    except OSError:
        folder = "a temporary folder"
        remedy = "there is none that can be written to, so set TMPDIR to one"
    why = error.strerror or "no folder can be used"
    return RecordError(f"The logits could not be stored in {folder} ({why}); {remedy}.")


class _RowFile:
    """Rows in a temporary file that vanishes with its last user; only ever appended to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        try:
            self._file = tempfile.TemporaryFile(prefix="logits-")  # noqa: SIM115 - lives as long as we
        except OSError as error:  # also where there is no folder for such files at all
            raise _cannot_store(error) from error

    def write(self, row: np.ndarray) -> tuple[int, np.dtype]:
        """Append a float32 row, in half the space where that loses nothing."""
        bits = row.view(np.uint32)
        # A row that came from bf16 has zeros in the lower 16 bits of its float32 form.
        halved = (bits >> 16).astype(np.uint16) if not np.any(bits & 0xFFFF) else bits
        try:
            with self._lock:
                offset = self._file.seek(0, 2)
                self._file.write(halved.tobytes())
        except OSError as error:
            raise _cannot_store(error) from error
        return offset, halved.dtype

    def read(self, offset: int, size: int, dtype: np.dtype) -> np.ndarray:
        with self._lock:
            self._file.seek(offset)
            data = self._file.read(size * dtype.itemsize)
        bits = np.frombuffer(data, dtype).astype(np.uint32)
        row = (bits << 16 if dtype == np.uint16 else bits).view(np.float32)
        row.setflags(write=False)
        return row
