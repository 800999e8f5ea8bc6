"""What all pages stand in: the band at the top, with title, navigation and model."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import ARTEFACTS

OPENED = {"/": "Prompt", "/compare": "Prompt", "/tune": "Prompt 1"}

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
@pytest.mark.parametrize(
    ("name", "width", "height", "scheme"),
    [
        ("desktop-light", 1440, 900, "light"),
        ("desktop-dark", 1440, 900, "dark"),
        ("phone-light", 390, 844, "light"),
        ("phone-dark", 390, 844, "dark"),
    ],
)
def test_nothing_that_scrolls_shows_through_the_band(page: Page, path, name, width, height, scheme):
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)
    page.goto(path)
    expect(page.get_by_role("textbox", name=OPENED[path], exact=True).first).to_be_visible()
    main = page.get_by_test_id("stMain")
    page.wait_for_function(
        "() => { const e = document.querySelector('.stMain'); e.scrollTop = 260;"
        " return e.scrollTop > 200; }"
    )
    assert main.evaluate("e => e.scrollWidth - e.clientWidth") <= 0
    seen = page.evaluate(SEEN_THROUGH)
    page.screenshot(path=ARTEFACTS / f"band-{path.strip('/') or 'step'}-{name}.png")
    assert seen["top"] == 0
    assert 40 < seen["height"] < 80
    assert seen["bare"] == []


def test_the_navigation_can_be_used_after_scrolling(page: Page):
    page.goto("/tune")
    expect(page.get_by_role("textbox", name="Prompt 1")).to_be_visible()
    page.get_by_test_id("stMain").evaluate("e => { e.scrollTop = 260; }")
    page.get_by_role("link", name="Compare", exact=True).click()
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
