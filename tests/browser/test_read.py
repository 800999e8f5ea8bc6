"""The page Read in a browser: tokens chosen, colours, rules of access, going on from a token."""

from playwright.sync_api import Page, expect

from tests.browser.rules import LOOKS, broken_in_look, look_at, wait_for_look
from tests.browser.step_page import state, wait_for


def test_text_is_read_chosen_from_and_continued(page: Page):
    page.goto("/read")
    tokens = page.get_by_role("listbox", name="Tokens of the text").get_by_role("option")
    expect(tokens).to_have_count(49)
    expect(page.get_by_role("heading", name="Token 45: ")).to_be_visible()
    tokens.nth(7).click()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("heading", name="Token 9: ")).to_be_visible()
    expect(tokens.nth(8)).to_be_focused()
    for look in LOOKS:
        look_at(page, *look)
        wait_for_look(page, *look)
        assert broken_in_look(page, *look) == [], look
    page.get_by_role("button", name="Go on from here").click()
    wait_for(page, "state.run && view")
    assert state(page, "state.prompt") == "Once upon a time, there was a little"
