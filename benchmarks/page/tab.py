"""A page in the browser: pressing its buttons, and timing its drawing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Locator, WebSocket

WATCH = Path(__file__).with_name("watch.js")
PATIENCE_MS = 300_000  # a thousand tokens on a busy machine


class Tab:
    """A page in the browser.

    Attributes:
        picture: a JavaScript function that returns the content of the screen as a string; empty
            while parts are missing.
    """

    picture = "() => ''"

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.page = context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.add_init_script(path=WATCH)
        self.url = url
        self.received = 0
        self.page.on("websocket", self._listen)

    def _listen(self, socket: WebSocket) -> None:
        def count(payload: str | bytes) -> None:
            self.received += len(payload)

        socket.on("framereceived", count)

    def quiet(self) -> None:
        """Bring the tab to the front, and wait until nothing changes on screen."""
        self.page.bring_to_front()  # a tab in the background draws once a second
        self.page.evaluate(f"benchmark.quiet({self.picture})")

    def watched(self, kinds: list[str], is_shown: str, act: Callable[[], Any]) -> float:
        """Return the milliseconds from the event triggered by `act` to the frame with its result.

        Args:
            kinds: types of events that count as the press.
            is_shown: a JavaScript function that detects the result by comparison with the earlier
                content.
            act: performs the press.
        """
        self.quiet()
        self.page.evaluate(f"benchmark.watch({json.dumps(kinds)}, {is_shown})")
        act()
        return self.page.evaluate("benchmark.watched")

    def press(self, button: Locator, is_shown: str) -> float:
        """Return the milliseconds from the press of a button to the frame with its result."""
        button.hover()
        return self.watched(["pointerdown"], is_shown, button.click)

    def button(self, name: str) -> Locator:
        """Return a button by the name that a screen reader reads."""
        return self.page.get_by_role("button", name=name, exact=True)

    def other_picture(self) -> str:
        """Return a JavaScript function: whether a new complete picture is on screen."""
        return (
            f"(() => {{ const picture = {self.picture}; const before = picture();"
            " return () => picture() && picture() !== before; })()"
        )

    def keys(self, slider: Locator, count: int, is_shown: str) -> list[float]:
        """Measure milliseconds per move of a slider by one place, with an arrow key."""
        slider.focus()
        return [
            self.watched(["keydown"], is_shown, lambda: self.page.keyboard.press("ArrowRight"))
            for _ in range(count)
        ]
