"""Access control of the server: which requests it accepts, and what its pages may do.

The guard runs before Streamlit and before the app's own routes. A browser lets any page on the web
send requests to any address. The guard recognises pages from other ports and other host names by
the Host and Origin headers that the browser sets. It compares them exactly, without DNS look-ups.
"""

from __future__ import annotations

import logging
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path

import streamlit
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.server.addresses import Addresses, name_of
from ui.server.problems import AtMost
from ui.server.shares import Places
from ui.server.sockets import GuardedSocket
from ui.server.visitor import CONNECTED, Visitor, this_address

STREAM = "/_stcore/stream"
# Streamlit's own addresses that a page requests. Not needed: statistics on all visitors, uploads,
# the interface for other programs, log-in, components of an older kind.
OPEN = re.compile(r"/_stcore/(?:health|host-config|stream|bidi-components/.+)")
CLOSED = re.compile(r"/(?:_stcore|component|auth|oauth2callback)(?:/.*)?")

HEADERS = {
    "X-Frame-Options": "DENY",  # no other site may show this page in a frame and hijack clicks
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
POLICY = {  # Content-Security-Policy, except `script-src` and `connect-src`
    "default-src": "'self'",
    "style-src": "'self' 'unsafe-inline'",  # Streamlit and Plotly write styles into elements
    "img-src": "'self' data: blob:",  # images that Plotly saves
    "font-src": "'self' data:",
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}
LONGEST_SHOWN = 100  # characters shown of a request's own data
# WebSockets at once. A tab has three, so the limit on visits is reached first (`ui.visits.visits`).
# Many systems let a process open 1,024 files.
MOST_SOCKETS = 900
FULL = "Your address has its share of connections; close some tabs, or try again in a minute."

_log = logging.getLogger(__name__)
_log.addFilter(AtMost(30))


class Guard:
    """ASGI middleware that runs before everything else.

    Args:
        app: the app that it guards.
        addresses: where the app is served; None for the configured addresses.
    """

    def __init__(self, app: ASGIApp, addresses: Addresses | None = None) -> None:
        self._app = app
        self._addresses = addresses or Addresses.configured()
        self._sockets = Places(MOST_SOCKETS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        CONNECTED.set(Visitor.of(scope))
        headers = Headers(scope=scope)
        send = _with_headers(headers.get("host", ""), send)
        refused = self._refused(scope, headers)
        if refused is not None:
            await _refuse(*refused, scope, receive, send)
        elif scope["type"] == "websocket":
            await self._connect(scope, headers, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _connect(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        address = this_address()
        if not self._sockets.take(address):
            await _refuse(503, FULL, scope, receive, send)
            return
        try:
            is_stream = self._addresses.path(scope["path"]) == STREAM
            socket = GuardedSocket(scope["path"], is_stream, receive, send)
            await self._app(self._handed_on(scope, headers), socket.receive, socket.send)
        finally:
            self._sockets.leave(address)

    def _refused(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        """Return status and message if the request is refused; None if it is allowed."""
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        name = name_of(hosts[0]) if len(hosts) == 1 else None
        if name is None:
            return 400, "The request does not name one host; open the app by its address."
        if not self._addresses.has_host(hosts[0]):
            name = name[:LONGEST_SHOWN]
            return 403, (
                f"This app does not answer to the name {name}; the person who runs it can "
                f"add that name: --server.allowedHosts {name}"
            )
        only_reads = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        is_ours = len(origins) == 1 and self._addresses.has_origin(origins[0], hosts[0])
        if not only_reads and not is_ours:
            page = origins[0][:LONGEST_SHOWN] if origins else "unnamed"
            return 403, (
                f"Only pages of {self._addresses.origin(hosts[0])} may do this, not those of "
                f"{page!r}; open the app by its own address. If a proxy adds TLS, the person who "
                "runs the app names the public address: --server.corsAllowedOrigins https://..."
            )
        path = self._addresses.path(scope["path"])
        if CLOSED.fullmatch(path) and not OPEN.fullmatch(path):
            return 404, "There is nothing at this address; open the app itself."
        is_page = scope["type"] == "http" and "text/html" in headers.get("accept", "")
        if is_page and not self._sockets.has_room(this_address()):
            return 503, FULL  # otherwise the page would wait for its connection in silence
        return None

    def _handed_on(self, scope: Scope, headers: Headers) -> Scope:
        """Set the Origin to the request's own Host: Streamlit would look any other up outside."""
        own = self._addresses.origin(headers["host"]).encode("latin-1")
        kept = [(name, value) for name, value in scope["headers"] if name.lower() != b"origin"]
        return {**scope, "headers": [*kept, (b"origin", own)]}


async def _refuse(status: int, sentence: str, scope: Scope, receive: Receive, send: Send) -> None:
    _log.warning("Refused %.100r: %s", scope["path"], sentence)
    if scope["type"] == "http" or "websocket.http.response" in (scope.get("extensions") or {}):
        # Do not wait for the rest of the request.
        response = PlainTextResponse(sentence + "\n", status, {"Connection": "close"})
        await response(scope, receive, send)
    else:
        await send({"type": "websocket.close", "code": 1008, "reason": ""})


# --- what pages may do ----------------------------------------------------------------------------


def _with_headers(host: str, send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            headers = MutableHeaders(scope=message)
            headers.update(HEADERS)
            headers["Content-Security-Policy"] = policy(host)
        await send(message)

    return sent


def policy(host: str) -> str:
    """Return the Content-Security-Policy for pages of this host."""
    # Older Safari does not include WebSockets of the same host in 'self'.
    sockets = f" ws://{host} wss://{host}" if name_of(host) else ""
    rules = {
        **POLICY,
        # Streamlit loads the scripts of components as blobs, and parses its messages with
        # WebAssembly if it can.
        "script-src": f"'self' blob: 'wasm-unsafe-eval'{_inline_scripts()}",
        "connect-src": f"'self'{sockets}",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


@cache
def _inline_scripts() -> str:
    """Return the hashes of the inline scripts in Streamlit's page: no others may run."""
    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_text("utf-8")
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digests = (b64encode(sha256(script.encode()).digest()).decode() for script in scripts)
    return "".join(f" 'sha256-{digest}'" for digest in digests)
