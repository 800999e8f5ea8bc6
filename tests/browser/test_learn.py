"""A lesson as a person in a browser does it."""

from playwright.sync_api import Page, expect

from tests.browser.rules import PHONE, broken_rules, look_at, wait_for_look
from tests.browser.stage import off_stage, on_stage, wrong_on_stage
from tests.browser.step_page import button, generated, table, tokens, wait_for


def solved(page: Page, count: int) -> None:
    expect(page.get_by_text("Solved.", exact=True)).to_have_count(count)


def length(page: Page, count: int) -> None:
    wait_for(page, "state.steps.length === arg", count)


def force(page: Page, token: str) -> None:
    table(page).get_by_role("button", name=f"Force ␣{token}").first.click()


def test_lesson_solves_tasks_and_survives_reload(page: Page):
    page.goto("/learn")
    page.locator(".st-key-learn_open_the_loop").get_by_role("button").click()

    # One token at a time: a mistake brings its hint, and the task is ticked when it is done.
    length(page, 0)
    assert page.locator(".dv [data-part]").evaluate_all(
        "parts => parts.filter(part => part.checkVisibility()).map(part => part.dataset.part)"
    ) == ["transport", "strip", "line", "table"]
    force(page, "boy")
    expect(page.get_by_text("You clicked a token of the list")).to_be_visible()
    button(page, "Start over").click()
    length(page, 0)
    expect(page.get_by_text("You clicked a token of the list")).to_have_count(0)
    for count in range(1, 4):
        button(page, "Step").click()
        length(page, count)
    solved(page, 1)
    assert broken_rules(page) == []
    on_stage(page)
    assert wrong_on_stage(page) == []
    page.keyboard.press("b")
    length(page, 2)
    page.keyboard.press("s")
    length(page, 3)
    off_stage(page)

    # One round: the text continues, and a click on its first token shows that step.
    button(page, "Next").click()
    expect(page.get_by_text("One round of the loop")).to_be_visible()
    length(page, 3)
    generated(page).first.click()
    solved(page, 1)

    # Round after round, with its own text: "Show me" shows its result at once.
    button(page, "Next").click()
    expect(page.get_by_text("Round after round")).to_be_visible()
    length(page, 0)
    button(page, "Show me").first.click()
    length(page, 24)
    solved(page, 1)

    # On a phone, in the other scheme; a reload keeps everything.
    look_at(page, PHONE, "dark")
    page.reload()
    wait_for_look(page, PHONE, "dark")
    solved(page, 1)
    length(page, 24)
    expect(tokens(page).last).to_be_attached()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert broken_rules(page) == []
