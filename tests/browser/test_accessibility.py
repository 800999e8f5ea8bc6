"""Every page by axe-core's rules of WCAG 2 A and AA: light and dark, on a desktop and a phone."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.rules import DESKTOP, LOOKS, broken_rules, look_at, wait_for_look
from tests.browser.step_page import (
    FIVE_ON,
    button,
    opened,
    set_samplers,
    settle,
    take_steps,
)


def step_page(page: Page) -> None:
    opened(page)
    set_samplers(page, **FIVE_ON)
    take_steps(page, 3)
    settle(page)


def compare_page(page: Page) -> None:
    page.goto("/compare")
    expect(page.get_by_role("textbox", name="Prompt", exact=True)).to_be_visible()
    expect(button(page, "Play")).to_be_enabled()
    expect(page.locator(".js-plotly-plot").first).to_be_visible()


def tune_page(page: Page) -> None:
    page.goto("/tune")
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    expect(button(page, "Cancel")).to_have_count(0)


PAGES = {"step": step_page, "compare": compare_page, "tune": tune_page}


@pytest.mark.parametrize(("name", "first"), [("step", 0), ("compare", 2), ("tune", 0)])
def test_no_rule_is_broken(page: Page, name, first):
    """In both sizes and schemes; `first` is the look in which the page opens."""
    looks = LOOKS[first:] + LOOKS[:first]
    for size, scheme in looks:
        look_at(page, size, scheme)
        if page.url == "about:blank":
            PAGES[name](page)
        wait_for_look(page, size, scheme)
        assert broken_rules(page) == [], (size, scheme)
        if (name, size, scheme) == ("step", DESKTOP, "light"):
            none_is_broken_in_a_menu(page)


def none_is_broken_in_a_menu(page: Page) -> None:
    for menu in ("Examples", "Settings", "Terms"):
        summary = page.locator(f"summary:text-is('{menu}')")
        summary.click()
        assert broken_rules(page) == [], menu
        summary.click()
