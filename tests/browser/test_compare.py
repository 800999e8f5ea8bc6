"""The compare page and the links between pages, as a visitor uses them."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.stage import off_stage, on_stage, wrong_on_stage
from tests.browser.step_page import button, wait_until

NO_TOKEN_IS_CUT = """
() => [...document.querySelectorAll('.dv-column th.dv-c-token:has(.dv-token)')]
  .every(cell => cell.scrollWidth <= cell.clientWidth)
"""


def texts(page: Page) -> Locator:
    return page.get_by_role("region", name=re.compile("^Text of column"))


def lengths(page: Page) -> list[int]:
    rows = page.get_by_role("table", name="So far").locator("tbody tr")
    return [int(row.get_by_role("cell").first.inner_text()) for row in rows.all()]


def length(page: Page) -> Locator:
    """The first column's length."""
    return page.get_by_role("table", name="So far").get_by_role("cell").first


def opened_compare(page: Page) -> Page:
    """Open the page by its own address, where the navigation is present too."""
    page.goto("/compare")
    step = page.get_by_role("link", name="Step", exact=True)
    expect(step.or_(page.get_by_role("button", name="Menu"))).to_be_attached()  # on a phone
    expect(button(page, "Play")).to_be_enabled()  # all texts have reached their opening length
    wait_until_drawn(page)
    return page


def wait_until_drawn(page: Page) -> None:
    """Wait for the texts, which are drawn after their buttons."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


def test_columns_fit_and_play_until_stopped(page: Page):
    for width, height in ((390, 844), (1010, 720), (1440, 900)):  # the second: narrow columns
        page.set_viewport_size({"width": width, "height": height})
        if width == 390:
            opened_compare(page)
        expect(page.locator(".dv-column th.dv-c-token")).not_to_have_count(0)
        wait_until(page, NO_TOKEN_IS_CUT)
        for place in ("html", ".stMain"):
            wide = f"(e => e.scrollWidth - e.clientWidth)(document.querySelector('{place}'))"
            wait_until(page, f"() => {wide} <= 0")
    assert lengths(page) == [24] * 4
    marks = texts(page).get_by_role("mark")
    assert marks.count() >= 1
    assert all(text.startswith("≠") for text in marks.all_inner_texts())
    stage_view_shows_where_texts_part(page, marks.all_inner_texts())
    play_adds_tokens_until_it_is_stopped(page)
    presses_that_arrive_together_all_count(page)
    button(page, "Rewind").click()
    expect(length(page)).to_have_text("0")


def stage_view_shows_where_texts_part(page: Page, marks: list[str]) -> None:
    on_stage(page)
    assert wrong_on_stage(page) == []
    heads = page.locator(".dv-staged section h2")
    assert heads.count() == 4
    assert heads.get_by_role("mark").all_inner_texts() == marks
    off_stage(page)
    page.set_viewport_size({"width": 1440, "height": 900})


def presses_that_arrive_together_all_count(page: Page) -> None:
    button(page, "Rewind").evaluate(
        """rewind => {
          rewind.click();
          [...document.querySelectorAll('button')].find(b => b.innerText === 'Step').click();
        }"""
    )
    expect(length(page)).to_have_text("1")
    wait_until_drawn(page)
    assert lengths(page) == [1] * 4


def play_adds_tokens_until_it_is_stopped(page: Page) -> None:
    button(page, "Play").click()
    expect(length(page)).to_have_text(re.compile(r"^(29|[3-9]\d)$"))
    button(page, "Stop").click()
    expect(button(page, "Play")).to_be_visible()
    wait_until_drawn(page)
    stopped = lengths(page)
    button(page, "Step").click()
    expect(length(page)).to_have_text(str(stopped[0] + 1))
    wait_until_drawn(page)
    assert lengths(page) == [count + 1 for count in stopped]


@pytest.mark.long
def test_sampling_refuses_bad_count_and_runs_good_one(page: Page):
    opened_compare(page)
    count = page.get_by_role("spinbutton", name="Samples per setting", exact=True)
    alerts = page.get_by_role("alert")
    count.fill("0")
    count.press("Enter")
    expect(alerts).to_have_text([re.compile("Samples per setting .*, got 0;")])
    expect(button(page, "Sample")).to_have_count(1)  # the old one lingers for a moment
    expect(button(page, "Sample")).to_be_disabled()
    expect(count).to_have_value("0")
    count.fill("200")
    count.press("Enter")
    expect(alerts).to_have_count(0)
    expect(button(page, "Sample")).to_have_count(1)
    expect(button(page, "Sample")).to_be_enabled()
    label = page.locator(".st-key-compare_samples label").bounding_box()
    heading = page.get_by_role("heading", name="Many texts of each column").bounding_box()
    assert heading["y"] + heading["height"] <= label["y"], "the heading lies on the label"
    button(page, "Sample").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    button(page, "Cancel").click()
    expect(button(page, "Continue")).to_be_visible()
    expect(page.get_by_text("Ended early with")).to_be_visible()
    count.fill("2")
    count.press("Enter")
    button(page, "Sample").click()
    expect(page.get_by_role("list", name="Sampled texts").get_by_role("listitem")).to_have_count(2)
    with page.expect_download() as download:
        button(page, "Download CSV").click()
    lines = download.value.path().read_text("utf-8").splitlines()
    assert lines[0].startswith('"column","name","seed","text","stop_reason","length"')
