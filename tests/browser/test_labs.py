"""The decoder pages and the cache page in Chromium: keys, looks, axe's rules, what is too wide."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.rules import LOOKS, broken_rules, look_at, wait_for_look
from tests.browser.step_page import wait_until
from ui.skeleton.page import DECODERS

PATHS = [*(file.removeprefix("pages").removesuffix(".py") for file in DECODERS), "/cache"]
WITHOUT_STEPS = ("/one_clock", "/cache")
RUNS_MS = 240_000  # on a machine that does other things as well
SAID = "[class*=_transport] [data-testid=stCaptionContainer]"


@pytest.mark.parametrize("path", PATHS)
def test_keys_and_looks(page: Page, path, tmp_path):
    """In all four looks, opened once."""
    for size, scheme in LOOKS:
        look_at(page, size, scheme)
        if page.url == "about:blank":
            page.goto(path)
            expect(page.get_by_role("textbox").first).to_be_visible()
            expect(page.locator(".js-plotly-plot").first).to_be_visible(timeout=RUNS_MS)
            expect(page.get_by_role("button", name="Cancel")).to_have_count(0, timeout=RUNS_MS)
        wait_for_look(page, size, scheme)
        wide = "e => e.scrollWidth - e.clientWidth"
        wait_until(page, f"() => ({wide})(document.querySelector('.stMain')) <= 0")
        assert broken_rules(page) == [], (size, scheme)
    if path not in WITHOUT_STEPS:
        keys_step_play_and_rewind(page)
    if path == "/beam":
        a_saved_trace_opens(page, tmp_path)


def keys_step_play_and_rewind(page: Page) -> None:
    page.get_by_role("button", name="Rewind").click()
    wait_for_steps(page, 0)
    page.get_by_role("button", name="Rewind").evaluate("() => document.activeElement.blur()")
    for key, count in (("s", 1), ("s", 2), ("b", 1)):
        page.keyboard.press(key)
        wait_for_steps(page, count)
    page.keyboard.press("p")
    wait_until(page, "() => document.querySelector('[class*=_pause] button') !== null")
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.keyboard.press("0")
    wait_for_steps(page, 0)


def wait_for_steps(page: Page, count: int) -> None:
    """Until the transport says so many."""
    expect(page.locator(SAID)).to_have_text(re.compile(rf"^{count} "))


def a_saved_trace_opens(page: Page, folder: Path) -> None:
    """Read in the browser, handed over through the guard, made again by the model."""
    page.keyboard.press("s")
    wait_for_steps(page, 1)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Trace", exact=True).click()
    saved.value.save_as(folder / "trace.json")
    page.keyboard.press("0")
    wait_for_steps(page, 0)
    page.get_by_role("button", name="Open a trace").click()
    page.get_by_label("Trace file (JSON)").set_input_files(folder / "trace.json")
    expect(page.get_by_text("identical in all 1 step.")).to_be_visible(timeout=RUNS_MS)
    wait_for_steps(page, 1)
    assert broken_rules(page) == [], "with the field of a trace open"
