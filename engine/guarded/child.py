"""The child's side of a guarded process: read requests, and answer them within limits.

The system enforces the limits: processor time (not on Windows), and memory (on Linux). It ends a
process that exceeds one. A message is two lengths, an object in JSON, and bytes. Requests come on
standard input. Answers go to the original standard output.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import struct
import sys
from collections.abc import Callable
from typing import BinaryIO

LENGTHS = struct.Struct("<II")
# Most memory left behind by old requests: beyond it a new process takes over.
MOST_KEPT = 2**30

Answer = tuple[dict, bytes]


def send(file: BinaryIO, header: dict, data: bytes = b"") -> None:
    """Write one message."""
    text = json.dumps(header).encode()
    file.write(LENGTHS.pack(len(text), len(data)) + text + data)
    file.flush()


def receive(file: BinaryIO) -> Answer | None:
    """Return the next message; None once the other side has ended."""
    lengths = file.read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    size, more = LENGTHS.unpack(lengths)
    text, data = file.read(size), file.read(more)
    return (json.loads(text), data) if len(text) + len(data) == size + more else None


def serve(answer: Callable[[dict, bytes], Answer]) -> None:
    """Answer requests until the other side closes.

    The command line gives the memory that one request may take, in megabytes, on top of the
    process' memory before it. Each request gives its limit of processor time, as ``seconds``.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the parent, which ends this one
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that a library prints may look like an answer
    megabytes, memory = int(sys.argv[1]), _Memory()
    at_first = memory.bytes
    _leave_no_core()
    send(answers, {"ready": True})
    while (request := receive(requests)) is not None:
        header, data = request
        memory.limit(megabytes)
        _limit_time(header["seconds"])
        try:
            found, data = answer(header, data)
        except MemoryError:
            os.abort()  # as Rust does
        _limit_time(0)
        is_full = memory.bytes - at_first > MOST_KEPT
        send(answers, {**found, "last": is_full}, data)
        if is_full:
            return


def _limit_time(seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)  # SIGPROF ends the process


def _leave_no_core() -> None:
    if os.name == "posix":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def give_back_memory() -> None:
    """Return free memory to the system; reading a tokenizer leaves twice its size behind."""
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)


class _Memory:
    """The memory of this process, and its limit; on Linux only."""

    def __init__(self) -> None:
        self._file = os.open("/proc/self/statm", os.O_RDONLY) if sys.platform == "linux" else None

    @property
    def bytes(self) -> int:
        """Bytes of memory that the process has requested; 0 if the system does not report them."""
        if self._file is None:
            return 0
        return int(os.pread(self._file, 40, 0).split()[0]) * os.sysconf("SC_PAGE_SIZE")

    def limit(self, megabytes: int) -> None:
        """Limit the process to `megabytes` more memory than it has already."""
        if self._file is not None:
            import resource

            most, hard = self.bytes + megabytes * 2**20, resource.getrlimit(resource.RLIMIT_AS)[1]
            resource.setrlimit(resource.RLIMIT_AS, (most, hard))
