"""Checks that the browser lets a page open a socket to its own server only."""

from playwright.sync_api import Page

_TRY = """address => new Promise(resolve => {
  const socket = new WebSocket(address);
  socket.onopen = () => resolve(true);
  socket.onerror = () => resolve(false);
})"""


def opens_socket(page: Page, address: str) -> bool:
    """Return whether a page gets a socket to an address, which begins with `ws:`."""
    return page.evaluate(_TRY, address)
