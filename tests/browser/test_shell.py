"""What all pages stand in: the band with title, navigation and model; the policy of the guard."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.step_page import button, wait_for_scheme, wait_until
from tests.browser.test_guard import TRIED

OPENED = {"/": "Prompt", "/compare": "Prompt", "/tune": "Prompt 1"}
DESKTOP, PHONE = (1440, 900), (390, 844)
# Tune opens in the first and ends in the last, Compare begins halfway.
LOOKS = [(PHONE, "dark"), (PHONE, "light"), (DESKTOP, "light"), (DESKTOP, "dark")]

# Points of the band where something else than its own ground shows through.
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


@pytest.mark.parametrize("path", OPENED)
def test_under_its_policy_nothing_that_scrolls_shows_through_the_band(page: Page, app_url, path):
    """In both sizes and schemes; the accessibility tests open each page in the other one."""
    looks = [(size, scheme) for size, scheme in LOOKS if (path, size) != ("/", DESKTOP)]
    if path == "/compare":
        looks = looks[2:] + looks[:2]
    for size, scheme in looks:
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.emulate_media(color_scheme=scheme)
        if page.url == "about:blank":
            answer = page.goto(path)  # everything that the browser blocks fails the test
            expect(page.get_by_role("textbox", name=OPENED[path], exact=True)).to_be_visible()
            expect(page.locator(".js-plotly-plot").first).to_be_visible()
            assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
            address = app_url.replace("http:", "ws:") + "/_stcore/stream"
            assert page.evaluate(TRIED, address) == "open"
        wait_for_scheme(page, scheme)
        wait_until(page, "width => innerWidth === width", size[0])
        scroll = "() => { const e = document.querySelector('.stMain'); e.scrollTop = 260;"
        wait_until(page, f"{scroll} return e.scrollTop > 200; }}")
        main = page.get_by_test_id("stMain")
        assert main.evaluate("e => e.scrollWidth - e.clientWidth") <= 0
        seen = page.evaluate(SEEN_THROUGH)
        assert seen["top"] == 0
        assert 40 < seen["height"] < 80
        assert seen["bare"] == [], (size, scheme)
        if (path, size, scheme) == ("/compare", *LOOKS[2]):
            keys_reach_a_menu(page)

    if path == "/tune":  # and the navigation can be used after scrolling
        page.get_by_role("link", name="Compare", exact=True).click()
        expect(button(page, "Play")).to_be_visible()


def keys_reach_a_menu(page: Page) -> None:
    """A menu that a key opens has the focus; Escape gives it back."""
    menu = page.get_by_role("button", name="Decoders")
    menu.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Beam search", exact=True)).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Speculative", exact=True)).to_be_focused()
    page.keyboard.press("Escape")
    expect(menu).to_be_focused()
    expect(page.get_by_role("link", name="Speculative", exact=True)).to_have_count(0)
