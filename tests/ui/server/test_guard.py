"""The server's guard, without a server: what reaches the app behind it, and what it answers.

The app here records everything it is given, as Streamlit would.
"""

import asyncio
import json
import logging
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.proto.BackMsg_pb2 import BackMsg

from ui.server import frames, sockets
from ui.server.addresses import Addresses
from ui.server.frames import Bucket
from ui.server.guard import HEADERS, STREAM, Guard

HOST = "127.0.0.1:8501"
OWN = f"http://{HOST}"
ADDRESSES = Addresses(hosts=("127.0.0.1", "localhost"))


@dataclass
class App:
    """The app behind the guard."""

    requests: list[str] = field(default_factory=list)
    origins: list[bytes] = field(default_factory=list)
    messages: list[dict] = field(default_factory=list)

    async def __call__(self, scope, receive, send) -> None:
        self.requests.append(scope["path"])
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"ok"})
            return
        self.origins += [value for name, value in scope["headers"] if name == b"origin"]
        await send({"type": "websocket.accept"})
        while (message := await receive())["type"] != "websocket.disconnect":
            self.messages.append(message)
            await send({"type": "websocket.send", "bytes": b"answer"})
        await send({"type": "websocket.send", "bytes": b"too late"})


def scope_of(path: str = "/", method: str = "GET", **headers: str | None) -> dict:
    """A request of one of the app's own pages, except for the headers that are given."""
    kind = "websocket" if path in (STREAM, "/live") else "http"
    headers = {"host": HOST, "origin": OWN, **headers}
    pairs = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return {
        "type": kind,
        "path": path,
        "method": method,
        "scheme": "http" if kind == "http" else "ws",
        "headers": [(name.encode(), value.encode()) for name, value in pairs if value is not None],
        "extensions": {"websocket.http.response": {}},
    }


def answered(scope: dict, app=None, addresses: Addresses = ADDRESSES, received=()) -> list[dict]:
    """Return the guard's messages to the caller."""
    sent: list[dict] = []
    waiting = list(received)

    async def receive() -> dict:
        return waiting.pop(0) if waiting else {"type": f"{scope['type']}.disconnect", "code": 1000}

    async def send(message: dict) -> None:
        sent.append(message)

    asyncio.run(Guard(app or App(), addresses)(scope, receive, send))
    return sent


def status(
    path: str = "/",
    method: str = "GET",
    app=None,
    addresses: Addresses = ADDRESSES,
    **headers: str | None,
) -> int:
    """Return the status of the answer, 101 for an accepted WebSocket."""
    return answered(scope_of(path, method, **headers), app, addresses)[0].get("status", 101)


def sent_through(messages: list, path: str = STREAM) -> tuple[list[dict], list[dict]]:
    """Return the browser's messages that reach the app, and the messages sent to the browser."""
    app = App()
    received = [
        {"type": "websocket.receive", "text" if isinstance(data, str) else "bytes": data}
        for data in messages
    ]
    sent = answered(scope_of(path), app, received=received)
    return app.messages, sent


# --- hosts and origins ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8501", "127.0.0.1.evil.example", "localhost.evil.example"),
        *("127.0.0.1@evil.example", "192.168.1.5:8501", "", "a b", "127.0.0.1:8501/x"),
    ],
)
def test_unknown_host_is_refused_everywhere(host):
    app = App()
    for path in ("/", "/tune", "/served/js/main.js", "/_stcore/health", STREAM):
        sent = answered(scope_of(path, host=host, origin=f"http://{host}"), app)
        assert sent[0]["status"] in (400, 403)
        assert sent[1]["body"].count(b"\n") == 1, "one sentence"
    assert not app.requests


@pytest.mark.parametrize("host", [HOST, "localhost:9000", "LOCALHOST", "localhost.", "127.0.0.1"])
def test_own_hosts_are_accepted_on_any_port(host):
    assert status(host=host, origin=None) == 200


