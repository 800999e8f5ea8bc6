"""Sessions by their secret token, so that a reloaded page finds its text again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from ui.session import Session

MOST_KEPT = 64  # caches have a budget of their own; what remains of an old session is small


class SessionStore:
    """The newest sessions of this server, each with the connection that uses it.

    Args:
        is_connected: whether a connection is still alive.
    """

    def __init__(self, is_connected: Callable[[str], bool]) -> None:
        self._is_connected = is_connected
        self._kept: OrderedDict[str, tuple[Session, str]] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, session: Session, connection: str) -> None:
        """Remember who uses a session; the one unused for longest is forgotten."""
        with self._lock:
            self._kept[session.token] = (session, connection)
            self._kept.move_to_end(session.token)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)

    def resume(self, token: str, connection: str) -> Session | None:
        """The session of that token: itself if nobody else uses it, else a copy; None if gone."""
        with self._lock:
            session, owner = self._kept.get(token, (None, ""))
        if session is None:
            return None
        if owner != connection and self._is_connected(owner):
            session = session.copy()
        self.keep(session, connection)
        return session
