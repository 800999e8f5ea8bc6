"""The decoder pages and the cache page in Chromium: keys, looks, axe's rules, what is too wide."""

import re

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
def test_keys_and_looks(page: Page, path):
    """In two looks each, so that the pages together take all four; opened once."""
    place = PATHS.index(path) % 2
    for size, scheme in LOOKS[place::2]:  # a desktop and a phone, one light and one dark
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
