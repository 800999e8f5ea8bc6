"""A person chooses a language: pages speak it, the browser keeps it, and nothing is too wide."""

from playwright.sync_api import Page, expect

from tests.browser.step_page import button, force_buttons, opened, wait_until

SIZES = ((1280, 720), (390, 844))
IS_TOO_WIDE = (
    "() => { const e = document.querySelector('.stMain'); return e.scrollWidth > e.clientWidth; }"
)


def is_too_wide(page: Page) -> bool:
    """Return whether the page is too wide in any of the sizes; the last size stays."""
    found = False
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        wait_until(page, "width => innerWidth === width", width)
        found |= page.evaluate(IS_TOO_WIDE)
    return found


def test_chosen_language_carries_over_to_other_pages(page: Page):
    opened(page)
    page.set_viewport_size({"width": 390, "height": 844})
    button(page, "Menu").click()
    page.get_by_role("radiogroup", name="Language").get_by_text("Deutsch", exact=True).click()
    expect(button(page, "Schritt")).to_be_visible()
    expect(button(page, "Menü")).to_be_visible()
    expect(force_buttons(page)).to_have_count(0)  # the label is now "… erzwingen"
    page.keyboard.press("Escape")
    assert not is_too_wide(page)

    page.goto("/beam")  # a new document, which learns the language from the browser alone
    expect(page.get_by_role("button", name="Abspielen")).to_be_visible()  # the name has its key
    expect(page.locator("html")).to_have_attribute("lang", "de")
    assert not is_too_wide(page)
    button(page, "Menü").click()
    page.get_by_role("link", name="Schritt", exact=True).click()
    expect(button(page, "Schritt")).to_be_visible()
