"""The claims page in Chromium: a claim is run and judged, axe's rules hold, nothing is too wide."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.rules import LOOKS, broken_rules, look_at, wait_for_look
from tests.browser.step_page import wait_until

RUNS_MS = 240_000  # on a busy machine
WIDE = "() => (e => e.scrollWidth - e.clientWidth)(document.querySelector('.stMain')) <= 0"


@pytest.mark.long
def test_a_claim_is_chosen_run_and_judged(page: Page):
    for size, scheme in LOOKS[::2]:  # a desktop and a phone
        look_at(page, size, scheme)
        if page.url == "about:blank":
            page.goto("/claims")
            page.get_by_role("radio", name="The tail is never zero").check(force=True)
            heading = page.get_by_role(
                "heading", name="The tail is never zero: any token may come."
            )
            expect(heading).to_be_visible()
            page.get_by_role("radio", name="It depends").click()
            page.get_by_role("button", name="Run", exact=True).click()
            expect(page.locator(".claim-verdict")).to_contain_text("You predicted that it depends.")
            expect(page.locator(".js-plotly-plot").first).to_be_visible(timeout=RUNS_MS)
        wait_for_look(page, size, scheme)
        wait_until(page, WIDE)
        assert broken_rules(page) == [], (size, scheme)
