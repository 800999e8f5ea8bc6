"""Servers whose models the app may use: those of DECODING_SERVERS, and those that its owner types.

DECODING_SERVERS lists addresses, or TOML files, separated by commas. A file has a table for each
server, whose values are those of `engine.connect`:

    [[server]]
    address = "http://10.0.0.7:8080"
    key = "..."
    tokenizer = "path/to/folder"

A model's source is ``address``, or ``address#model`` if a server has several. Keys stay in this
process: they are never sent to a browser, logged or written to a trace.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import msgspec
from msgspec import structs

from engine import connect
from engine.backend import LISTED, SESSION_HEADER
from ui.words.language import say

if TYPE_CHECKING:
    from engine.backend import ServerModel

VARIABLE = "DECODING_SERVERS"
_typed: dict[str, Server] = {}
_settings: WeakKeyDictionary[ServerModel, Server] = WeakKeyDictionary()


class Server(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A server, as `engine.connect` takes it.

    Attributes:
        address: its address.
        kind: its kind, or ``auto``.
        key: the key that it asks for; empty for none.
        model: name of the model, if it has several; else empty.
        listed: most tokens to list per step.
        tokenizer: folder with the model's tokenizer; empty to use that of a llama.cpp server.
        session_header: name of the header by which a router keeps a text on one server.
    """

    address: str
    kind: str = "auto"
    key: str = ""
    model: str = ""
    listed: int = LISTED
    tokenizer: str = ""
    session_header: str = SESSION_HEADER

    @property
    def source(self) -> str:
        """The source of its model."""
        address = shortened(self.address)
        return f"{address}#{self.model}" if self.model else address

    def __repr__(self) -> str:
        return f"Server({self.address!r})"


class _File(msgspec.Struct, forbid_unknown_fields=True):
    server: list[Server] = []


def is_address(source: str) -> bool:
    """Return whether the source of a model is the address of a server."""
    return source.startswith(("http://", "https://"))


def shortened(address: str) -> str:
    """Return an address as models on it name their source: without ``/v1`` and a last slash."""
    return address.rstrip("/").removesuffix("/v1")


def parsed(source: str) -> Server:
    """Return the server that ``address`` or ``address#model`` names."""
    address, _, model = source.partition("#")
    return Server(shortened(address), model=model)


def named() -> dict[str, Server]:
    """Return the servers that DECODING_SERVERS names, by source, without unreadable files."""
    return _read(os.environ.get(VARIABLE, ""))[0]


def problem() -> str:
    """Return a sentence on entries of DECODING_SERVERS that cannot be read; else empty."""
    return " ".join(
        say(
            "{variable} names {entry}, which is neither an address nor a readable TOML file "
            "({reason}); correct it, then start the app again.",
            variable=VARIABLE,
            entry=entry,
            reason=reason,
        )
        for entry, reason in _read(os.environ.get(VARIABLE, ""))[1]
    )


def known(source: str) -> Server | None:
    """Return a server that the owner has named or typed, so that a record may name it."""
    return _typed.get(source) or named().get(source)


def is_current(model: ServerModel) -> bool:
    """Return whether a connection has the settings that the owner gave last."""
    return _settings.get(model) == _server(model.source)


def type_in(server: Server) -> None:
    """Remember a server that the owner typed, until the app ends."""
    _typed[server.source] = server


def connected(source: str) -> ServerModel:
    """Return the model of a server, with the key that was given for it.

    Raises:
        DecodingError: it cannot be reached or used (see `engine.connect`).
    """
    server = _server(source)
    model = connect(
        server.address,
        server.kind,
        key=server.key or None,
        model=server.model or None,
        listed=server.listed,
        tokenizer=server.tokenizer or None,
        session_header=server.session_header,
    )
    _settings[model] = server
    return model


def _server(source: str) -> Server:
    return known(source) or parsed(source)


@lru_cache(maxsize=4)
def _read(variable: str) -> tuple[dict[str, Server], list[tuple[str, str]]]:
    """Return the servers by source, and the entries that cannot be read, with reasons."""
    found, unreadable = {}, []
    for entry in filter(None, map(str.strip, variable.split(","))):
        try:
            listed = [parsed(entry)] if is_address(entry) else _in_file(Path(entry).expanduser())
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            unreadable.append((entry, str(error)))
            continue
        for server in listed:
            found[server.source] = structs.replace(server, address=shortened(server.address))
    return found, unreadable


def _in_file(file: Path) -> list[Server]:
    return msgspec.toml.decode(file.read_bytes(), type=_File).server
