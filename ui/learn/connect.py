"""Step panels of lessons on the live channel: see `ui.step.connect`."""

from __future__ import annotations

from typing import Any

from ui.server.websocket import Channel, Connection
from ui.step.connect import wait_for_start


def open_lesson(connection: Connection, first: dict[str, Any]) -> Channel:
    """Open the channel of a panel that has just connected, once the server has started.

    Raises:
        Refused: the panel's first frame is malformed, or there is no room.
        Gone: the page has left.
    """
    wait_for_start(connection)
    from ui.learn.panel_channel import panel_channel

    return panel_channel(connection, first)
