"""A page in the browser: how it is pressed, and how long it takes until it has drawn."""

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
        picture: JavaScript, a function that says what is on screen as a string; empty while parts
            of it are missing.
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
        """Until nothing changes on screen any more; the tab comes to the front."""
        self.page.bring_to_front()  # else it draws once a second
        self.page.evaluate(f"benchmark.quiet({self.picture})")

    def watched(self, kinds: list[str], is_shown: str, act: Callable[[], Any]) -> float:
        """Milliseconds from the event that `act` brings about to the frame that shows its result.

        Args:
            kinds: of events that count as the press.
            is_shown: JavaScript, a function that tells it from what was there before.
            act: presses.
        """
        self.quiet()
        self.page.evaluate(f"benchmark.watch({json.dumps(kinds)}, {is_shown})")
        act()
        return self.page.evaluate("benchmark.watched")

    def press(self, button: Locator, is_shown: str) -> float:
        """Milliseconds from the press of a button to the frame that shows its result."""
        button.hover()
        return self.watched(["pointerdown"], is_shown, button.click)

    def button(self, name: str) -> Locator:
        """A button by the name that a screen reader says."""
        return self.page.get_by_role("button", name=name, exact=True)

    def other_picture(self) -> str:
        """JavaScript, a function: whether another whole picture is on screen than now."""
        return (
            f"(() => {{ const picture = {self.picture}; const before = picture();"
            " return () => picture() && picture() !== before; })()"
        )

    def keys(self, slider: Locator, count: int, is_shown: str) -> list[float]:
        """Milliseconds of each move of a slider by one place, with an arrow key."""
        slider.focus()
        return [
            self.watched(["keydown"], is_shown, lambda: self.page.keyboard.press("ArrowRight"))
            for _ in range(count)
        ]
