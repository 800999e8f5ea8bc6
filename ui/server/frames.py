"""Checks on WebSocket frames from a browser, made before anything parses them.

Streamlit accepts frames of 25 MB with any number of events, lets any visitor clear everyone's
caches, and parses JSON as deep as Python's stack. This module walks a frame field by field, only as
far as needed to decide whether to pass it on. If the frame asks for too much, the walk ends.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates

MOST_WIDGETS = 500  # of a page; six columns of Compare have about 120
MOST_EVENTS = 16  # of one component in one message; they come one by one
MOST_FIELDS = 5_000  # of all messages within a frame; 500 widgets have 1,500
MOST_STATE = 64 * 2**10  # bytes of a rerun without its widgets: address, page, time zone
LONGEST_NAME = 1_024  # bytes of a widget's id
LONGEST_TEXT = 80_000  # bytes of a typed text: 20,000 characters of four bytes
DEEPEST = 32  # JSON: nesting depth of lists and objects
MOST_PARTS = 50_000  # JSON: strings, lists and objects in a frame; 2,000 biases are 2,000 lists

# The Streamlit messages that the pages need. The others clear caches, ask for the folder's git
# history, announce uploads, install software for editors or stop the server.
ALLOWED_MESSAGES = ("rerun_script", "stop_script", "app_heartbeat", "backend_operation_request")
ALLOWED_OPERATIONS = ("request_id", "session_id", "deferred_file")  # a download, made when asked
# No page accepts files, edited tables or chat.
ALLOWED_VALUES = (
    "id",
    "trigger_value",
    "bool_value",
    "double_value",
    "int_value",
    "string_value",
    "double_array_value",
    "int_array_value",
    "string_array_value",
    "json_value",
    "string_trigger_value",
    "json_trigger_value",
)


class RefusedFrame(Exception):
    """Error for a frame that is not passed on; the message gives the reason, for the log."""


class MalformedFrame(RefusedFrame):
    """A frame that no browser sends."""


@dataclass(frozen=True)
class Limits:
    """Limits on the traffic of one connection.

    Attributes:
        frame: bytes of one frame.
        frames, bytes: per second, on average.
        seconds: seconds' worth of both that may come in one burst.
    """

    frame: int
    frames: float
    bytes: float
    seconds: float


class Bucket:
    """A token bucket: an allowance that refills at a steady rate up to a brim.

    Args:
        rate: units per second.
        brim: its capacity; it starts full.
        clock: returns the time in seconds.
    """

    def __init__(
        self, rate: float, brim: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._brim, self._clock = rate, brim, clock
        self._held, self._at = brim, clock()

    def take(self, units: float) -> bool:
        """Take `units` and return True; if there are fewer, take nothing and return False."""
        now = self._clock()
        self._held = min(self._brim, self._held + (now - self._at) * self._rate)
        self._at = now
        if units > self._held:
            return False
        self._held -= units
        return True


# --- JSON -----------------------------------------------------------------------------------------

# A string without an end extends to the end of the data. Otherwise a new search would begin at
# every quotation mark in the string.
_JSON = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[{\]}]', re.DOTALL)


def check_json(data: bytes, most_events: int | None = None, most_parts: int = MOST_PARTS) -> int:
    """Refuse JSON that is too deep or has too many parts, without parsing it.

    Args:
        data: the text, in UTF-8.
        most_events: the most objects that a top-level list may contain; None for any number.
        most_parts: the most strings, lists and objects that it may contain.

    Returns:
        The number of parts, including the ends of lists and objects.

    Raises:
        RefusedFrame: too deep, too many parts or too many events.
    """
    depth = events = parts = 0
    for found in _JSON.finditer(data):
        parts += 1
        if parts > most_parts:
            raise RefusedFrame(f"JSON of more than {MOST_PARTS:,} parts")
        first = data[found.start()]
        if first in b"]}":
            depth -= 1
        elif first in b"[{":
            depth += 1
            events += depth == 2
            if depth > DEEPEST:
                raise RefusedFrame(f"JSON with more than {DEEPEST} levels")
            if most_events is not None and events > most_events and data.lstrip()[:1] == b"[":
                raise RefusedFrame(f"more than {most_events} events at once")
    return parts


# --- protocol buffers -----------------------------------------------------------------------------


def _numbers(descriptor) -> dict[str, int]:
    return {field.name: field.number for field in descriptor.fields}


_BACK = _numbers(BackMsg.DESCRIPTOR)
_CLIENT = _numbers(ClientState.DESCRIPTOR)
_WIDGET = _numbers(WidgetState.DESCRIPTOR)
_WIDGETS = _numbers(WidgetStates.DESCRIPTOR)["widgets"]
_OPERATION = _numbers(BackMsg.DESCRIPTOR.fields_by_name["backend_operation_request"].message_type)

_MESSAGES = {_BACK[name]: name for name in ALLOWED_MESSAGES}
_OPERATIONS = {_OPERATION[name] for name in ALLOWED_OPERATIONS}
_VALUES = {_WIDGET[name] for name in ALLOWED_VALUES}
_JSON_VALUES = {_WIDGET[name] for name in ("json_value", "json_trigger_value")}

_VARINT, _BYTES = 0, 2  # wire types
_WIDTHS = {1: 8, 5: 4}  # wire types of a fixed width, in bytes


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(10):
        if at + place >= len(data):
            break
        byte = data[at + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at + place + 1
    raise MalformedFrame("a number without an end")


class _Frame:
    """One message to Streamlit; all counts are over the whole message."""

    def __init__(self) -> None:
        self._fields_left = MOST_FIELDS
        self._parts_left = MOST_PARTS

    def _fields(self, data: bytes) -> Iterator[tuple[int, int | bytes]]:
        """Yield the number and the value of every field of a message.

        Raises:
            MalformedFrame: not a message.
            RefusedFrame: more fields than any page sends.
        """
        at = 0
        while at < len(data):
            self._fields_left -= 1
            if self._fields_left < 0:
                raise RefusedFrame(f"more than {MOST_FIELDS:,} fields")
            key, at = _varint(data, at)
            kind = key & 7
            if kind == _VARINT:
                value, at = _varint(data, at)
            else:
                if kind == _BYTES:
                    length, at = _varint(data, at)
                elif kind in _WIDTHS:
                    length = _WIDTHS[kind]
                else:
                    raise MalformedFrame(f"a field of the unknown kind {kind}")
                if at + length > len(data):
                    raise MalformedFrame("a field that is cut short")
                value, at = data[at : at + length], at + length
            yield key >> 3, value

    def _messages(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield fields as `_fields` does, of a message that may contain only texts and messages."""
        for number, value in self._fields(data):
            yield number, b"" if isinstance(value, int) else value

    def check(self, data: bytes) -> None:
        """Refuse a message that no page of this app sends."""
        messages = list(self._messages(data))
        if len(messages) != 1:
            raise MalformedFrame(f"{len(messages)} messages in one")
        ((number, content),) = messages
        name = _MESSAGES.get(number)
        if name is None:
            known = {number: name for name, number in _BACK.items()}
            raise RefusedFrame(f"{known.get(number, 'an unknown message')} is not for visitors")
        if name == "rerun_script":
            self._check_rerun(content)
        elif name == "backend_operation_request":
            for part, text in self._messages(content):
                if part not in _OPERATIONS or len(text) > LONGEST_NAME:
                    raise RefusedFrame("an operation that is not for visitors")

    def _check_rerun(self, data: bytes) -> None:
        widgets = others = 0
        for number, content in self._messages(data):
            if number != _CLIENT["widget_states"]:
                others += len(content)
                if others > MOST_STATE:
                    raise RefusedFrame(f"more than {MOST_STATE:,} bytes besides its widgets")
                continue
            for part, widget in self._messages(content):
                widgets += 1
                if part != _WIDGETS or widgets > MOST_WIDGETS:
                    raise RefusedFrame(f"more than {MOST_WIDGETS:,} widgets")
                self._check_widget(widget)

    def _check_widget(self, data: bytes) -> None:
        for number, value in self._fields(data):
            if number not in _VALUES:
                raise RefusedFrame("a widget of a kind that no page has")
            if isinstance(value, int):
                continue
            if number == _WIDGET["id"] and len(value) > LONGEST_NAME:
                raise RefusedFrame(f"a widget's name of more than {LONGEST_NAME:,} bytes")
            if number == _WIDGET["string_array_value"]:
                for _ in self._fields(value):  # iterating counts them
                    pass
            elif number in _JSON_VALUES:
                self._parts_left -= check_json(value, MOST_EVENTS, self._parts_left)
            elif len(value) > LONGEST_TEXT and value.lstrip()[:1] in (b"[", b"{"):
                # A chart's selection. A short text may well be a prompt, even if it looks so.
                self._parts_left -= check_json(value, most_parts=self._parts_left)


def check_back_msg(data: bytes) -> None:
    """Refuse a message to Streamlit that no page of this app sends.

    Args:
        data: a serialised `BackMsg`.

    Raises:
        MalformedFrame: not such a message.
        RefusedFrame: one that is not needed here, or one that asks for too much.
    """
    _Frame().check(data)
