"""Servers whose models the app may use: those of DECODING_SERVERS, and those that its owner types.

DECODING_SERVERS lists addresses, or TOML files, separated by commas. A file has a table for each
server, whose values are those of `engine.connect`:

    [[server]]
    address = "http://10.0.0.7:8080"
    key = "..."
    tokenizer = "path/to/folder"

Keys stay in this process: they are never sent to a browser, logged or written to a trace.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from engine import connect
from engine.backend import LISTED
from ui.words.language import say

if TYPE_CHECKING:
    from engine.backend import ServerModel

VARIABLE = "DECODING_SERVERS"
_typed: dict[str, Server] = {}


class Server(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A server, as `engine.connect` takes it.

    Attributes:
        address: its address.
        kind: its kind, or ``auto``.
        key: the key that it asks for; empty for none.
        model: name of the model, if it has several; else empty.
        listed: most tokens to list per step.
        tokenizer: folder with the model's tokenizer; empty to use that of a llama.cpp server.
    """

    address: str
    kind: str = "auto"
    key: str = ""
    model: str = ""
    listed: int = LISTED
    tokenizer: str = ""

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


def named() -> dict[str, Server]:
    """Return the servers that DECODING_SERVERS names, by address, without unreadable files."""
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


def known(address: str) -> Server | None:
    """Return a server that the owner has named or typed, so that a record may name it."""
    return _typed.get(address) or named().get(address)


def type_in(server: Server) -> None:
    """Remember a server that the owner typed, until the app ends."""
    _typed[shortened(server.address)] = server


def connected(address: str) -> ServerModel:
    """Return the model of a server, with the key that was given for it.

    Raises:
        DecodingError: it cannot be reached or used (see `engine.connect`).
    """
    server = known(address) or Server(address)
    return connect(
        server.address,
        server.kind,
        key=server.key or None,
        model=server.model or None,
        listed=server.listed,
        tokenizer=server.tokenizer or None,
    )


@lru_cache(maxsize=4)
def _read(variable: str) -> tuple[dict[str, Server], list[tuple[str, str]]]:
    """Return the servers by address, and the entries that cannot be read, with reasons."""
    found, unreadable = {}, []
    for entry in filter(None, map(str.strip, variable.split(","))):
        try:
            listed = [Server(entry)] if is_address(entry) else _in_file(Path(entry).expanduser())
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            unreadable.append((entry, str(error)))
            continue
        for server in listed:
            address = shortened(server.address)
            found[address] = structs.replace(server, address=address)
    return found, unreadable


def _in_file(file: Path) -> list[Server]:
    return msgspec.toml.decode(file.read_bytes(), type=_File).server
