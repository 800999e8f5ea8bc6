"""The live channel, for any page: frames, order, long operations, refusals."""

import contextlib
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from ui.server import websocket
from ui.server.websocket import BadFrame, Connection, Gone, Refused, live_route, parsed

HELLO = {"kind": "hello", "page": "echo"}


class Echo:
    """A page that answers every event with itself; some with trouble."""

    def __init__(self, connection: Connection, first: dict) -> None:
        self.connection = connection
        self.first = first
        self.events: list = []
        self.is_closed = threading.Event()
        self.go_on = threading.Event()
        if first.get("refuse"):
            raise Refused("There is no room.")
        if first.get("leave"):
            raise Gone
        if first.get("fail"):
            raise RuntimeError("a secret of the server")

    def hello(self):
        return [_frame({"kind": "state", "number": 0})]

    def answer(self, data):
        self.events.append(data)
        if data.get("slow"):
            self.connection.activity = websocket.Activity("Doing it", 1, 2)
            assert self.go_on.wait(20)
        if data.get("fail"):
            raise RuntimeError("a secret of the server")
        return [_frame({**data, "waiting": len(self.connection.waiting)})]

    def update(self):
        return [_frame({"kind": "update"})]

    def close(self):
        self.is_closed.set()


def _frame(header: dict) -> bytes:
    data = json.dumps(header).encode()
    return len(data).to_bytes(4, "little") + data


def read(socket) -> dict:
    return json.loads(socket.receive_bytes()[4:])


def busy(what: str, *, done: int = 0, total: int | None = None) -> dict:
    place = {"done": done, "total": total, "behind": 0, "can_cancel": False}
    return {"kind": "busy", "what": what, **place}


@pytest.fixture
def made() -> list[Echo]:
    return []


@pytest.fixture
def client(made) -> TestClient:
    def opener(connection, first):
        made.append(Echo(connection, first))
        return made[-1]

    return TestClient(Starlette(routes=[live_route({"echo": opener})]))


@pytest.fixture
def socket(client):
    with client.websocket_connect("/live") as socket:
        socket.send_json(HELLO)
        assert read(socket) == {"kind": "state", "number": 0}
        yield socket


def test_events_are_answered_in_order(socket):
    for number in range(50):
        socket.send_json({"number": number})
    assert [read(socket)["number"] for _ in range(50)] == list(range(50))


def test_long_event_reports_activity_and_waiting_events(socket, made):
    socket.send_json({"number": 1, "slow": True})
    assert read(socket) == busy("Doing it", done=1, total=2)
    socket.send_json({"number": 2})
    while not made[0].connection.waiting:
        pass
    made[0].go_on.set()
    assert read(socket) == busy("")
    assert read(socket)["waiting"] == 1
    assert read(socket) == {"number": 2, "waiting": 0}


def test_long_activity_is_reported_repeatedly(socket, made, monkeypatch):
    monkeypatch.setattr(websocket, "ALIVE_SECONDS", 0.0)
    monkeypatch.setattr(websocket, "BUSY_SECONDS", 0.01)
    socket.send_json({"number": 1, "slow": True})
    assert [read(socket)["what"] for _ in range(3)][1:] == ["Doing it"] * 2
    made[0].go_on.set()
    while (frame := read(socket)).get("kind") == "busy":
        last = frame
    assert last["what"] == "" and frame["number"] == 1


def test_page_reports_waiting_for_a_thread(monkeypatch, client, made):
    monkeypatch.setattr(websocket, "_pool", ThreadPoolExecutor(1))
    with client.websocket_connect("/live") as first, client.websocket_connect("/live") as second:
        for socket in (first, second):
            socket.send_json(HELLO)
            read(socket)
        first.send_json({"number": 1, "slow": True})
        assert read(first) == busy("Doing it", done=1, total=2)
        second.send_json({"number": 1})
        assert read(second) == busy(websocket.NO_THREAD)
        made[0].go_on.set()
        assert read(second) == busy("")
        assert read(second)["number"] == 1


