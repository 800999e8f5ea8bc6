"""Rows and hidden states in temporary files, with size limits.

A file belongs to one text and its forks, is never visible by name, and vanishes with its last user.
Freed space is reused, so a text that is rewound and continued takes no more space than its steps.
"""

from __future__ import annotations

import tempfile
import threading
from collections import deque

import numpy as np

from engine.errors import RecordError, msg

GIB = 2**30
MOST_BYTES = 4 * GIB  # of one text and its forks
MOST_BYTES_OF_ALL = 16 * GIB  # of all texts in this process

_written = 0  # bytes in all files that still exist
_ended: deque[int] = deque()  # sizes of removed files, noted by the thread that removed them
_lock = threading.Lock()


def _take(wanted: int) -> None:
    """Count bytes that are about to be written; raises `RecordError` beyond the limit."""
    global _written
    with _lock:
        while _ended:
            _written -= _ended.popleft()
        if _written + wanted > MOST_BYTES_OF_ALL:
            raise RecordError(
                "The logits of all texts take {written:.1f} GiB of temporary files, and at "
                "most {most_bytes_of_all:.1f} GiB is allowed; shorten or close other texts "
                "first.",
                (_written / GIB, MOST_BYTES_OF_ALL / GIB),
            )
        _written += wanted


class RowFile:
    """Temporary file for arrays, which reuses freed space."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._end = 0
        self._free: dict[int, list[int]] = {}  # offsets by size
        self._given_back: deque[tuple[int, int]] = deque()
        try:
            # Unbuffered, so that a failed write is reported at once, and not tried again.
            # It lives as long as this object.
            self._file = tempfile.TemporaryFile(prefix="logits-", buffering=0)  # noqa: SIM115
        except OSError as error:  # also if there is no folder for such files
            raise _cannot_store(error) from error

    def __del__(self, ended: deque[int] = _ended) -> None:
        # Bound beforehand: when the interpreter ends, module names vanish before their objects.
        ended.append(getattr(self, "_end", 0))

    def write(self, data: bytes) -> Place:
        """Write bytes and return their place; raises `RecordError` beyond a limit or on failure."""
        size = len(data)
        try:
            with self._lock:
                start = self._room(size)
                try:
                    self._file.seek(start)
                    left = memoryview(data)
                    while left:
                        left = left[self._file.write(left) :]
                except BaseException:
                    self._given_back.append((start, size))
                    raise
        except OSError as error:
            raise _cannot_store(error) from error
        return Place(self, start, size)

    def _room(self, size: int) -> int:
        """Return the offset at which `size` bytes may be written."""
        while self._given_back:
            start, freed = self._given_back.popleft()
            self._free.setdefault(freed, []).append(start)
        if self._free.get(size):
            return self._free[size].pop()
        if self._end + size > MOST_BYTES:
            raise RecordError(
                "The logits of this text take {end:.1f} GiB of temporary files, and at most "
                "{most_bytes:.1f} GiB is allowed; go back some steps, or begin a new text.",
                (self._end / GIB, MOST_BYTES / GIB),
            )
        _take(size)
        self._end += size
        return self._end - size

    def read(self, start: int, size: int) -> bytes:
        """Return `size` bytes at an offset; raises `RecordError` if they cannot be read."""
        data = b""
        try:
            with self._lock:
                self._file.seek(start)
                while len(data) < size and (part := self._file.read(size - len(data))):
                    data += part
        except OSError as error:
            raise _cannot_read(error.strerror or msg("no reason is given")) from error
        if len(data) < size:
            raise _cannot_read(msg("the file has become shorter"))
        return data


class Place:
    """Location of some bytes in a file, freed when this object is no longer in use."""

    __slots__ = ("_file", "_size", "_start")

    def __init__(self, file: RowFile, start: int, size: int) -> None:
        self._file = file
        self._start = start
        self._size = size

    def __del__(self) -> None:
        # This may be called at any time, so it takes no lock.
        self._file._given_back.append((self._start, self._size))

    def read(self) -> bytes:
        """Return the bytes."""
        return self._file.read(self._start, self._size)


class StoredRow:
    """A row of logits in a file."""

    __slots__ = ("_dtype", "_place")
    bytes_held = 0

    def __init__(self, file: RowFile, row: np.ndarray) -> None:
        """Write a float32 row, in half the space if that loses nothing."""
        bits = row.view(np.uint32)
        # A row that came from bf16 has zeros in the lower 16 bits of its float32 form.
        halved = (bits >> 16).astype(np.uint16) if not np.any(bits & 0xFFFF) else bits
        self._dtype = halved.dtype
        self._place = file.write(halved.tobytes())

    def row(self, model: object) -> np.ndarray:
        """Raw logits, read-only: (vocab,) float32."""
        bits = np.frombuffer(self._place.read(), self._dtype).astype(np.uint32)
        row = (bits << 16 if self._dtype == np.uint16 else bits).view(np.float32)
        row.setflags(write=False)
        return row

    def move_to(self, file: RowFile) -> None:
        """Do nothing: the row is already in a file."""


def _cannot_read(why: str) -> RecordError:
    return RecordError(
        "The logits of an earlier step cannot be read from their temporary file ({why}); look at "
        "a newer step, or begin a new text.",
        why,
    )


def _cannot_store(error: OSError) -> RecordError:
    try:
        folder = tempfile.gettempdir()
        remedy = msg("make room there, or set TMPDIR to another folder")
    except OSError:
        folder = msg("a temporary folder")
        remedy = msg("set TMPDIR to a folder that can be written to")
    why = error.strerror or msg("no usable folder")
    return RecordError(
        "The logits could not be stored in {folder} ({why}); {remedy}.", (folder, why, remedy)
    )