def test_request_needs_exactly_one_known_host():
    twice = scope_of()
    twice["headers"].append((b"host", b"evil.example"))
    assert answered(twice)[0]["status"] == 400
    assert status(host=None) == 400
    _, body = answered(scope_of(host="classroom.example:80"))
    assert b"--server.allowedHosts classroom.example" in body["body"]


@pytest.mark.parametrize(
    "origin",
    [
        *("http://127.0.0.1:9999", "http://127.0.0.1"),  # another program on this computer
        *("http://localhost:8501", "https://127.0.0.1:8501"),  # this app, but another origin
        *("http://evil.example", "http://127.0.0.1:8501.evil.example", "http://127.0.0.1:85010"),
        *("chrome-extension://abc", "null", ""),
    ],
)
def test_foreign_origin_cannot_connect_or_write(origin):
    app = App()
    for path in (STREAM, "/live"):
        start, *_ = answered(scope_of(path, origin=origin), app)
        assert (start["type"], start["status"]) == ("websocket.http.response.start", 403)
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        assert status("/anything", method, app, origin=origin) == 403
    assert not app.requests, "refused before Streamlit, which would look the address up outside"


def test_missing_or_repeated_origin_is_refused():
    assert status(STREAM, origin=None) == status("/anything", "POST", origin=None) == 403
    twice = scope_of(STREAM)
    twice["headers"].append((b"origin", b"http://evil.example"))
    assert answered(twice)[0]["status"] == 403


def test_foreign_handshake_is_closed_without_response_support():
    scope = scope_of(STREAM, origin="http://evil.example") | {"extensions": None}
    assert answered(scope) == [{"type": "websocket.close", "code": 1008, "reason": ""}]


def test_address_gets_half_the_sockets_and_frees_them(monkeypatch):
    monkeypatch.setattr("ui.server.guard.MOST_SOCKETS", 4)

    async def statuses() -> list:
        end, sent = asyncio.Event(), []

        async def app(scope, receive, send) -> None:
            await send({"type": "websocket.accept"})
            await end.wait()

        guard = Guard(app, ADDRESSES)

        async def connect(address: str, path: str = STREAM) -> None:
            async def send(message: dict) -> None:
                if not message["type"].endswith("body"):
                    sent.append(message.get("status", "in"))

            scope = scope_of(path, accept="text/html,*/*") | {"client": (address, 1)}
            await guard(scope, None, send)

        async with asyncio.TaskGroup() as opened:
            for address in ("203.0.113.9",) * 3 + ("198.51.100.7",):
                opened.create_task(connect(address))
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            await connect("203.0.113.9", "/")
            end.set()
        await connect("203.0.113.9")
        await connect("203.0.113.9", "/")
        return sent

    assert asyncio.run(statuses()) == ["in", "in", 503, "in", 503, "in", "in"]


@pytest.mark.parametrize(
    ("host", "origin", "scheme"),
    [
        (HOST, OWN, "http"),
        ("localhost:9000", "http://localhost:9000", "http"),  # an SSH tunnel from a different port
        ("localhost", "http://localhost:80", "http"),
        ("localhost:443", "https://localhost", "https"),
        ("LocalHost:8501", "http://localhost:8501", "http"),
    ],
)
def test_own_pages_may_connect_and_write(host, origin, scheme):
    addresses = Addresses(hosts=("127.0.0.1", "localhost"), scheme=scheme)
    own = {"addresses": addresses, "host": host, "origin": origin}
    assert (status(STREAM, **own), status("/x", "POST", **own)) == (101, 200)


