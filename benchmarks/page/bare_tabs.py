"""The twin and the floor in a browser."""

from __future__ import annotations

from benchmarks.page.tab import Tab


class Twin(Tab):
    """The ordinary Streamlit page: it shows a step once all three charts do."""

    titles = (
        "[...document.querySelectorAll('.js-plotly-plot .gtitle')]"
        ".map(title => title.textContent.replace(/^[^,]*, /, ''))"
    )
    picture = (
        f"() => {{ const titles = {titles};"
        " return titles.length === 3 && new Set(titles).size === 1 ? titles[0] : ''; }"
    )
    first_chart = f"() => {titles}[0] ?? ''"
    round = "document.body.innerText.match(/round (\\d+)/)?.[1]"

    def open(self, tokens: int) -> None:
        """Open the text of the benchmark with `tokens` tokens generated."""
        self.page.goto(f"{self.url}/?tokens={tokens}")
        self.page.wait_for_function(self.picture)

    def steps(self, count: int) -> list[float]:
        """Measure milliseconds per press of Step, to the frame with all charts."""
        return [self.press(self.button("Step"), self.other_picture()) for _ in range(count)]

    def keys_pressed(self, count: int) -> list[float]:
        """Measure milliseconds per move of the temperature by an arrow key."""
        return self.keys(self.page.get_by_role("slider"), count, self.other_picture())

    def play(self, seconds: float) -> float:
        """Measure steps per second during Play, counting steps whose first chart was visible.

        All three charts of a step are seldom complete before the next step replaces them. The tab
        leaves the page at the end; `open` returns to it.
        """
        self.quiet()
        toggle = self.page.get_by_text("Play", exact=True)
        toggle.click()
        seen = f"benchmark.pictures_a_second({self.first_chart}, {seconds * 1e3})"
        rate = self.page.evaluate(seen)
        self.page.goto("about:blank")  # a button on a page that keeps moving is hard to press
        return rate

    def rounds(self, count: int) -> list[float]:
        """Measure milliseconds per empty round trip."""
        shown = f"(() => {{ const was = {self.round}; return () => {self.round} !== was; }})()"
        return [self.press(self.button("Nothing"), shown) for _ in range(count)]


class Floor(Tab):
    """The smallest page that takes the same step."""

    picture = "() => `${floor.drawn} ${floor.rounds}`"

    def open(self, tokens: int) -> None:
        """Open the text of the benchmark with `tokens` tokens generated."""
        self.page.goto(f"{self.url}/floor?tokens={tokens}")
        self.page.wait_for_function("() => floor.drawn > 0")

    def steps(self, count: int) -> list[float]:
        """Measure milliseconds per press of Step, to the frame with both charts."""
        return [self.press(self.button("Step"), self.other_picture()) for _ in range(count)]

    def rounds(self, count: int) -> list[float]:
        """Measure milliseconds per empty round trip."""
        return [self.press(self.button("Nothing"), self.other_picture()) for _ in range(count)]
