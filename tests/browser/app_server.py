"""The app in its own process, on a free port, as `make run` starts it."""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ARTEFACTS = ROOT / "test-artefacts"
START_DEADLINE_S = 60


class AppServer:
    """A server that can be started, killed and restarted under the same address.

    Attributes:
        url: its address.
        log: the file for its output.
    """

    def __init__(self, name: str, visits: str, **environment: str) -> None:
        """Prepare the server without starting it.

        Args:
            name: name of the log file.
            visits: folder for visitors' work; "off" keeps everything in memory.
            environment: additional environment variables for the server.
        """
        ARTEFACTS.mkdir(exist_ok=True)
        self.log = ARTEFACTS / f"{name}.log"
        self.log.unlink(missing_ok=True)
        self._visits = visits
        self._more = environment
        self._port = _free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._process: subprocess.Popen | None = None

    def start(self) -> None:
        flags = ["--server.address=127.0.0.1", f"--server.port={self._port}"]
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "streamlit", "run", "app.py", *flags],
                cwd=ROOT,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,
            )
        deadline = time.monotonic() + START_DEADLINE_S
        while time.monotonic() < deadline and self._process.poll() is None:
            health = f"{self.url}/_stcore/health"
            with contextlib.suppress(OSError), urllib.request.urlopen(health, timeout=2):
                return
            time.sleep(0.1)
        code = self._process.poll()
        state = "still starting" if code is None else f"exited with {code}"
        pytest.fail(f"the app did not answer ({state}); its log:\n{self.tail()}", pytrace=False)

    def kill(self) -> None:
        """Kill the server before it can write anything."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.kill()

    def tail(self, characters: int = 4000) -> str:
        return self.log.read_text(errors="replace")[-characters:] if self.log.exists() else ""

    def _environment(self) -> dict[str, str]:
        """The user's environment, minus variables that would change the app under test."""
        foreign = ("STREAMLIT_", "DECODING_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        own = {"HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1", "DECODING_VISITS": self._visits}
        return {**kept, **own, **self._more}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _die_with_parent() -> None:
    """On Linux, end the server if the test run is killed outright."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)
