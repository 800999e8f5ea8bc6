"""What stays in sight while a person works on the step page: table beside cards, the buttons."""

import json

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.step_page import button, generated, opened, slider, table

TEN = {
    "order": [
        *("dry", "repetition_penalty", "temperature", "dynamic_temperature", "top_k"),
        *("top_p", "min_p", "typical_p", "xtc", "mirostat"),
    ],
    "dry": {"multiplier": 0.8, "base": 1.75, "allowed_length": 2, "last_n": -1, "breakers": []},
    "dynamic_temperature": {"low": 0.5, "high": 1.5, "exponent": 1},
    "repetition_penalty": 1.2,
    "temperature": 0.9,
    "top_k": 60,
    "top_p": 0.95,
    "min_p": 0.01,
    "typical_p": 0.95,
    "xtc": {"threshold": 0.1, "probability": 0.5},
    "mirostat": {"tau": 5, "eta": 0.1},
}


def with_ten_cards(page: Page) -> Page:
    opened(page)
    page.evaluate(f"document.querySelector('.dv').decoding.actions.set({json.dumps(TEN)})")
    expect(page.locator(".dv-card")).to_have_count(len(TEN["order"]) + 1)
    return page


def card(page: Page, name: str) -> Locator:
    return page.get_by_role("group", name=f"Card: {name}", exact=True)


def is_in_sight(target: Locator) -> bool:
    """Whether all of it is on the screen and nothing lies over its middle."""
    return target.evaluate(
        """target => {
          const { top, bottom, left, right } = target.getBoundingClientRect();
          const over = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
          return top >= 0 && bottom <= innerHeight && (target.contains(over) || over === target);
        }"""
    )


@pytest.mark.parametrize("size", [(1440, 900), (1280, 720)], ids=str)
def test_the_table_stays_in_sight_beside_the_tenth_card(page: Page, size: tuple[int, int]):
    page.set_viewport_size({"width": size[0], "height": size[1]})
    with_ten_cards(page)
    knob = slider(page, "Mirostat target τ, bits")
    knob.focus()  # brings it into sight, no further
    knob.evaluate("knob => knob.scrollIntoView({ block: 'nearest' })")
    page.wait_for_function("document.querySelector('.dv-card-list').scrollTop > 100")
    # Where focus has put it is the browser's choice: a person scrolls to the table, and sees both.
    table(page).evaluate("table => table.scrollIntoView({ block: 'start' })")
    assert is_in_sight(knob)
    rows = table(page).get_by_role("row")
    assert is_in_sight(rows.nth(1)) and is_in_sight(rows.nth(6))
    place = rows.nth(1).bounding_box()
    for _ in range(40):
        knob.press("ArrowLeft")
    assert rows.nth(1).bounding_box() == place
    assert is_in_sight(knob)


def test_a_card_is_dragged_through_a_list_that_scrolls(page: Page):
    with_ten_cards(page)
    grip = button(page, "Move Mirostat")
    grip.scroll_into_view_if_needed()
    box = grip.bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    top = page.locator(".dv-card-list").bounding_box()["y"]
    page.mouse.move(box["x"] + 5, max(top, 0) + 8, steps=4)
    page.wait_for_function("document.querySelector('.dv-card-list').scrollTop === 0")
    page.mouse.move(box["x"] + 5, page.locator(".dv-card-list").bounding_box()["y"] + 4, steps=2)
    page.mouse.up()
    first = page.locator(".dv-card-list .dv-card").first
    expect(first).to_have_attribute("data-stage", "mirostat")


def test_on_a_phone_the_cards_scroll_with_the_page(page: Page):
    page.set_viewport_size({"width": 390, "height": 844})
    with_ten_cards(page)
    looks = page.evaluate(
        """() => ['.dv-card-list', '[data-part=cards]', '.dv-main'].map(name => {
          const { overflowY, maxHeight, position } = getComputedStyle(document.querySelector(name));
          return [overflowY, maxHeight, position];
        })"""
    )
    assert looks[0][:2] == ["visible", "none"]
    assert looks[1] == ["visible", "none", "relative"]
    assert looks[2][2] == "static"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("size", [(1440, 900), (1024, 768), (390, 844)], ids=str)
def test_the_buttons_stay_while_a_chart_is_enlarged(page: Page, size: tuple[int, int]):
    page.set_viewport_size({"width": size[0], "height": size[1]})
    opened(page)
    button(page, "Step").click()
    expect(generated(page)).to_have_count(1)
    button(page, "Enlarge Rank curve").click()
    figure = page.get_by_role("figure", name="Rank curve", exact=True)
    head = figure.locator(".dv-chart-head")
    expect(figure).to_have_class("dv-chart dv-chart-enlarged")
    page.wait_for_function(
        "figure => figure.getBoundingClientRect().top < 300", arg=figure.element_handle()
    )
    for number in (2, 3):
        assert is_in_sight(button(page, "Step"))
        assert is_in_sight(head.locator(".dv-chart-title"))
        button(page, "Step").click()
        expect(generated(page)).to_have_count(number)
    button(page, "Shrink Rank curve").click()
    expect(figure).to_have_class("dv-chart")
