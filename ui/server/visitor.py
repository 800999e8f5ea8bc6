"""The visitor at the other end of a connection, noted when it comes in."""

from __future__ import annotations

import ipaddress
from contextvars import ContextVar
from dataclasses import dataclass

import streamlit as st
from starlette.datastructures import Headers
from starlette.types import Scope


@dataclass(frozen=True)
class Visitor:
    """The visitor of a request, and its route as the headers give it.

    Attributes:
        ip_address: address of the sender; ``unknown`` if the connection names none.
        headers: the names of its headers, and their values.
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
    """Return the string that counts as one address, for shares (`ui.server.shares`).

    That is a number, a household's IPv6 network, or ``localhost``. Behind a proxy on this machine
    uvicorn replaces the proxy's address with the visitor's. For proxies elsewhere there is
    FORWARDED_ALLOW_IPS.
    """
    visitor = CONNECTED.get()
    address = visitor.ip_address if visitor else st.context.ip_address  # None is this machine
    try:
        number = ipaddress.ip_address(address or "127.0.0.1")
    except ValueError:  # a socket's name
        return str(address)
    number = getattr(number, "ipv4_mapped", None) or number
    if number.is_loopback:
        return "localhost"
    return str(ipaddress.ip_network((number, 64 if number.version == 6 else 32), strict=False))
