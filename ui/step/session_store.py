"""Sessions by their secret token, so that a reloaded page finds its text again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from ui.step.session import Session

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

    def use(self, session: Session, connection: str) -> Session:
        """The session for this connection to go on with: itself, or a copy if another one uses it.

        The one unused for longest is forgotten.
        """
        with self._lock:
            _, owner = self._kept.get(session.token, (session, connection))
            if owner != connection and self._is_connected(owner):
                session = session.copy()
            self._kept[session.token] = (session, connection)
            self._kept.move_to_end(session.token)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return session

    def resume(self, token: str, connection: str, instead_of: Session) -> Session | None:
        """The session of that token, None if it is gone.

        Args:
            token: what the page remembers.
            connection: who asks.
            instead_of: what this connection had till now; it is forgotten.
        """
        with self._lock:
            session, _ = self._kept.get(token, (None, ""))
            if session is None:
                return None
            self._kept.pop(instead_of.token, None)
        return self.use(session, connection)
