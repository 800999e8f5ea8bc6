"""The guard in front of the real app: its own pages work, others cannot talk to it or show it."""

import http.server
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.browser.sockets import opens_socket

PATIENCE_S = 30
FOREIGN = b"""<!doctype html><title>elsewhere</title>"""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """A page of a different program on this computer: the same host, a different port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(FOREIGN)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_foreign_page_can_neither_connect_nor_embed(context: BrowserContext, app_url, elsewhere):
    page = context.new_page()
    page.goto(elsewhere)
    for host in (app_url, app_url.replace("127.0.0.1", "localhost")):
        for path in ("/_stcore/stream", "/live"):
            address = host.replace("http:", "ws:") + path
            assert not opens_socket(page, address), path
    page.evaluate(
        "address => new Promise(resolve => {"
        " const frame = Object.assign(document.createElement('iframe'), { src: address });"
        " frame.onload = resolve; document.body.append(frame); })",
        app_url,
    )
    assert page.frames[1].url == "chrome-error://chromewebdata/"


# --- without a browser ----------------------------------------------------------------------------


@pytest.fixture
def visitor(app_url) -> Iterator[ClientConnection]:
    with connected(app_url) as socket:
        yield socket


def connected(app_url: str) -> ClientConnection:
    address = app_url.replace("http:", "ws:") + "/_stcore/stream"
    return connect(address, origin=app_url, subprotocols=["streamlit"], max_size=None)


def is_alive(socket: ClientConnection) -> bool:
    socket.send(BackMsg(app_heartbeat=True).SerializeToString())
    while True:
        message = ForwardMsg.FromString(socket.recv(PATIENCE_S))
        if message.WhichOneof("type") == "heartbeat_ack":
            return True


def test_harmful_messages_are_dropped_and_oversized_ones_disconnect(app_url, visitor):
    deep = {"id": "a", "json_value": "[" * 900 + "]" * 900}
    for widgets in ([{"id": "a"}] * 1_000, [deep]):
        message = BackMsg(rerun_script={"widget_states": {"widgets": widgets}})
        visitor.send(message.SerializeToString())
    visitor.send(BackMsg(clear_cache=True).SerializeToString())
    assert is_alive(visitor)
    with connected(app_url) as other, connected(app_url) as another:
        for socket, size in ((visitor, 5_000_000), (other, 25_000_000)):
            with pytest.raises(ConnectionClosed):
                socket.send(b"x" * size)
                socket.recv(PATIENCE_S)
        assert visitor.close_code == 1009
        assert is_alive(another)


@pytest.mark.parametrize(
    ("path", "host", "status"),
    [
        ("/_stcore/metrics", "127.0.0.1", 404),
        ("/_stcore/upload_file/a/b", "127.0.0.1", 404),
        ("/_stcore/health", "127.0.0.1", 200),
        ("/_stcore/health", "evil.example", 403),
        ("/compare", "evil.example", 403),
    ],
)
def test_guard_answers_by_path_and_host(app_url, path, host, status):
    request = urllib.request.Request(app_url + path, headers={"Host": host})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            found = answer
    except urllib.error.HTTPError as error:
        found = error
    assert found.status == status
    assert found.headers["X-Frame-Options"] == "DENY"