def test_proxied_origin_is_accepted_only_if_configured():
    public = "https://classroom.example"
    forwarded = {"x_forwarded_proto": "https", "x_forwarded_host": "classroom.example"}
    assert status(STREAM, origin=public, **forwarded) == 403
    app, named = App(), Addresses(hosts=("127.0.0.1",), origins=(public,))
    assert status(STREAM, "GET", app, named, origin=public, **forwarded) == 101
    # Streamlit compares with the Host, and asks an outside service if they differ.
    assert app.origins == [OWN.encode()]
    for other in ("http://classroom.example", f"{public}:8443", "https://a.classroom.example"):
        assert status(STREAM, "GET", app, named, origin=other, **forwarded) == 403


def test_addresses_come_from_the_configuration(monkeypatch):
    options = {
        "server.allowedHosts": ["localhost", "*.school.example"],
        "server.corsAllowedOrigins": ["https://Classroom.example/"],
        "server.sslCertFile": None,
        "server.baseUrlPath": "/decode/",
        "server.address": "192.168.1.5",
    }
    monkeypatch.setattr("ui.server.addresses.config.get_option", options.__getitem__)
    found = Addresses.configured()
    assert found.base == "/decode"
    for host in ("localhost:1", "a.school.example", "192.168.1.5:8501"):
        assert found.has_host(host)
    for host in ("school.example", "192.168.1.6", "evil.example"):
        assert not found.has_host(host)
    assert found.has_origin("https://classroom.example", "localhost:8501")
    for everything in ("0.0.0.0", "::", None):
        options["server.address"] = everything
        assert not Addresses.configured().has_host("0.0.0.0:8501")
        assert not Addresses.configured().has_host("192.168.1.5:8501")
        assert Addresses.configured().has_host("127.0.0.1:8501"), "a look from the machine itself"
    options["server.address"] = "::1"
    assert Addresses.configured().has_host("[::1]:8501")


# --- served files ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        *("/_stcore", "/_stcore/metrics", "/_stcore/metrics/", "/_stcore/script-health-check"),
        *("/_stcore/upload_file/session/file", "/_stcore/allowed-message-origins"),
        *("/_stcore/agent/openapi.json", "/_stcore/agent/interact", "/_stcore/streams"),
        *("/component/a/b.js", "/auth/login", "/oauth2callback"),
    ],
)
def test_unneeded_paths_are_closed(path):
    app = App()
    for method in ("GET", "HEAD", "PUT", "POST"):
        assert status(path, method, app) == 404
    assert not app.requests


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/compare", "/authors", "/static/js/index.js", "/served/js-1/main.js"),
        *("/media/abc.csv", "/_stcore/health", "/_stcore/host-config"),
        "/_stcore/bidi-components/decoding.step/x.js",
    ],
)
def test_needed_paths_are_open(path):
    assert status(path, origin=None) == 200


def test_path_rules_hold_below_a_base_path():
    addresses = Addresses(hosts=("127.0.0.1",), base="/decode")
    assert status("/decode/_stcore/metrics", addresses=addresses) == 404
    assert status("/decode/_stcore/health", addresses=addresses) == 200


@pytest.mark.parametrize(
    "scope",
    [
        scope_of(),
        scope_of("/_stcore/metrics"),
        scope_of(host="evil.example"),
        scope_of(host="a'; script-src *"),
        scope_of(STREAM, origin="http://evil.example"),
    ],
)
def test_every_answer_has_the_security_headers(scope):
    headers = {name.decode(): value.decode() for name, value in answered(scope)[0]["headers"]}
    for name, value in HEADERS.items():
        assert headers[name.lower()] == value
    rules = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
    assert rules["frame-ancestors"] == rules["object-src"] == rules["base-uri"] == "'none'"
    assert rules["default-src"] == "'self'"
    assert "unsafe-inline" not in rules["script-src"]
    assert "'unsafe-eval'" not in rules["script-src"]
    assert "sha256-" in rules["script-src"], "the script in Streamlit's own page"
    assert "*" not in headers["content-security-policy"]


# --- messages to Streamlit ------------------------------------------------------------------------


def message(**kind) -> bytes:
    return BackMsg(**kind).SerializeToString()


