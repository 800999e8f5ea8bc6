"""A real llama.cpp server for tests, with a bundled model as a GGUF file in float32."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

import pytest

# Of one process: the server's address on its first line, its end when the input is closed.
PROGRAM = """
import sys, xllamacpp
given = xllamacpp.CommonParams()
given.model.path = sys.argv[1]
given.n_ctx, given.n_parallel, given.n_batch = int(sys.argv[3]), int(sys.argv[5]), 512
given.cpuparams.n_threads = given.cpuparams_batch.n_threads = 1
# By default llama.cpp rounds keys, values and queries to float16.
given.cache_type_k = given.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
given.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
given.hostnames, given.port = ["127.0.0.1"], int(sys.argv[2])
given.endpoint_metrics, given.warmup = True, True
if sys.argv[4]:
    given.api_keys = [sys.argv[4]]
if sys.argv[6]:
    kinds = xllamacpp.common_speculative_type
    given.speculative.types = [kinds.COMMON_SPECULATIVE_TYPE_DRAFT_SIMPLE]
    given.speculative.draft.mparams.path = sys.argv[6]
    given.speculative.draft.n_max, given.speculative.draft.p_min = 4, 0.0
server = xllamacpp.Server(given)
print("at", server.listening_address, flush=True)
sys.stdin.read()
"""


class LlamaServer:
    """A server in a process of its own, for use with ``with``; without one, the test is skipped.

    Args:
        draft: a smaller model, which proposes 4 tokens in each round.

    Attributes:
        address: its address.
        model: the file that it loads when it starts.
    """

    def __init__(
        self,
        model: Path,
        *,
        key: str = "",
        context: int = 4096,
        slots: int = 4,
        draft: Path | None = None,
    ) -> None:
        self.model, self._key, self._context, self._slots = model, key, context, slots
        self._draft, self._port = draft or "", 0
        self.start()

    def start(self) -> None:
        """Start it; again at the same address if it was killed."""
        given = [self.model, self._port, self._context, self._key, self._slots, self._draft]
        log = self.model.with_suffix(".log")
        with log.open("w") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, *map(str, given)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        lines = (line.split() for line in self._process.stdout)
        self.address = next((line[1] for line in lines if line[:1] == ["at"]), "")
        if not self.address:
            self.kill()
            said = log.read_text()[-2_000:]
            if self._process.returncode == -signal.SIGILL or "ImportError" in said:
                pytest.skip(f"xllamacpp cannot run on this machine: {said[-200:]}")
            raise RuntimeError(f"the server ended: {said}")
        self._port = int(self.address.rpartition(":")[2])

    def kill(self) -> None:
        """Kill it as a crash would."""
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
