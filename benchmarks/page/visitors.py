"""Many visitors who step at once, over the live channel and without browsers: `measure_visitors`.

The visitors run in a separate process, `python -m benchmarks.page.visitors`. It reads a plan, one
line of JSON, and reports when all texts have started. On the next line the visitors step, and the
process writes their figures as one line of JSON. So their work is not in the server's processor
time.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import websockets

LIMITS = {"max_tokens": 4000, "stop_strings": []}


@dataclass(frozen=True)
class Plan:
    """Plan for the visitors.

    Attributes:
        url: address of the app.
        settings: samplers and seed of every text.
        visitors: number of visitors who step.
        steps: steps of each visitor.
        every: seconds between a visitor's steps; 0 for a step right after the last answer.
        prompt: prompt that one more visitor starts repeatedly at the same time; empty for none.
        addresses: number of addresses that they come from through a proxy, as one address gets
            only a share of the places; 0 for no proxy.
    """

    url: str
    settings: dict[str, Any]
    visitors: int
    steps: int
    every: float = 0.0
    prompt: str = ""
    addresses: int = 0


@dataclass
class Seen:
    """Figures of a run: milliseconds per step, bytes received, total seconds, prompts."""

    ms: list[float] = field(default_factory=list)
    received: int = 0
    seconds: float = 0.0
    prompts: int = 0


def measure_visitors(plan: Plan, cpu_ms: Callable[[], float | None]) -> tuple[Seen, float | None]:
    """Run the visitors; return their figures and the server's processor time in milliseconds.

    Args:
        plan: the visitors' plan.
        cpu_ms: the server's processor time so far.
    """
    command = [sys.executable, "-m", "benchmarks.page.visitors"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        lines: list[str] = []
        for line in (json.dumps(asdict(plan)), "step"):
            before = cpu_ms()
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
            lines.append(process.stdout.readline())
            if not lines[-1]:
                raise RuntimeError("The visitors failed; what they say stands above.")
    after = cpu_ms()
    return Seen(**json.loads(lines[1])), None if after is None else after - before


class Visitor:
    """One visitor with a separate text."""

    def __init__(self, plan: Plan, nth: int = 0) -> None:
        self._plan = plan
        self._headers: dict[str, str] = {}
        if plan.addresses:
            self._headers["X-Forwarded-For"] = f"10.0.0.{1 + nth % plan.addresses}"
        self._client = secrets.token_hex(8)
        self._number = 0
        self._at: dict[str, Any] = {}
        self.received = 0

    async def open(self) -> None:
        """Connect, and take the two steps that are slower than the others."""
        address = self._plan.url.replace("http", "ws", 1) + "/live"
        self._socket = await websockets.connect(
            address, origin=self._plan.url, max_size=None, additional_headers=self._headers
        )
        hello = {"visit": secrets.token_hex(16), "tab": secrets.token_hex(16), "page": "step"}
        await self._send({"kind": "hello", "have": {}, "unknown": [], **hello})
        await self._state()
        for _ in range(2):
            await self.do("step")

    async def do(self, kind: str, **fields: Any) -> None:
        """Send one action, and wait for its answer."""
        self._number += 1
        order = [name for name in self._plan.settings if name != "seed"]
        settings = {**self._plan.settings, "order": order}
        event = {"kind": kind, "number": self._number, "at": self._at, "limits": LIMITS}
        await self._send({**event, "settings": settings, **fields})
        await self._state()

    async def step_all(self, ms: list[float]) -> None:
        """Take all steps of the plan; a late step does not delay the next ones."""
        began = time.perf_counter()
        for step in range(self._plan.steps):
            ahead = began + step * self._plan.every - time.perf_counter()
            await asyncio.sleep(max(0.0, ahead))
            pressed = time.perf_counter()
            await self.do("step")
            ms.append((time.perf_counter() - pressed) * 1e3)

    async def _send(self, event: dict[str, Any]) -> None:
        await self._socket.send(json.dumps({**event, "client": self._client}))

    async def _state(self) -> None:
        while True:
            message = await self._socket.recv()
            self.received += len(message)
            size = int.from_bytes(message[:4], "little")
            header = json.loads(message[4 : 4 + size])
            if header.get("error"):
                raise RuntimeError(header["error"])
            if header["kind"] == "state":
                self._at = {name: header[name] for name in ("run", "branch", "length")}
                return


async def _prompts(visitor: Visitor, prompt: str, seen: Seen) -> None:
    while True:
        await visitor.do("start", prompt=prompt)
        seen.prompts += 1


async def _main() -> None:
    plan = Plan(**json.loads(sys.stdin.readline()))
    visitors = [Visitor(plan, nth) for nth in range(plan.visitors)]
    for visitor in visitors:
        await visitor.open()
    other = Visitor(plan)
    if plan.prompt:
        await other.open()
    print("ready", flush=True)
    sys.stdin.readline()
    seen = Seen()
    before = sum(visitor.received for visitor in visitors)
    began = time.perf_counter()
    beside = asyncio.create_task(_prompts(other, plan.prompt, seen)) if plan.prompt else None
    await asyncio.gather(*(visitor.step_all(seen.ms) for visitor in visitors))
    seen.seconds = time.perf_counter() - began
    seen.received = sum(visitor.received for visitor in visitors) - before
    if beside is not None:
        beside.cancel()
    print(json.dumps(asdict(seen)), flush=True)


if __name__ == "__main__":
    asyncio.run(_main())
