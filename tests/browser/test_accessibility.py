"""Every page by axe-core's rules of WCAG 2 A and AA: light and dark, on a desktop and a phone."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.app_server import ROOT
from tests.browser.step_page import (
    FIVE_ON,
    button,
    opened,
    set_samplers,
    settle,
    take_steps,
    wait_for_scheme,
    wait_until,
)

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
# Of rules that are kept the results are not wanted: to collect them costs more than to find them.
RULES = {"runOnly": ["wcag2a", "wcag2aa"], "resultTypes": ["violations"]}
# What Streamlit itself draws, and no setting of ours can mend: rule, part of its HTML, why.
STREAMLIT: list[tuple[str, str, str]] = []

DESKTOP, PHONE = (1440, 900), (390, 844)
LOOKS = [(DESKTOP, "light"), (DESKTOP, "dark"), (PHONE, "dark"), (PHONE, "light")]


@pytest.fixture(scope="module")
def axe() -> str:
    if not AXE.is_file():
        pytest.fail(f"{AXE} is missing; `make test` installs it, `npm ci` does too", pytrace=False)
    return Path(AXE).read_text("utf-8")


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
def test_no_rule_is_broken(page: Page, axe: str, name, first):
    """In both sizes and schemes; `first` is the look in which the page opens."""
    looks = LOOKS[first:] + LOOKS[:first]
    for size, scheme in looks:
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        if page.url == "about:blank":
            PAGES[name](page)
        wait_until(page, "width => innerWidth === width", size[0])
        wait_for_scheme(page, scheme)
        assert broken_rules(page, axe) == [], (size, scheme)
        if (name, size, scheme) == ("step", DESKTOP, "light"):
            none_is_broken_in_a_menu(page, axe)


def none_is_broken_in_a_menu(page: Page, axe: str) -> None:
    for menu in ("Examples", "Settings"):
        summary = page.locator(f"summary:text-is('{menu}')")
        summary.click()
        assert broken_rules(page, axe) == [], menu
        summary.click()


def broken_rules(page: Page, axe: str) -> list[str]:
    """Each as rule, what is wrong, and where. The page's policy allows no script tag."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(axe)
    found = page.evaluate("async rules => (await axe.run(document, rules)).violations", RULES)
    return [
        f"{rule['id']}: {rule['help']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for rule in found
        for node in rule["nodes"]
        if not any(name == rule["id"] and part in node["html"] for name, part, _ in STREAMLIT)
    ]
