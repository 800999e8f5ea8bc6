"""The visitor behind a connection, recorded when the connection is opened."""

from __future__ import annotations

import ipaddress
from contextvars import ContextVar
from dataclasses import dataclass

import streamlit as st
from starlette.datastructures import Headers
from starlette.types import Scope


@dataclass(frozen=True)
class Visitor:
    """The sender of a request: its IP address and its headers.

    Attributes:
        ip_address: address of the sender; ``unknown`` if the connection names none.
        headers: the headers of the request.
    """

    ip_address: str
    headers: Headers

    @classmethod
    def of(cls, scope: Scope) -> Visitor:
        """Return the visitor of an ASGI connection."""
        client = scope.get("client")
        return cls(client[0] if client else "unknown", Headers(scope=scope))


# Set by the guard for all code that a connection runs; unset in threads that Streamlit starts.
CONNECTED: ContextVar[Visitor | None] = ContextVar("connected", default=None)


def this_address() -> str:
    """Return the current visitor's address, in the form that shares are counted by.

    This is an IPv4 address, a household's IPv6 network, or ``localhost``; see `ui.server.shares`.
    Behind a proxy on this machine, uvicorn replaces the proxy's address with the visitor's. For
    proxies elsewhere, set FORWARDED_ALLOW_IPS.
    """
    visitor = CONNECTED.get()
    address = visitor.ip_address if visitor else st.context.ip_address  # None is this machine
    try:
        number = ipaddress.ip_address(address or "127.0.0.1")
    except ValueError:  # the name of a Unix socket
        return str(address)
    number = getattr(number, "ipv4_mapped", None) or number
    if number.is_loopback:
        return "localhost"
    return str(ipaddress.ip_network((number, 64 if number.version == 6 else 32), strict=False))
