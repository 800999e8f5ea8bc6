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
)

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
RULES = {"runOnly": ["wcag2a", "wcag2aa"]}
# What Streamlit itself draws, and no setting of ours can mend: rule, part of its HTML, why.
STREAMLIT: list[tuple[str, str, str]] = []

SIZES = {"desktop": (1440, 900), "phone": (390, 844)}


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


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", PAGES)
def test_no_rule_is_broken(page: Page, axe: str, name, size):
    """In both schemes; a phone opens in the dark one and a desktop in the light one."""
    schemes = ["light", "dark"] if size == "desktop" else ["dark", "light"]
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=schemes[0], reduced_motion="reduce")
    PAGES[name](page)
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        wait_for_scheme(page, scheme)
        assert broken_rules(page, axe) == [], scheme


def test_no_rule_is_broken_in_a_menu(page: Page, axe: str):
    opened(page)
    for menu in ("Examples", "Settings"):
        summary = page.locator(f"summary:text-is('{menu}')")
        summary.click()
        assert broken_rules(page, axe) == [], menu
        summary.click()


def broken_rules(page: Page, axe: str) -> list[str]:
    """Each as rule, what is wrong, and where. The page's policy allows no script tag."""
    page.evaluate(axe)
    found = page.evaluate("async rules => (await axe.run(document, rules)).violations", RULES)
    return [
        f"{rule['id']}: {rule['help']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for rule in found
        for node in rule["nodes"]
        if not any(name == rule["id"] and part in node["html"] for name, part, _ in STREAMLIT)
    ]
