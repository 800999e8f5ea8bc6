"""The live channel: a WebSocket between a page and its state on the server.

The first frame names the page and the visit. Every later one is an event, JSON text. Events of one
connection are answered in order, in a small pool of threads and never on the event loop. Answers
are binary: see `ui.step.message`. At any time, the server may also send

    {"kind": "busy", "what": "Reading the prompt", "done": 256, "total": 900, "behind": 2,
     "can_cancel": true}                 total may be null; behind: passes of others ahead of it
    {"kind": "busy", "what": ""}         it is over
    {"kind": "failed", "error": "..."}   nothing more will come

A `Channel` implements a page. This module does not depend on decoding.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any, NamedTuple, Protocol
from weakref import WeakValueDictionary

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from engine.errors import panics_as_errors
from ui.server.problems import AtMost, report
from ui.server.shares import ASKER, SharedPool
from ui.words.language import marked

LIVE = "/live"
LARGEST_FRAME = 512 * 2**10  # characters; a trace has at most 350,000
DEEPEST = 16  # nesting depth of lists and objects
MOST_WAITING = 64  # unanswered frames of one connection; then reading pauses
ROOM_SECONDS = 0.05  # between two checks for room
HELLO_SECONDS = 20.0  # that a new connection may stay silent
BUSY_SECONDS = 0.3  # of work, after which the page is told what it waits for
ALIVE_SECONDS = 5.0  # at most, between two messages during slow work
WORKING = marked("Working")
NO_THREAD = marked("Waiting for other visitors")
THREADS = 32  # at most half of them for one address
OPENERS = 128
FAILED_CODE = 1011
REFUSED_CODE = 1008
_log = logging.getLogger(__name__)
_log.addFilter(AtMost(30))

_pool = SharedPool(THREADS, "live")
# One lock per visit. Events of one visit are done one after another anyway, so one that waits for
# others of its visit must not occupy a thread.
_turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
# Opening a page may wait minutes for a model, and must not keep others from stepping.
_openers = SharedPool(OPENERS, "opening")


class BadFrame(Exception):
    """Error for data that is not an event; the message gives the reason."""


class Gone(Exception):
    """Raised if the page has left, so that its work need not be finished."""


class Refused(Exception):
    """Raised for a connection that cannot be served; the message is for the person at the page."""


class Activity(NamedTuple):
    """Slow work in progress, as a page reports it.

    Attributes:
        what: its name, such as "Reading the prompt"; empty once it is over.
        done: the amount done.
        total: the total amount; None if unknown.
        behind: number of other visitors' passes that go first; 0 if it has its turn.
    """

    what: str
    done: int = 0
    total: int | None = None
    behind: int = 0


class Connection:
    """A connected page, as its channel sees it.

    Attributes:
        activity: the work in progress; None if there is nothing to report. The page is told if
            it takes long.
        can_cancel: whether the page may cancel it; the channel defines how.
        is_open: whether the page is still there.
        waiting: frames received but not yet answered, except the one being handled.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self.activity: Activity | None = None
        self.can_cancel = False
        self.is_open = True
        self.waiting: list[dict[str, Any]] = []
        self._wake = wake

    def wake(self) -> None:
        """Request a call of `Channel.update`, from any thread."""
        if self.is_open:
            self._wake()


class Channel(Protocol):
    """The handler of a page's connection; called one method at a time, never on the event loop."""

    def hello(self) -> list[bytes]:
        """Return the messages for a page that has just connected."""

    def answer(self, data: dict[str, Any]) -> list[bytes]:
        """Return the answer to an event."""

    def update(self) -> list[bytes]:
        """Return the changes that no event caused; called after `Connection.wake`."""

    def close(self) -> None:
        """Close the channel: the page has gone."""


Opener = Callable[[Connection, dict[str, Any]], Channel]


def live_route(pages: Mapping[str, Opener], path: str = LIVE) -> WebSocketRoute:
    """Return the route of the live channel.

    Args:
        pages: by name, the function that makes a channel from a connection and its first frame. It
            is called in a thread, may take long, and raises `Refused` if there can be none.
        path: address of the channel.
    """

    async def serve(socket: WebSocket) -> None:
        await _Served(socket, pages).serve()

    return WebSocketRoute(path, serve)


def live_address(path: str = LIVE) -> str:
    """Return the path at which a browser finds the live channel."""
    from streamlit import config

    base = (config.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}{path}" if base else path


def parsed(text: str | None) -> dict[str, Any]:
    """Parse the JSON object in a frame.

    Raises:
        BadFrame: not text, too large, not JSON, too deep, or not an object.
    """
    if text is None:
        raise BadFrame("It is not text.")
    if len(text) > LARGEST_FRAME:
        raise BadFrame(f"It has {len(text):,} characters, more than {LARGEST_FRAME:,}.")
    try:
        data = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise BadFrame(f"It is no JSON: {type(error).__name__}.") from error
    if not isinstance(data, dict):
        raise BadFrame("It is not an object.")
    _check_depth(data)
    return data


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _check_depth(data: object) -> None:
    level: list[Any] = [data]
    for _ in range(DEEPEST):
        level = [
            item
            for container in level
            for item in (container.values() if isinstance(container, dict) else container)
            if isinstance(item, (dict, list))
        ]
        if not level:
            return
    raise BadFrame(f"It has more than {DEEPEST} levels.")


