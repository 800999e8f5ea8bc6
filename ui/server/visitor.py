"""The visitor at the other end of a connection, noted where it comes in."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import Scope


@dataclass(frozen=True)
class Visitor:
    """The visitor of a request, and the way it came, as its headers tell.

    Attributes:
        ip_address: of the machine that sent it; ``unknown`` if the connection names none.
        headers: the names of its headers, and their values.
    """

    ip_address: str
    headers: Headers

    @classmethod
    def of(cls, scope: Scope) -> Visitor:
        """Return the visitor of an ASGI connection."""
        client = scope.get("client")
        return cls(client[0] if client else "unknown", Headers(scope=scope))


# Set by the guard for whatever a connection runs; unset in threads that Streamlit starts.
CONNECTED: ContextVar[Visitor | None] = ContextVar("connected", default=None)