def widgets(*states: dict) -> bytes:
    return message(rerun_script={"widget_states": {"widgets": states}})


def rerun(**widget) -> bytes:
    """Build a page's message after a field has changed."""
    message = BackMsg()
    message.rerun_script.query_string = "a=1"
    message.rerun_script.page_script_hash = "0" * 32
    message.rerun_script.context_info.timezone = "Europe/Berlin"
    message.rerun_script.widget_states.widgets.add(id="$$ID-1-text", **widget)
    return message.SerializeToString()


def operation(**kind) -> bytes:
    back = BackMsg()
    back.backend_operation_request.request_id = "r"
    back.backend_operation_request.session_id = "s"
    for name in kind:
        getattr(back.backend_operation_request, name).SetInParent()
    return back.SerializeToString()


GOOD = [
    rerun(string_value="w" * 20_000),
    rerun(string_value="🙂" * 20_000),
    rerun(trigger_value=True),
    rerun(double_value=0.5),
    rerun(json_trigger_value='{"event": "event", "value": {"kind": "step", "at": {"run": ""}}}'),
    rerun(json_value=json.dumps({"selection": {"points": [{"customdata": [1, 2]}] * 2_500}})),
    rerun(string_value=json.dumps({"selection": {"points": [{"customdata": [1]}] * 2_500}})),
    message(stop_script=True),
    message(app_heartbeat=True),
    operation(deferred_file=True),
]


def test_page_messages_pass_through_unchanged():
    taken, sent = sent_through(GOOD)
    assert [message["bytes"] for message in taken] == GOOD
    assert [message["type"] for message in sent].count("websocket.close") == 0
    assert [message["type"] for message in sent].count("websocket.send") == len(GOOD) + 1


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


DROPPED = {
    "the caches of all": message(clear_cache=True),
    "git history": message(load_git_info=True),
    "another way to run": message(set_run_on_save=True),
    "debugging": message(debug_shutdown_runtime=True),
    "debugging, too": message(debug_disconnect_websocket=True),
    "places for uploads": message(file_urls_request={"request_id": "1", "file_names": ["a"]}),
    "installs": operation(install_skills=True),
    "tables": operation(dataframe_chunk=True),
    "a thousand widgets": widgets(*({"id": str(n)} for n in range(1_000))),
    "many fields": widgets(*[{}] * 100_000),
    "many texts": rerun(string_array_value={"data": ["a"] * 5_000}),
    "many texts in many widgets": widgets(*[{"string_array_value": {"data": ["a"] * 100}}] * 400),
    "wide JSON in many widgets": widgets(*[{"json_value": "[" + "[]," * 100 + "[]]"}] * 400),
    "many events": rerun(json_trigger_value=json.dumps([{"event": "event"}] * 100_000)),
    "17 events": rerun(json_trigger_value=json.dumps([{"event": "event"}] * 17)),
    "deep JSON": rerun(json_trigger_value='{"event": ' + nested(900) + "}"),
    "deep JSON of a field": rerun(json_value=nested(33)),
    "deep JSON after texts": rerun(json_value='["\\\\", "]]]]", "\\"", ' + nested(33) + "]"),
    "deep JSON of a chart": rerun(string_value=" {" + '"a":[' * 30_000),
    "wide JSON": rerun(json_value="[" + "[]," * 60_000 + "[]]"),
    "a long name": widgets({"id": "w" * 2_000}),
    "a long address": message(rerun_script={"query_string": "q" * 100_000}),
    "a file": rerun(bytes_value=b"PK"),
    "a table": rerun(arrow_value={"data": b"x"}),
    "uploads": rerun(file_uploader_state_value={"uploaded_file_info": [{"file_id": "1"}]}),
}


