"""Predictions and answers persist: in a different tab, after the tab was closed."""

import re

from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.rules import broken_rules
from tests.browser.step_page import button

GAP = re.compile(r"apart \(total variation\): \d+ % of the probability would have to move")


def bar(page: Page, name: str) -> Locator:
    return page.get_by_role("slider", name=name, exact=True)


def test_a_prediction_and_an_answer_outlive_the_tab(context: BrowserContext, watched):
    page = watched(context.new_page())
    page.goto("/learn?lesson=logits_and_softmax&step=softmax")
    girl = bar(page, "␣girl")
    expect(button(page, "Reveal")).to_be_disabled()

    # First by pointer, then by keys.
    girl.scroll_into_view_if_needed()
    box = girl.bounding_box()
    page.mouse.move(box["x"] + 3, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] / 2)
    page.mouse.up()
    expect(girl).to_have_attribute("aria-valuetext", "60 %")
    girl.press("ArrowRight")
    expect(girl).to_have_attribute("aria-valuetext", "61 %")
    button(page, "Reveal").click()
    expect(page.get_by_text(GAP)).to_be_visible()
    compared = re.compile("you said 61 %, the model has 3[01]")  # float32 and bfloat16
    expect(girl).to_have_attribute("aria-valuetext", compared)
    expect(girl).to_have_attribute("aria-disabled", "true")
    assert broken_rules(page) == []

    # A question, answered incorrectly.
    button(page, "Next").click()
    page.get_by_text("The probability of a token, as the model computes it.").click()
    page.get_by_text("33 % (a guess)").click()
    button(page, "Answer").click()
    expect(page.get_by_text("A probability is at least 0 and at most 1.")).to_be_visible()
    right = page.get_by_test_id("stAlertContentSuccess").get_by_text("A token's raw score.")
    expect(right).to_be_visible()
    page.close()

    # A different tab knows both.
    page = watched(context.new_page())
    page.goto("/learn?lesson=logits_and_softmax&step=softmax")
    expect(page.get_by_text(GAP)).to_be_visible()
    expect(bar(page, "␣girl")).to_have_attribute("aria-disabled", "true")
    button(page, "All lessons").click()
    expect(page.get_by_text("for 1 prediction, 0 for 1 answer")).to_be_visible()
    assert broken_rules(page) == []