def test_the_pages_of_one_visit_hold_one_thread(monkeypatch, client, made):
    """A visitor with many connections must not keep others from stepping."""
    monkeypatch.setattr(websocket, "_pool", ThreadPoolExecutor(2))
    with client, contextlib.ExitStack() as open_pages:
        sockets = [open_pages.enter_context(client.websocket_connect("/live")) for _ in range(4)]
        for socket, visit in zip(sockets, "aaab", strict=True):
            socket.send_json({**HELLO, "visit": visit})
            read(socket)
        sockets[0].send_json({"number": 1, "slow": True})
        assert read(sockets[0]) == busy("Doing it", done=1, total=2)
        for socket in sockets[1:]:
            socket.send_json({"number": 1})
        assert read(sockets[3])["number"] == 1, "another visit"
        assert not made[1].events and not made[2].events
        made[0].go_on.set()
        assert read(sockets[1])["number"] == read(sockets[2])["number"] == 1


def test_server_update_is_sent_only_once(socket, made):
    connection = made[0].connection
    socket.send_json({"number": 1, "slow": True})
    for _ in range(5):
        connection.wake()
    while not made[0].events:
        pass
    made[0].go_on.set()
    found = [read(socket) for _ in range(2)]
    found += [] if found[-1]["kind"] == "update" else [read(socket)]
    kinds = [frame.get("kind", "answer") for frame in found if frame.get("kind") != "busy"]
    assert sorted(kinds) == ["answer", "update"]
    socket.send_json({"number": 2})
    assert read(socket)["number"] == 2


def test_disconnect_is_noticed_during_an_answer(client, made):
    with client.websocket_connect("/live") as socket:
        socket.send_json(HELLO)
        read(socket)
        socket.send_json({"number": 1, "slow": True})
        read(socket)
        socket.close()
        while made[0].connection.is_open:
            pass
        assert not made[0].is_closed.is_set()
        made[0].go_on.set()
        assert made[0].is_closed.wait(20)


@pytest.mark.parametrize(
    "first",
    [
        "no JSON",
        '{"kind": "hello"}',
        '{"kind": "hello", "page": "none"}',
        '{"kind": "step", "page": "echo"}',
        '{"kind": "hello", "page": "echo", "x": ' + "[" * 900 + "]" * 900 + "}",
    ],
)
def test_connection_closes_if_first_frame_is_not_hello(client, made, first):
    with client.websocket_connect("/live") as socket:
        socket.send_text(first)
        with pytest.raises(WebSocketDisconnect) as error:
            socket.receive_bytes()
    assert error.value.code == websocket.REFUSED_CODE
    assert made == []


@pytest.mark.parametrize("frame", [{"text": "[1, 2]"}, {"bytes": b"{}"}])
def test_connection_closes_on_an_invalid_event(socket, made, frame):
    socket.send({"type": "websocket.receive", **frame})
    with pytest.raises(WebSocketDisconnect):
        socket.receive_bytes()
    assert made[0].is_closed.wait(20)


@pytest.mark.parametrize(
    ("first", "said"),
    [({"refuse": True}, "There is no room."), ({"fail": True}, "An unexpected error interrupted")],
)
def test_page_that_cannot_open_says_why(client, first, said):
    with client.websocket_connect("/live") as socket:
        socket.send_json(HELLO | first)
        frame = read(socket)
        assert frame["kind"] == "failed"
        assert frame["error"].startswith(said)
        assert "secret" not in frame["error"]
        with pytest.raises(WebSocketDisconnect):
            socket.receive_bytes()


def test_page_error_is_reported_with_a_number(socket, made):
    socket.send_json({"number": 1, "fail": True})
    frame = read(socket)
    assert (
        frame["kind"] == "failed"
        and "this number to the person who runs this app: " in frame["error"]
    )
    assert made[0].is_closed.wait(20)


def test_frames_are_bounded_in_length_and_depth():
    assert parsed('{"a": [[1]]}') == {"a": [[1]]}
    deep = '{"a": ' + "[" * 99 + "]" * 99 + "}"
    long = '{"a": "' + "x" * websocket.LARGEST_FRAME + '"}'
    for text in (None, "no JSON", long, deep, "[" * 200_000, '{"a": Infinity}', "null", "3", "[]"):
        with pytest.raises(BadFrame):
            parsed(text)
