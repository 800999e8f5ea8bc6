"""Incoming WebSocket messages, checked before they are passed on."""

from __future__ import annotations

import logging

from starlette.types import Message, Receive, Send

from ui.server.frames import (
    Bucket,
    Limits,
    MalformedFrame,
    RefusedFrame,
    check_back_msg,
    check_json,
)
from ui.server.problems import AtMost

# Limits for Streamlit's stream. A prompt has at most 20,000 characters, Tune has eight of them, and
# all fields come with each message: 640 kB at most. A whole novel pasted by mistake still comes
# through, so that the page can say how long a prompt may be. A person and the page's clocks send
# ten messages a second.
STREAM_LIMITS = Limits(frame=4 * 2**20, frames=25, bytes=2**20, seconds=8)
# Limits for the step page: Play asks for tokens as fast as they come.
OTHER_LIMITS = Limits(frame=2**20, frames=200, bytes=2**20, seconds=8)

_log = logging.getLogger(__name__)
_log.addFilter(AtMost(30))


class GuardedSocket:
    """One WebSocket connection, whose incoming messages are checked.

    A message that asks for too much is dropped, and the first one is logged. A message that no
    page sends closes the connection, and so does more traffic than any page causes.

    Args:
        path: the path of its address, for the log.
        is_stream: whether it is Streamlit's own stream.
        receive, send: the server's functions; the methods of the same names are for the app.
    """

    def __init__(self, path: str, is_stream: bool, receive: Receive, send: Send) -> None:
        self._path = path
        self._is_stream = is_stream
        self._receive, self._send = receive, send
        self._limits = limits = STREAM_LIMITS if is_stream else OTHER_LIMITS
        self._frames = Bucket(limits.frames, limits.frames * limits.seconds)
        self._bytes = Bucket(limits.bytes, limits.bytes * limits.seconds)
        self._has_dropped = self._is_closed = False

    async def receive(self) -> Message:
        """Return the next permitted message, or a disconnect if the connection was closed here."""
        while True:
            message = await self._receive()
            if message["type"] != "websocket.receive":
                return message
            data = message.get("bytes")
            is_text = data is None
            if is_text:
                data = (message.get("text") or "").encode("utf-8", "replace")
            size = len(data)
            if size > self._limits.frame:
                return await self._close(1009, f"a frame of {size:,} bytes")
            if not self._frames.take(1) or not self._bytes.take(size):
                return await self._close(1008, "more than a person and a page send")
            try:
                self._check(data, is_text)
            except MalformedFrame as error:
                return await self._close(1002, str(error))
            except RefusedFrame as error:
                if not self._has_dropped:
                    self._has_dropped = True
                    _log.warning("Left out a message to %s: %s", self._path, error)
                continue
            return message

    def _check(self, data: bytes, is_text: bool) -> None:
        if not self._is_stream:
            check_json(data)
        elif is_text:
            raise MalformedFrame("a text, where Streamlit sends bytes")
        else:
            check_back_msg(data)

    async def _close(self, code: int, reason: str) -> Message:
        _log.warning("Closed a connection to %s: %s", self._path, reason)
        self._is_closed = True
        await self._send({"type": "websocket.close", "code": code, "reason": reason})
        return {"type": "websocket.disconnect", "code": code, "reason": reason}

    async def send(self, message: Message) -> None:
        """Send a message, unless the connection was closed here."""
        if not self._is_closed:
            await self._send(message)
