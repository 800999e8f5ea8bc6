"""Every page by axe-core's rules, and the frame of all pages: the band, the guard's policy."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.rules import (
    DESKTOP,
    LOOKS,
    NEW_SIZE,
    broken_in_look,
    broken_rules,
    look_at,
    wait_for_look,
)
from tests.browser.sockets import opens_socket
from tests.browser.step_page import (
    FIVE_ON,
    button,
    cancel_run,
    force_buttons,
    set_samplers,
    settle,
    take_steps,
    wait_until,
)

# Points of the band where anything except its own ground shows through.
SEEN_THROUGH = """
() => {
  const band = document.querySelector('.st-key-header').parentElement;
  const box = band.getBoundingClientRect();
  const ground = getComputedStyle(document.querySelector('.stApp')).backgroundColor;
  const colour = element => getComputedStyle(element).backgroundColor;
  const bare = [];
  for (let x = 4; x < innerWidth - 20; x += 24) {
    for (let y = 2; y < box.bottom - 2; y += 6) {
      const found = document.elementsFromPoint(x, y)
        .find(element => !/^rgba\\(.*, 0\\)$|^transparent$/.test(colour(element)));
      const is_own = band.contains(found) && (found !== band || colour(found) === ground);
      if (!is_own && !found?.closest('header')) bare.push([x, y, found?.className]);
    }
  }
  return { top: box.top, height: box.height, bare };
}
"""


def step_page_is_ready(page: Page) -> None:
    expect(force_buttons(page).first).to_be_visible()
    set_samplers(page, **FIVE_ON)
    take_steps(page, 3)
    settle(page)


def compare_page_is_ready(page: Page) -> None:
    expect(button(page, "Play")).to_be_enabled()


def tune_page_is_ready(page: Page) -> None:
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    cancel_run(page)


READY = {
    "/": ("Prompt", step_page_is_ready),
    "/compare": ("Prompt", compare_page_is_ready),
    "/tune": ("Prompt 1", tune_page_is_ready),
}


@pytest.mark.parametrize(
    ("path", "looks"),
    [
        pytest.param("/", NEW_SIZE[::-1], id="some"),
        pytest.param("/", LOOKS[2:] + LOOKS[:2], id="/", marks=pytest.mark.long),
        pytest.param("/compare", NEW_SIZE[::-1], id="/compare", marks=pytest.mark.long),
        pytest.param("/tune", NEW_SIZE[::-1], id="/tune", marks=pytest.mark.long),
    ],
)
def test_page_passes_axe_and_scrolls_behind_band(page: Page, app_url, path, looks):
    """Test sizes and schemes, opened in the first; the pages' own tests open the other size."""
    for size, scheme in looks:
        look_at(page, size, scheme)
        if page.url == "about:blank":
            opens_under_its_policy(page, path, app_url)
        wait_for_look(page, size, scheme)
        assert broken_in_look(page, size, scheme) == [], (size, scheme)
        if (path, size, scheme) == ("/", DESKTOP, "light"):
            no_rule_is_broken_in_a_menu(page)
        if (path, size) != ("/", DESKTOP):  # the step page is one screen on a desktop
            nothing_that_scrolls_shows_through_the_band(page)
    keys_reach_a_menu(page)
    other = "Compare" if path == "/" else "Step"
    page.get_by_role("link", name=other, exact=True).click()  # after scrolling, too
    drawn = button(page, "Add column") if path == "/" else force_buttons(page).first
    expect(drawn).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    page.wait_for_timeout(1_000)  # a page that has just been drawn restores its own address
    # A press of Back that Streamlit has lost: the address has changed, the page has not.
    page.evaluate("() => history.pushState({}, '', '/tokens')")
    expect(page).to_have_title(re.compile("^Tokens"))


def opens_under_its_policy(page: Page, path: str, app_url: str) -> None:
    answer = page.goto(path)  # anything the browser blocks fails the test
    prompt, is_ready = READY[path]
    expect(page.get_by_role("textbox", name=prompt, exact=True)).to_be_visible()
    is_ready(page)
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    address = app_url.replace("http:", "ws:") + "/_stcore/stream"
    assert opens_socket(page, address)


def no_rule_is_broken_in_a_menu(page: Page) -> None:
    for menu in ("Examples", "Settings", "Glossary"):
        summary = page.locator(f"summary:text-is('{menu}')")
        summary.click()
        assert broken_rules(page, part="details[open]") == [], menu
        summary.click()


def nothing_that_scrolls_shows_through_the_band(page: Page) -> None:
    scroll = "() => { const e = document.querySelector('.stMain'); e.scrollTop = 260;"
    wait_until(page, f"{scroll} return e.scrollTop > 200; }}")
    main = page.get_by_test_id("stMain")
    assert main.evaluate("e => e.scrollWidth - e.clientWidth") <= 0
    seen = page.evaluate(SEEN_THROUGH)
    assert seen["top"] == 0
    assert 40 < seen["height"] < 80
    assert seen["bare"] == []
    main.evaluate("e => { e.scrollTop = 0; }")


def keys_reach_a_menu(page: Page) -> None:
    """Check that a menu opened by key has the focus, and that Escape returns it."""
    menu = page.get_by_role("button", name="Decoders")
    menu.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Beam search", exact=True)).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Speculative", exact=True)).to_be_focused()
    page.keyboard.press("Escape")
    expect(menu).to_be_focused()
    expect(page.get_by_role("link", name="Speculative", exact=True)).to_have_count(0)