class _Served:
    """One connection, from its first frame to its end."""

    def __init__(self, socket: WebSocket, pages: Mapping[str, Opener]) -> None:
        self._socket = socket
        self._pages = pages
        self._loop = asyncio.get_running_loop()
        self._frames: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()  # None: an update
        self._has_update = False
        self._turn = asyncio.Lock()
        self._connection = Connection(self._wake)

    def _wake(self) -> None:
        with contextlib.suppress(RuntimeError):  # the server is shutting down, and its loop with it
            self._loop.call_soon_threadsafe(self._ask_for_update)

    def _ask_for_update(self) -> None:
        if not self._has_update:
            self._has_update = True
            self._frames.put_nowait(None)

    async def serve(self) -> None:
        await self._socket.accept()
        channel: Channel | None = None
        reader: asyncio.Task | None = None
        try:
            first = parsed(await asyncio.wait_for(self._received(), HELLO_SECONDS))
            opener = self._pages.get(str(first.get("page")))
            if first.get("kind") != "hello" or opener is None:
                raise BadFrame("It is not the hello of a known page.")
            if isinstance(first.get("visit"), str):
                self._turn = _turns.setdefault(first["visit"], self._turn)
            ASKER.set(self._turn)
            reader = asyncio.create_task(self._read())
            channel = await self._watched(_openers, opener, self._connection, first)
            await self._send(await self._watched(_openers, channel.hello))
            await self._answer_all(channel)
        except (TimeoutError, WebSocketDisconnect, Gone):
            pass
        except BadFrame as error:
            _log.warning("A live connection was refused: %s", error)
            await self._close(REFUSED_CODE, "")
        except Refused as error:
            await self._fail(str(error))
        except Exception as error:
            await self._fail(report(error, "opening the page"))
        finally:
            self._connection.is_open = False
            if reader is not None:
                reader.cancel()
            if channel is not None:
                await asyncio.shield(self._loop.run_in_executor(_pool, _closed, channel))
            await self._close(1000, "")

    # --- in ---------------------------------------------------------------------------------------

    async def _received(self) -> str | None:
        """Receive the text of the next frame; None if it is binary."""
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1000))
        return message.get("text")

    async def _read(self) -> None:
        """Read frames as they arrive, so that a page that leaves is noticed at once."""
        try:
            while True:
                text = await self._received()
                large = text is not None and len(text) > LARGEST_FRAME // 16
                data = await asyncio.to_thread(parsed, text) if large else parsed(text)
                while self._frames.qsize() >= MOST_WAITING:
                    await asyncio.sleep(ROOM_SECONDS)
                self._connection.waiting.append(data)
                self._frames.put_nowait(data)
        except BadFrame as error:
            _log.warning("A live connection was closed: %s", error)
            await self._close(REFUSED_CODE, "")
        except (WebSocketDisconnect, RuntimeError):  # RuntimeError: Starlette's, after the end
            pass
        finally:
            self._connection.is_open = False
            self._frames.put_nowait(None)

    async def _answer_all(self, channel: Channel) -> None:
        while True:
            data = await self._frames.get()
            if not self._connection.is_open:
                raise Gone
            if data is None:
                self._has_update = False
                await self._send(await self._watched(_pool, channel.update))
                continue
            self._connection.waiting.pop(0)
            await self._send(await self._watched(_pool, channel.answer, data))

    # --- out --------------------------------------------------------------------------------------

    async def _watched(
        self, pool: SharedPool, function: Callable[..., Any], *arguments: object
    ) -> Any:
        """Run a function in a thread and return its result; if it is slow, tell the page why."""
        connection = self._connection
        asked: Future | None = None

        async def done_in_turn() -> Any:
            nonlocal asked
            async with self._turn if pool is _pool else contextlib.nullcontext():
                connection.activity = None
                # The thread gets this connection's context, such as its visitor.
                asked = pool.submit(copy_context().run, function, *arguments)
                return await asyncio.wrap_future(asked)

        work = asyncio.ensure_future(done_in_turn())
        told: Activity | None = None
        told_at = self._loop.time()
        while True:
            done, _ = await asyncio.wait({work}, timeout=BUSY_SECONDS)
            if done:
                break
            has_thread = asked is None or asked.running() or asked.done()
            activity = connection.activity if has_thread else Activity(NO_THREAD)
            now = self._loop.time()
            if now - told_at >= ALIVE_SECONDS:  # otherwise the page takes the connection for dead
                activity = activity or Activity(WORKING)
            elif activity == told:
                continue
            if activity is not None:
                told, told_at = activity, now
                await self._send([_busy(activity, can_cancel=connection.can_cancel)])
        if told is not None:
            await self._send([_busy(Activity(""), can_cancel=False)])
        with panics_as_errors():
            return work.result()

    async def _send(self, messages: list[bytes]) -> None:
        for message in messages:
            if not self._connection.is_open:
                return
            try:
                await self._socket.send_bytes(message)
            except (WebSocketDisconnect, RuntimeError):
                self._connection.is_open = False

    async def _fail(self, sentence: str) -> None:
        await self._send([_packed({"kind": "failed", "error": sentence})])
        await self._close(FAILED_CODE, "")

    async def _close(self, code: int, reason: str) -> None:
        if self._socket.application_state is WebSocketState.DISCONNECTED:
            return
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            await self._socket.close(code, reason)


def _closed(channel: Channel) -> None:
    try:
        channel.close()
    except Exception:
        _log.exception("A page could not be closed")


def _busy(activity: Activity, *, can_cancel: bool) -> bytes:
    return _packed({"kind": "busy", **activity._asdict(), "can_cancel": can_cancel})


def _packed(header: dict[str, Any]) -> bytes:
    data = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    data += b" " * (-len(data) % 4)
    return len(data).to_bytes(4, "little") + data
