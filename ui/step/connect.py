"""The step page on the live channel, before PyTorch is loaded: see `ui.step.channel`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ui.models.startup import START
from ui.server.websocket import Activity, Channel, Connection, Gone

if TYPE_CHECKING:
    from ui.step.channel import StepChannel


def channel_class() -> type[StepChannel]:
    """Return the channel's class; the first call imports it and all that it needs, PyTorch too."""
    from ui.step.channel import StepChannel

    return StepChannel


def open_step(connection: Connection, first: dict[str, Any]) -> Channel:
    """Open the channel of a page that has just connected, once the server has started.

    Raises:
        Refused: the page's first frame is malformed, or there is no room.
        Gone: the page has left.
    """
    wait_for_start(connection)
    return channel_class()(connection, first)


def wait_for_start(connection: Connection) -> None:
    """Wait until the server has started, and tell the page so; raises `Gone` if it leaves."""

    def told(activity: Activity | None) -> None:
        connection.activity = activity

    if not START.wait(told, lambda: connection.is_open):
        raise Gone
