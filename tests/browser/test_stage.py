"""Stage view, hide and reveal on the step page; `stage.py` serves the other pages as well."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.rules import broken_rules
from tests.browser.stage import off_stage, on_stage, wrong_on_stage
from tests.browser.step_page import (
    button,
    choose_example,
    force_buttons,
    generated,
    set_samplers,
    settle,
    state,
    take_steps,
    wait_for,
    wait_for_scheme,
    wait_until,
)

NEWEST = """
() => {
  const box = document.querySelector('.dv-strip-box').getBoundingClientRect();
  const newest = [...document.querySelectorAll('li.generated')].at(-1);
  const { top, bottom } = newest.getBoundingClientRect();
  return { lines: box.height / newest.offsetHeight,
    type: parseFloat(getComputedStyle(newest).fontSize),
    is_in_sight: top >= box.top - 1 && bottom <= box.bottom + 1 };
}
"""


@pytest.fixture
def page(step_page: Page) -> Page:
    """The step page as it opens."""
    return step_page


def test_stage_view_is_legible_in_every_state(page: Page):
    on_stage(page)
    assert wrong_on_stage(page) == []
    choose = {"top_p": 0.9, "temperature": 0.8}
    set_samplers(page, **choose)
    take_steps(page, 3)
    assert wrong_on_stage(page) == []
    off_stage(page)
    choose_example(page, "Greedy loop")
    on_stage(page)
    page.keyboard.press("e")
    wait_for(page, "state.mode === 'paused' && state.steps.length === 64")
    settle(page)
    for size, smallest in (((1280, 720), 24), ((640, 360), 12)):
        page.set_viewport_size({"width": size[0], "height": size[1]})
        wait_until(page, "width => innerWidth === width", size[0])
        assert wrong_on_stage(page, smallest) == [], size
        newest = page.evaluate(NEWEST)
        assert newest["is_in_sight"] and newest["lines"] >= 4, size
        assert newest["type"] >= smallest * 7 / 6 - 0.1, size
        assert 5 <= page.locator(".dv-rows tr").count() <= 8, size
    page.emulate_media(color_scheme="dark")
    wait_for_scheme(page, "dark")
    assert broken_rules(page) == []
    button(page, "Leave stage view").click()
    expect(page.locator(".dv-stage")).to_have_count(0)
    expect(page.locator("details.dv-settings")).to_be_visible()


def test_hidden_tokens_stay_out_of_accessible_text(page: Page):
    set_samplers(page, top_k=3)
    take_steps(page, 1)
    for is_on_stage in (False, True):
        if is_on_stage:
            on_stage(page)
        page.keyboard.press("h")
        expect(button(page, "Reveal")).to_be_visible()
        expect(force_buttons(page)).to_have_count(0)
        expect(page.locator("[data-part=line]")).to_contain_text("which token comes next?")
        settle(page)
        hidden = state(page, "[view.rows[0].label, view.rows[1].label]")
        said = page.locator(".dv-step").aria_snapshot()
        assert not any(label in said for label in hidden), said
        assert "top-k stops" not in said, said
        button(page, "Reveal").click()
        expect(force_buttons(page).first).to_be_visible()
        count = generated(page).count()
        page.keyboard.press("s")
        expect(generated(page)).to_have_count(count + 1)
        expect(button(page, "Reveal")).to_be_visible()
        if is_on_stage:
            assert wrong_on_stage(page) == []
            off_stage(page)
        state(page, "actions.hide(false)")
        settle(page)
