"""axe-core's rules of WCAG 2.1 A and AA, and the looks in which every page must keep them."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.app_server import ROOT
from tests.browser.step_page import wait_for_scheme, wait_until

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
# Results of rules that hold are not wanted: collecting them costs more than finding them.
RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"],
    "rules": {"label-content-name-mismatch": {"enabled": True}},  # axe calls it experimental
    "resultTypes": ["violations"],
}
# The rules whose result depends on the colour scheme.
OF_COLOURS = RULES | {
    "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
}
# Faults in Streamlit's own elements that no setting of ours can mend: rule, part of the HTML, why.
STREAMLIT: list[tuple[str, str, str]] = []

DESKTOP, PHONE = (1440, 900), (390, 844)
LOOKS = [(DESKTOP, "light"), (DESKTOP, "dark"), (PHONE, "dark"), (PHONE, "light")]
NEW_SIZE = LOOKS[::2]  # the other looks differ from the one before only in colours


def axe_program() -> str:
    """Return axe's source."""
    if not AXE.is_file():
        pytest.fail(f"{AXE} is missing; `make test` installs it, `npm ci` does too", pytrace=False)
    return Path(AXE).read_text("utf-8")


def look_at(page: Page, size: tuple[int, int], scheme: str) -> None:
    """Show a page, opened or not, in a size and a colour scheme."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")


def wait_for_look(page: Page, size: tuple[int, int], scheme: str) -> None:
    """Wait until an opened page has that look."""
    wait_until(page, "width => innerWidth === width", size[0])
    wait_for_scheme(page, scheme)


def broken_rules(page: Page, rules: dict[str, Any] = RULES, part: str = "html") -> list[str]:
    """List each violation in a part of the page: rule, problem, place.

    The page's policy allows no script tag.
    """
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(axe_program())
    found = page.evaluate(
        "async ([part, rules]) => (await axe.run(part, rules)).violations", [part, rules]
    )
    return [
        f"{rule['id']}: {rule['help']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for rule in found
        for node in rule["nodes"]
        if not any(name == rule["id"] and html in node["html"] for name, html, _ in STREAMLIT)
    ]


def broken_in_look(page: Page, size: tuple[int, int], scheme: str) -> list[str]:
    """Return the violations that can be new in one of `LOOKS`, visited in their order."""
    return broken_rules(page, RULES if (size, scheme) in NEW_SIZE else OF_COLOURS)
