"""HTTP requests to one server, with limits on time and size, and readable errors."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

import httpx2
import msgspec

from engine.errors import Message, RejectedError, ServerError, SettingError, msg

# A row of 200,000 tokens takes about 20 MB as JSON.
MOST_BYTES = 64_000_000
SESSION_HEADER = "X-Session-ID"  # as vllm-router has it
CONNECT_S, ANSWER_S = 5.0, 60.0
# A router answers 500 while the engine behind it is replaced, and a full server answers 429.
RETRY_S, PAUSE_S = 5.0, 0.2
_RETRIED = frozenset({429, 500, 502, 503, 504})
# The server would answer a different request.
_REJECTED = frozenset({400, 404, 405, 413, 422, 501})
_LONGEST_REASON = 200
_LONGEST_ERROR = 10_000
_KEY = re.compile(r"[\x21-\x7e]+")
_HEADER = re.compile(r"[A-Za-z0-9-]+")

T = TypeVar("T")


@dataclass(frozen=True)
class Answer(Generic[T]):
    """An answer to one request.

    Attributes:
        value: its content.
        ms: wall time from the request to the last byte, in milliseconds.
    """

    value: T
    ms: float


class Client:
    """Requests to one server; may be used from any thread.

    A request goes to that server alone: redirects are refused, and proxies named in the
    environment are not used.

    Args:
        address: such as ``http://127.0.0.1:8080``, with a path if the API has one.
        key: sent as a bearer token, and never part of a message or record.
        session_header: name of the header with a text's session, by which a router keeps it on one
            server.
        transport: replaces the network, for tests.

    Raises:
        SettingError: `address` is not an HTTP address, or `key` or `session_header` cannot be
            sent.
    """

    def __init__(
        self,
        address: str,
        *,
        key: str | None = None,
        session_header: str = SESSION_HEADER,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self.address = checked_address(address)
        self._key = _checked_key(key)
        self._session_header = _checked_header(session_header)
        self._http = httpx2.Client(
            headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
            timeout=httpx2.Timeout(ANSWER_S, connect=CONNECT_S),
            transport=transport,
            trust_env=False,
        )

    def get(self, path: str, kind: type[T]) -> Answer[T]:
        """Send a GET request; return the answer decoded as `kind`, or unchanged for `bytes`."""
        return self._ask("GET", path, kind, None, {})

    def post(
        self, path: str, body: Mapping[str, Any], kind: type[T], *, session: str = ""
    ) -> Answer[T]:
        """Send a POST request with a JSON body; return the answer decoded as `kind`.

        Args:
            path: path below the server's address.
            body: values for the body.
            kind: type of the answer, as msgspec decodes it.
            session: the text that it belongs to; empty for none.

        Raises:
            ServerError: no answer within the limits, or an answer that is not a `kind`.
        """
        headers = {self._session_header: session} if session else {}
        return self._ask("POST", path, kind, body, headers)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _ask(
        self,
        method: str,
        path: str,
        kind: type[T],
        body: Mapping[str, Any] | None,
        headers: Mapping[str, str],
    ) -> Answer[T]:
        until = time.monotonic() + RETRY_S
        while True:
            start = time.perf_counter()
            try:
                status, content = self._read(method, path, body, headers)
            except _RetriedError as error:
                if time.monotonic() < until:
                    time.sleep(PAUSE_S)
                    continue
                raise error.failure from error.__cause__
            ms = (time.perf_counter() - start) * 1e3
            if status in _RETRIED and time.monotonic() < until:
                time.sleep(PAUSE_S)
                continue
            self._check_status(status, content)
            return Answer(self._decoded(content, kind), ms)

    def _read(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        headers: Mapping[str, str],
    ) -> tuple[int, bytes]:
        """Return status and content; a broken connection raises `_RetriedError`."""
        content = None if body is None else msgspec.json.encode(body)
        given = {"Content-Type": "application/json", **headers} if body is not None else headers
        read, until = bytearray(), time.monotonic() + ANSWER_S
        try:
            with self._http.stream(
                method, self.address + path, content=content, headers=given
            ) as answer:
                if answer.is_redirect:
                    raise self._redirected(answer.headers.get("location", ""))
                for part in answer.iter_bytes():
                    read += part
                    if len(read) > MOST_BYTES:
                        raise ServerError(
                            "The answer of {server} is larger than {megabytes:,} MB; ask for fewer "
                            "tokens per step.",
                            (self.address, MOST_BYTES // 1_000_000),
                        )
                    if time.monotonic() > until:
                        raise self._late(ANSWER_S)
                return answer.status_code, bytes(read)
        except httpx2.TimeoutException as error:
            is_connecting = isinstance(error, httpx2.ConnectTimeout)
            raise self._late(CONNECT_S if is_connecting else ANSWER_S) from error
        except httpx2.DecodingError as error:
            raise self._unreadable(error) from error
        except httpx2.TransportError as error:
            raise _RetriedError(self._unreachable(error)) from error
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise self._unreachable(error) from error

    def _late(self, seconds: float) -> ServerError:
        return ServerError(
            "{server} has not answered within {seconds:,.0f} s; see whether it is overloaded, "
            "then try again.",
            (self.address, seconds),
        )

    def _unreachable(self, error: Exception) -> ServerError:
        return ServerError(
            "{server} cannot be reached ({reason}); start it, or correct its address.",
            (self.address, self._reason(str(error) or type(error).__name__)),
        )

    def _unreadable(self, error: Exception) -> ServerError:
        return ServerError(
            "{server} gave an unreadable answer ({reason}); check that its version is supported.",
            (self.address, self._reason(str(error))),
        )

    def _redirected(self, place: str) -> ServerError:
        try:
            host = urlsplit(place).hostname
        except ValueError:
            host = None
        return ServerError(
            "{server} redirects to {host}; give that address if you trust it.",
            (self.address, self._reason(host) if host else msg("another address")),
        )

    def _check_status(self, status: int, content: bytes) -> None:
        if status in (401, 403):
            raise ServerError(
                "{server} refuses the request ({status}); give the key that it expects.",
                (self.address, status),
            )
        if status == 404:
            raise RejectedError(
                "{server} has nothing at this path (404); give the address of the API.",
                self.address,
            )
        if status >= 400:
            said = msg(
                "{server} rejected the request ({status}): {reason}. The text is kept; try again.",
                (self.address, status, self._reason(_error_in(content[:_LONGEST_ERROR]))),
            )
            raise (RejectedError if status in _REJECTED else ServerError)(said)

    def _decoded(self, content: bytes, kind: type[T]) -> T:
        if kind is bytes:
            return content
        try:
            return msgspec.json.decode(content, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            if content.lstrip()[:1] == b"<":
                raise ServerError(
                    "{server} answered with a web page; give the address of the API, which often "
                    "has a port of its own.",
                    self.address,
                ) from error
            raise self._unreadable(error) from error

    def _reason(self, text: str) -> str:
        """Return the server's or the network's words on one short line, without the key."""
        if isinstance(text, Message):
            return text
        safe = text.replace(self._key, "…") if self._key else text
        return " ".join(safe.split())[:_LONGEST_REASON]


class _RetriedError(Exception):
    """A broken connection, which is retried; `failure` is the error to raise in the end."""

    def __init__(self, failure: ServerError) -> None:
        super().__init__(str(failure))
        self.failure = failure


def checked_address(address: str) -> str:
    """Return a server's address without a slash at its end.

    Raises:
        SettingError: it is not a plain HTTP address. The error leaves out what may be a password.
    """
    remedy = msg("give an address such as http://127.0.0.1:8080")
    try:
        parts = urlsplit(address)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_good = is_good and (parts.port is None or parts.port > 0)  # raises if out of range
    except ValueError:
        is_good = False
    if "@" in address:
        problem = msg("must not contain a name or a password")
        raise SettingError("address", "…", problem, msg("give the key separately"))
    if any(each in address for each in "?#"):
        raise SettingError("address", "…", "must end with its path", remedy)
    if not is_good:
        raise SettingError("address", address, "must be an HTTP address", remedy)
    return address.rstrip("/")


def _checked_key(key: str | None) -> str | None:
    stripped = (key or "").strip()
    if stripped and not _KEY.fullmatch(stripped):
        problem = msg("may contain only ASCII letters, digits and signs")
        raise SettingError("key", "…", problem, msg("copy it again"))
    return stripped or None


def _checked_header(name: str) -> str:
    if not isinstance(name, str) or not _HEADER.fullmatch(name):
        problem = msg("must be the name of a header")
        remedy = msg("use letters, digits and hyphens, as in X-Session-ID")
        raise SettingError("session_header", name, problem, remedy)
    return name


def _error_in(content: bytes) -> str:
    """Return the server's own words for an error, whatever the shape of its answer."""
    try:
        found: Any = msgspec.json.decode(content)
    except (msgspec.MsgspecError, RecursionError):
        return content.decode("utf-8", "replace") or msg("no reason given")
    for name in ("error", "message", "detail"):
        if isinstance(found, dict) and name in found:
            found = found[name]
    return found if isinstance(found, str) else str(found)
