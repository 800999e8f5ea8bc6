"""The step page on the live channel without a browser: a page's knowledge of its text."""

import contextlib
import json
import secrets
from collections.abc import Iterator

from starlette.applications import Starlette
from starlette.testclient import TestClient

from tests.ui.step.visitor import unpacked
from ui.server.websocket import live_route
from ui.step.connect import open_step

SETTINGS = {
    "order": ["temperature", "top_k", "top_p", "min_p"],
    "temperature": 0.8,
    "top_k": 0,
    "top_p": 0.95,
    "min_p": 0,
    "seed": 3,
}


def client() -> TestClient:
    return TestClient(Starlette(routes=[live_route({"step": open_step})]))


class LivePage:
    """One connected page.

    Attributes:
        visit, tab, client: identify the page.
        text, steps, run, branch: describe its text.
        last: the last header.
        busy: the messages during long operations.
    """

    def __init__(self, socket, visit: str = "", tab: str = "") -> None:
        self.socket = socket
        self.visit = visit or secrets.token_hex(16)
        self.tab = tab or secrets.token_hex(16)
        self.client = secrets.token_hex(8)
        self.number = 0
        self.settings = dict(SETTINGS)
        self.text: dict = {}
        self.steps: list[dict] = []
        self.fields: list[str] = []
        self.run, self.branch = "", 0
        self.last: dict = {}
        self.busy: list[dict] = []

    def hello(self, **fields) -> dict:
        first = {"visit": self.visit, "tab": self.tab, "page": "step", "client": self.client}
        self.socket.send_json({"kind": "hello", **first, **fields})
        header = self.read()
        self.visit = header.get("visit", self.visit)
        return header

    def read(self) -> dict:
        while True:
            header, _ = unpacked(self.socket.receive_bytes())
            if header["kind"] != "busy":
                break
            self.busy.append(header)
        if header["kind"] == "state":
            self._take(header)
        self.last = header
        return header

    def _take(self, header: dict) -> None:
        if header["text"] is not None:
            self.text, self.steps = header["text"], []
        assert header["run"] == self.run or header["text"] is not None
        self.run, self.branch = header["run"], header["branch"]
        self.fields = header.get("step_fields", self.fields)
        new = [dict(zip(self.fields, values, strict=True)) for values in header["steps"]]
        assert header["first"] <= len(self.steps)
        self.steps = (self.steps[: header["first"]] + new)[: header["length"]]
        assert len(self.steps) == header["length"]

    @property
    def ids(self) -> list[int]:
        return [step["id"] for step in self.steps]

    @property
    def have(self) -> dict:
        forced = [index for index, step in enumerate(self.steps) if step["forced"]]
        return {"run": self.run, "branch": self.branch, "ids": self.ids, "forced": forced}

    def event(self, kind: str, **fields) -> dict:
        self.number += 1
        place = {"run": self.run, "branch": self.branch, "length": len(self.steps)}
        shared = {"at": place, "settings": self.settings}
        return {"kind": kind, "client": self.client, "number": self.number, **shared, **fields}

    def do(self, kind: str, **fields) -> dict:
        """Return the answer to an event, or the last one for several presses of Step."""
        self.socket.send_text(json.dumps(self.event(kind, **fields)))
        header = self.read()
        assert (header["client"], header["number"]) == (self.client, self.number)
        if header.get("left") and fields.get("count"):
            return self.do(kind, **{**fields, "count": header["left"]})
        return header


@contextlib.contextmanager
def opened(visit: str = "", tab: str = "", **fields) -> Iterator[LivePage]:
    with client().websocket_connect("/live") as socket:
        page = LivePage(socket, visit, tab)
        page.hello(**fields)
        yield page


@contextlib.contextmanager
def reconnected(page: LivePage, length: int | None = None, **fields) -> Iterator[LivePage]:
    """Connect the same page again, which shows the first `length` steps."""
    with client().websocket_connect("/live") as socket:
        again = LivePage(socket, page.visit, page.tab)
        again.client, again.run, again.branch = page.client, page.run, page.branch
        again.steps, again.fields = page.steps[:length], page.fields
        again.hello(**{"have": again.have, **fields})
        yield again
