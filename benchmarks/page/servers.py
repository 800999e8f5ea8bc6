"""The app and the pages for comparison, each served by a separate process."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
APP = "app.py"
BARE = "benchmarks/page/bare.py"
LOOK_SECONDS = 0.02
_STATISTICS = Path("/proc/{pid}/stat")


@dataclass(frozen=True)
class Server:
    """A running server.

    Attributes:
        url: its address.
        process: the serving process.
        began: start of the process, by `time.perf_counter`.
    """

    url: str
    process: subprocess.Popen
    began: float

    def cpu_ms(self) -> float | None:
        """Milliseconds of processor time so far; None if the system does not report it."""
        file = Path(str(_STATISTICS).format(pid=self.process.pid))
        if not file.exists():
            return None
        fields = file.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") * 1e3


def free_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def served(script: str, model: str | None = None, port: int | None = None) -> Iterator[Server]:
    """Start a server as `make run` does; its visits are kept in a folder that is deleted with it.

    Args:
        script: `APP` or `BARE`.
        model: a folder; None for the bundled model.
        port: the port of an earlier server, whose files the browser has cached.
    """
    port = port or free_port()
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("STREAMLIT_", "DECODING_"))
    }
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "log"
        environment = kept | {"HF_HUB_OFFLINE": "1", "DECODING_VISITS": f"{scratch}/visits"}
        if model:
            environment["DECODING_MODEL"] = model
        began = time.perf_counter()
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "streamlit", "run", script, "--server.port", str(port)],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            server = Server(f"http://127.0.0.1:{port}", process, began)
            _wait_for(server, log)
            yield server
        finally:
            process.terminate()
            process.wait(timeout=20)


def _wait_for(server: Server, log: Path) -> None:
    while server.process.poll() is None:
        with (
            contextlib.suppress(OSError),
            urllib.request.urlopen(f"{server.url}/_stcore/health", timeout=2),
        ):
            return
        time.sleep(LOOK_SECONDS)
    said = log.read_text(errors="replace")[-2000:]
    raise RuntimeError(f"The server ended with code {server.process.returncode}:\n{said}")
