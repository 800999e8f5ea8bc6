"""Long operations on the step page are reported and cancellable, and nothing moves."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.step_page import (
    button,
    generated,
    ids,
    prompt,
    settle,
    start,
    state,
    take_steps,
    wait_for,
)

OPEN = "Once upon a time, there was a little"
LONG = "One day a little cat sat in the sun and looked at the birds. " * 67  # 1,006 tokens
STAYS = ["strip", "loop", "table", "picture", "samplers"]


@pytest.fixture
def page(step_page: Page) -> Page:
    """The step page as it opens."""
    return step_page


@pytest.fixture
def crowd(crowd_file: Path) -> Iterator[Path]:
    crowd_file.unlink(missing_ok=True)
    yield crowd_file
    crowd_file.unlink(missing_ok=True)


def line(page: Page) -> Locator:
    return page.locator("[data-part=line]")


def places(page: Page) -> list:
    """The position and width of each part."""
    return page.evaluate(
        """names => names.map(name => {
          const { top, left, width } = document.querySelector(`[data-part=${name}]`)
            .getBoundingClientRect();
          return [name, top, left, width];
        })""",
        STAYS,
    )


@pytest.mark.parametrize(
    ("width", "way"), [(1440, "button"), pytest.param(390, "key", marks=pytest.mark.long)]
)
def test_long_prompt_shows_progress_and_can_be_cancelled(page: Page, crowd: Path, width, way):
    start(page, OPEN)
    take_steps(page, 2)
    page.set_viewport_size({"width": width, "height": 900})
    settle(page)
    text, before = ids(page), places(page)
    prompt(page).fill(LONG)
    prompt(page).blur()
    crowd.touch()
    button(page, "Start").click()
    expect(line(page)).to_contain_text("Reading the prompt")
    expect(line(page)).to_contain_text("behind 1 other")
    expect(line(page).get_by_role("progressbar")).to_have_attribute("max", "1006")
    assert places(page) == before, "nothing moves as it appears"
    if way == "key":
        page.keyboard.press("Escape")
    else:
        button(page, "Cancel").click()
    expect(line(page)).to_contain_text("the prompt was not read")
    expect(button(page, "Cancel")).to_have_count(0)
    assert ids(page) == text and state(page, "state.prompt") == OPEN
    expect(prompt(page)).to_have_value(LONG)
    crowd.unlink()
    button(page, "Step").click()  # begins with the prompt in the box
    wait_for(page, "state.prompt === arg && state.steps.length === 1", LONG)
    expect(generated(page)).to_have_count(1)
