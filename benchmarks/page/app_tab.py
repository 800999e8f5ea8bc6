"""The step page of the app in a browser."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from playwright.sync_api import Locator

from benchmarks.page.tab import Tab
from benchmarks.page.texts import PROMPT, SETTINGS

DRAG_PX = 8  # distance of a slider's drag: at least one of its steps


class App(Tab):
    """The step page of the app."""

    own = "document.querySelector('.dv')?.decoding"
    picture = (
        f"() => {{ const own = {own}; return own && !own.actions.is_busy() ?"
        " `${own.draws} ${own.charts_drawn}` : ''; }"
    )
    is_usable = f"() => {own}?.state.row && {own}.charts_drawn > 0"

    def value(self, expression: str) -> Any:
        """Evaluate a JavaScript expression over `own`, the page as data."""
        return self.page.evaluate(f"(async () => {{ const own = {self.own}; {expression} }})()")

    def visit(self) -> None:
        """Open the page, and wait until it can be used."""
        self.page.goto(self.url)
        self.page.wait_for_function(self.is_usable)

    def begin(self) -> None:
        """Start the benchmark's text without a token, on a page that is already open."""
        order = json.dumps([name for name in SETTINGS if name != "seed"])
        settings = json.dumps(SETTINGS)
        self.value(f"own.actions.draft({{ prompt: '{PROMPT}' }}); await own.actions.start();")
        self.value(f"own.actions.set({{ ...{settings}, order: {order} }});")
        self.value("own.actions.show({ speed: 0 });")

    def run_to(self, tokens: int) -> float:
        """Return the tokens per second of Run to end until `tokens` tokens are on screen."""
        before = self.length
        self.value(f"await own.actions.limit({{ max_tokens: {tokens} }});")
        shown = (
            f"() => {self.own}.state.mode === 'paused' && !{self.own}.actions.is_busy()"
            f" && {self.own}.state.steps.length >= {tokens}"
        )
        taken = self.press(self.button("Run to end"), shown)
        self.value("await own.actions.limit({ max_tokens: 4000 });")
        return (self.length - before) * 1e3 / taken

    @property
    def length(self) -> int:
        """Number of generated tokens."""
        return self.value("return own.state.steps.length;")

    def engine_ms(self) -> list[float]:
        """Return the engine's own time for each step, in milliseconds."""
        return self.value("return own.state.steps.map(step => step.total_ms);")

    def steps(self, count: int) -> list[float]:
        """Time each press of Step, in ms, to the frame with token, table and both charts."""
        button = self.button("Step")
        return [self.press(button, self._drawn(longer=True)) for _ in range(count)]

    def _drawn(self, *, longer: bool) -> str:
        """Return JavaScript that detects a full redraw, for a longer text or one as long."""
        return (
            f"(() => {{ const own = {self.own}, {{ draws, charts_drawn }} = own;"
            f" const shown = () => Number(document.querySelector('.dv').dataset.length);"
            f" const length = shown() + {int(longer)};"
            " return () => own.draws > draws && own.charts_drawn > charts_drawn"
            " && shown() >= length; })()"
        )

    def keys_pressed(self, count: int) -> list[float]:
        """Measure milliseconds per move of the temperature by an arrow key."""
        slider = self._temperature()
        times = self.keys(slider, count, self._drawn(longer=False))
        slider.fill(str(SETTINGS["temperature"]))
        return times

    def drags(self, count: int) -> list[float]:
        """Measure milliseconds per move of the temperature by the pointer, to and fro."""
        slider = self._temperature()
        box = slider.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        mouse = self.page.mouse
        mouse.move(x, y)
        mouse.down()
        times = []
        for move in range(1, count + 1):
            place = x + DRAG_PX * (move % 2)
            act = partial(mouse.move, place, y)
            times.append(self.watched(["pointermove"], self._drawn(longer=False), act))
        mouse.up()
        slider.fill(str(SETTINGS["temperature"]))
        return times

    def _temperature(self) -> Locator:
        """Return the slider with its grip in the middle, after the whole row has arrived."""
        slider = self.page.get_by_role("slider", name="Temperature", exact=True)
        slider.hover()
        slider.fill("1")
        self.page.wait_for_function(f"() => !{self.own}.state.row.light")
        return slider

    def whole_row(self) -> int:
        """Measure bytes received for a step and for the whole row, which follows in idle time."""
        before = self.received
        self.steps(1)
        self.page.wait_for_function(f"() => !{self.own}.state.row.light")
        return self.received - before

    def play(self, seconds: float) -> tuple[float, float]:
        """Measure Play at full speed: tokens and redraws of the charts per second."""
        self.quiet()
        counts = "return [own.state.steps.length, own.charts_drawn, performance.now()];"
        self.button("Play").click()
        first = self.value(counts)
        self.page.wait_for_timeout(seconds * 1e3)
        last = self.value(counts)
        self.button("Pause").click()
        passed = (last[2] - first[2]) / 1e3
        return (last[0] - first[0]) / passed, (last[1] - first[1]) / passed
