"""What all pages stand in: the band at the top, with title, navigation and model."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.step_page import button, wait_for_scheme, wait_until

OPENED = {"/": "Prompt", "/compare": "Prompt", "/tune": "Prompt 1"}
DESKTOP, PHONE = (1440, 900), (390, 844)
SCROLLS = [
    (path, size) for path in OPENED for size in (DESKTOP, PHONE) if (path, size) != ("/", DESKTOP)
]

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


@pytest.mark.parametrize(("path", "size"), SCROLLS, ids=str)
def test_nothing_that_scrolls_shows_through_the_band(page: Page, path, size):
    """In both schemes; a phone opens in the dark one and a desktop in the light one."""
    schemes = ["light", "dark"] if size == DESKTOP else ["dark", "light"]
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme=schemes[0])
    page.goto(path)
    expect(page.get_by_role("textbox", name=OPENED[path], exact=True)).to_be_visible()
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        wait_for_scheme(page, scheme)
        scroll = "() => { const e = document.querySelector('.stMain'); e.scrollTop = 260;"
        wait_until(page, f"{scroll} return e.scrollTop > 200; }}")
        main = page.get_by_test_id("stMain")
        assert main.evaluate("e => e.scrollWidth - e.clientWidth") <= 0
        seen = page.evaluate(SEEN_THROUGH)
        assert seen["top"] == 0
        assert 40 < seen["height"] < 80
        assert seen["bare"] == [], scheme


def test_the_navigation_can_be_used_after_scrolling(page: Page):
    page.goto("/tune")
    expect(page.get_by_role("textbox", name="Prompt 1")).to_be_visible()
    page.get_by_test_id("stMain").evaluate("e => { e.scrollTop = 260; }")
    page.get_by_role("link", name="Compare", exact=True).click()
    expect(button(page, "Play")).to_be_visible()
