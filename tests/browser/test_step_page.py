"""The step page as a visitor meets it; elements are found by the names a screen reader says."""

import re

from playwright.sync_api import Page, expect


def test_one_step_appends_one_token(page: Page):
    page.goto("/")
    expect(page).to_have_title(re.compile("Decoding Visualiser"))
    expect(page.get_by_role("textbox", name="Prompt", exact=True)).to_be_visible()
    step = page.get_by_role("button", name="Step", exact=True)
    expect(step).to_be_visible()
    tokens = page.get_by_role("list", name="Tokens", exact=True).get_by_role("listitem")
    expect(tokens.first).to_be_visible()  # the prompt's tokens are there before the first step
    before = tokens.all_inner_texts()

    step.click()

    expect(tokens).to_have_count(len(before) + 1)
    assert tokens.all_inner_texts()[: len(before)] == before, (
        "a step must not change earlier tokens"
    )
