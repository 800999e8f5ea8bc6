"""A newcomer's first visit: the tour of the step page, and terms that explain themselves."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.rules import NEW_SIZE, PHONE, broken_rules, look_at, wait_for_look
from tests.browser.step_page import button, generated, settle, slider, wait_until

PROJECTOR = (1280, 720)
POINTED = "[data-pointed]"
# Points of the tour's current target that are covered or out of sight.
COVERED = """
() => {
  const target = document.querySelector('[data-pointed]');
  const { left, right, top, bottom } = target.getBoundingClientRect();
  const covered = [];
  for (const across of [0.1, 0.5, 0.9]) for (const down of [0.1, 0.5, 0.9]) {
    const [x, y] = [left + across * (right - left), top + down * (bottom - top)];
    const found = document.elementFromPoint(x, y);
    if (!target.contains(found)) covered.push([Math.round(x), Math.round(y), found?.className]);
  }
  return covered;
}
"""
PAINTED = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))"
TERM_AT = """
word => {
  const range = [...CSS.highlights.get('dv-terms')].find(range => `${range}` === word);
  const { left, top, width, height } = range.getBoundingClientRect();
  return [left + width / 2, top + height / 2];
}
"""


def line(page: Page) -> Locator:
    return page.locator("[data-part=line] .dv-said")


def stop(page: Page, says: str, target: str) -> None:
    """Wait for a stop of the tour; its target must be in sight and uncovered."""
    expect(line(page)).to_contain_text(re.compile(says))
    expect(page.locator(POINTED)).to_have_count(1)
    assert page.locator(POINTED).evaluate("(node, selector) => node.matches(selector)", target)
    settle(page)
    wait_until(page, f"() => !({COVERED})().length")


def walk(page: Page) -> None:
    """Take the whole tour by keyboard, except for the slider's pointer."""
    stop(page, r"^1 of 4\.", "[data-part=strip]")
    button(page, "Next").press("Enter")
    stop(page, r"^2 of 4\.", ".dv-go")
    expect(button(page, "Step")).to_be_focused()
    before = generated(page).count()
    page.keyboard.press("Enter")
    expect(generated(page)).to_have_count(before + 1)
    stop(page, r"^3 of 4\. .* was drawn: u = 0\.\d{4} fell into", "[data-part=table]")
    button(page, "Next").press("Enter")
    stop(page, r"^4 of 4\.", "[data-sampler=temperature]")
    expect(slider(page, "Temperature")).to_be_focused()
    page.keyboard.press("PageUp")
    stop(page, r"^What if: .* would have [\d.]+ %, not [\d.]+ %", "[data-part=picture]")


def test_tour_reaches_first_distribution_and_stays_closed(page: Page):
    look_at(page, PHONE, "light")
    page.goto("/#newcomer")
    expect(line(page)).to_contain_text("1 of 4.")
    assert broken_rules(page) == []
    walk(page)
    assert broken_rules(page) == []
    button(page, "End the tour").click()
    expect(page.locator(POINTED)).to_have_count(0)
    look_at(page, PROJECTOR, "dark")
    wait_for_look(page, PROJECTOR, "dark")
    page.locator("details.dv-settings summary").click()
    button(page, "Tour").click()
    walk(page)
    page.keyboard.press("Escape")
    expect(page.locator(POINTED)).to_have_count(0)
    page.reload()
    expect(generated(page)).to_have_count(2)
    expect(line(page)).not_to_contain_text("of 4.")


def test_terms_open_explanations_and_link_to_pages(page: Page):
    for size, scheme in NEW_SIZE:
        look_at(page, size, scheme)
        if page.url == "about:blank":
            page.goto("/how#entropy")
            expect(page.locator("#entropy")).to_be_focused()
            expect(page.locator(".katex").first).to_be_attached()
        wait_for_look(page, size, scheme)
        wide = "e => e.scrollWidth - e.clientWidth"
        wait_until(page, f"() => ({wide})(document.querySelector('.stMain')) <= 0")
        assert broken_rules(page) == [], (size, scheme)

    wait_until(page, f"() => ({TERM_AT})('tokenizer')[0] > 0")
    page.get_by_text("The tokenizer splits").scroll_into_view_if_needed()
    page.evaluate(PAINTED)  # the page has now seen the scroll, which hides an explanation
    page.mouse.move(*page.evaluate(TERM_AT, "tokenizer"))
    tip = page.get_by_role("tooltip")
    expect(tip).to_contain_text("The rule that splits a text into tokens")
    assert broken_rules(page, part="[role=tooltip]") == []
    page.keyboard.press("Escape")
    expect(tip).to_have_count(0)

    page.locator(".dv-terms summary").press("Enter")
    expect(page.get_by_role("term").filter(has_text="Tokenizer").first).to_be_visible()
    assert broken_rules(page, part=".dv-terms") == []
    page.get_by_role("link", name="Try it: Step, Logits").first.click()
    expect(button(page, "Step")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("searchbox", name="Search the glossary")).to_be_visible()
