"""vLLM's router in front of servers, for tests; without the program, the test is skipped."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Self

import httpx2
import pytest

VERSION = "0.1.17"
START_S = 60.0
# A worker that fails once is left out, and tried again a second later.
IMPATIENT = {
    "cb-failure-threshold": 1,
    "cb-success-threshold": 1,
    "cb-timeout-duration-secs": 1,
    "health-check-interval-secs": 1,
    "health-failure-threshold": 1,
    "health-success-threshold": 1,
}


class Router:
    """A router in a process of its own, for use with ``with``.

    It keeps a text on one worker, by the header `X-Session-ID`.

    Attributes:
        address: its address.
    """

    def __init__(self, workers: list[str], log: Path) -> None:
        program = os.environ.get("VLLM_ROUTER") or shutil.which("vllm-router")
        if not program:
            pytest.skip(
                f"vllm-router is not installed: pip install vllm-router=={VERSION} into a virtual "
                "environment of its own, and name its program in VLLM_ROUTER"
            )
        port, metrics = _free_port(), _free_port()
        self.address = f"http://127.0.0.1:{port}"
        options = {"host": "127.0.0.1", "port": port, "prometheus-port": metrics, **IMPATIENT}
        options["policy"] = "consistent_hash"
        given = [each for name, value in options.items() for each in (f"--{name}", str(value))]
        with log.open("w") as output:
            self._process = subprocess.Popen(
                [program, "--worker-urls", *workers, *given],
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        until = time.monotonic() + START_S
        while not self._is_ready():
            if time.monotonic() > until or self._process.poll() is not None:
                self.stop()
                raise RuntimeError(f"the router did not start: {log.read_text()[-2_000:]}")
            time.sleep(0.1)

    def _is_ready(self) -> bool:
        try:
            return httpx2.get(f"{self.address}/health", trust_env=False).status_code == 200
        except httpx2.TransportError:
            return False

    def stop(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]