@pytest.mark.parametrize("what", DROPPED)
def test_excessive_message_is_dropped_without_closing(what, caplog):
    bad, good = DROPPED[what], GOOD[0]
    with caplog.at_level(logging.WARNING):
        taken, sent = sent_through([good, bad, bad, bad, good])
    assert [message["bytes"] for message in taken] == [good, good]
    assert "websocket.close" not in [message["type"] for message in sent]
    assert len([r for r in caplog.records if "Left out" in r.getMessage()]) == 1, "logged once"


CLOSED = {
    "25 MB": (1009, b"x" * 25_000_000),
    "4 MiB and a byte": (1009, b"x" * (4 * 2**20 + 1)),
    "nothing": (1002, b""),
    "no message": (1002, b"\xff\xff\xff"),
    "cut short": (1002, GOOD[0][:-3]),
    "two messages": (1002, GOOD[2] + message(clear_cache=True)),
    "an old kind of field": (1002, b"\x5b\x5c"),
    "a text": (1002, "clear_cache"),
}


@pytest.mark.parametrize("what", CLOSED)
def test_invalid_frame_closes_the_connection(what):
    code, bad = CLOSED[what]
    taken, sent = sent_through([GOOD[0], bad, GOOD[0]])
    assert len(taken) == 1
    assert sent[-1]["type"] == "websocket.close", "and nothing is sent after that"
    assert (sent[-1]["code"], len(sent[-1]["reason"].encode()) <= 123) == (code, True)


@given(st.binary(max_size=30).map(lambda data: b'"' + data.replace(b"a", b'\\"')))
def test_json_string_is_skipped_whole_even_if_unterminated(data):
    # Otherwise an unterminated text would be scanned again from each of its quotation marks.
    found = frames._JSON.match(data)
    assert found is not None
    whole = found.end() == len(data)
    assert whole or data[found.end() - 1 : found.end()] == b'"'


def test_frame_check_stops_at_the_field_limit(monkeypatch):
    looked = [0]
    varint = frames._varint

    def counted(data, at):
        looked[0] += 1
        return varint(data, at)

    monkeypatch.setattr(frames, "_varint", counted)
    for what, bad in DROPPED.items():
        looked[0] = 0
        sent_through([bad])
        assert looked[0] <= 3 * frames.MOST_FIELDS, what


def test_live_channel_has_message_limits_too():
    taken, sent = sent_through(['{"kind": "step"}', '{"a": ' + nested(900) + "}"], "/live")
    assert len(taken) == 1
    assert "websocket.close" not in [message["type"] for message in sent]
    taken, sent = sent_through(["x" * (2**20 + 1)], "/live")
    assert not taken
    assert sent[-1]["code"] == 1009


# --- floods ---------------------------------------------------------------------------------------


def test_flood_closes_the_connection_but_clicking_does_not(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(sockets, "Bucket", lambda rate, brim: Bucket(rate, brim, lambda: now[0]))
    heartbeat = message(app_heartbeat=True)
    taken, sent = sent_through([heartbeat] * 10_000)
    assert len(taken) == 200
    assert sent[-1]["code"] == 1008

    class Person(App):
        async def __call__(self, scope, receive, send) -> None:
            async def later():
                now[0] += 1 / 15  # thirty clicks in two seconds, for minutes
                return await receive()

            await super().__call__(scope, later, send)

    received = [{"type": "websocket.receive", "bytes": heartbeat}] * 5_000
    app = Person()
    answered(scope_of(STREAM), app, received=received)
    assert len(app.messages) == 5_000


def test_many_large_messages_count_as_a_flood():
    novel = rerun(string_value="w" * (4 * 2**20 - 1_000))
    taken, sent = sent_through([novel] * 10)
    assert len(taken) == 2
    assert sent[-1]["code"] == 1008


def test_a_bucket_fills_up_to_its_brim():
    now = [0.0]
    bucket = Bucket(2, 10, lambda: now[0])
    assert bucket.take(10) and not bucket.take(1)
    now[0] = 1.0
    assert not bucket.take(3) and bucket.take(2)
    now[0] = 100.0
    assert not bucket.take(11) and bucket.take(10)
