"""The compare page and the way between pages, as a visitor meets them."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import ARTEFACTS


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def texts(page: Page) -> Locator:
    return page.locator(".cmp-card")


def lengths(page: Page) -> list[int]:
    rows = page.get_by_role("table", name="So far").locator("tbody tr")
    return [int(row.get_by_role("cell").first.inner_text()) for row in rows.all()]


def opened(page: Page) -> Page:
    """By its own address: the navigation is there all the same."""
    page.goto("/compare")
    expect(page.get_by_role("link", name="Step", exact=True)).to_be_attached()
    expect(button(page, "Play")).to_be_enabled()  # all texts are as long as they open with
    return page


def generated(page: Page) -> Locator:
    return page.locator('ol[aria-label="Tokens"] li.generated')


def go_to(page: Page, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).click()


def test_the_step_page_is_as_it_was_left(page: Page):
    page.goto("/")
    for number in (1, 2):
        button(page, "Step").click()
        expect(generated(page)).to_have_count(number)
    page.get_by_role("slider", name="Temperature", exact=True).fill("0.6")
    button(page, "Step").click()  # takes the settings along
    expect(generated(page)).to_have_count(3)
    before = generated(page).all_inner_texts()
    go_to(page, "Compare")
    expect(texts(page)).to_have_count(4)
    expect(page).to_have_title("Compare · Decoding Visualiser")
    go_to(page, "Step")
    expect(generated(page)).to_have_count(3)
    assert generated(page).all_inner_texts() == before
    expect(page.get_by_role("slider", name="Temperature", exact=True)).to_have_value("0.6")
    button(page, "Step").click()
    expect(generated(page)).to_have_count(4)


def test_the_page_opens_with_texts_that_part_at_a_mark(page: Page):
    opened(page)
    assert lengths(page) == [24] * 4
    expect(texts(page).first).to_contain_text("The others are compared with this one.")
    marks = page.locator(".cmp-text mark")
    assert marks.count() >= 1
    assert all(text.startswith("≠") for text in marks.all_inner_texts())


def test_play_adds_tokens_until_it_is_stopped(page: Page):
    opened(page)
    button(page, "Play").click()
    page.wait_for_function(
        "() => Number(document.querySelector('.cmp-scroll tbody td').innerText) > 28"
    )
    button(page, "Stop").click()
    expect(button(page, "Play")).to_be_visible()
    stopped = lengths(page)
    button(page, "Step").click()
    expect(page.locator(".cmp-scroll tbody td").first).to_have_text(str(stopped[0] + 1))
    assert lengths(page) == [length + 1 for length in stopped]
    button(page, "Reset").click()
    expect(page.locator(".cmp-scroll tbody td").first).to_have_text("0")


def test_a_column_is_adjusted_and_opens_in_the_step_page(page: Page):
    opened(page)
    button(page, "Adjust column 2").click()
    temperature = page.get_by_role("spinbutton", name="Temperature", exact=True)
    expect(temperature).to_have_value("1")
    temperature.fill("0.3")
    temperature.press("Enter")
    expect(texts(page).nth(1)).to_contain_text("temperature 0.3; seed 0")
    expect(button(page, "Play")).to_be_enabled()
    text = texts(page).nth(1).locator(".cmp-text").inner_text()
    button(page, "Open in the step page").click()
    expect(page.get_by_role("slider", name="Temperature", exact=True)).to_have_value("0.3")
    for number in (1, 2):
        button(page, "Step").click()
        expect(generated(page)).to_have_count(number)
    drawn = "".join(generated(page).all_inner_texts()).replace("␣", "")
    assert drawn in text.replace(" ", "").replace("≠", "").replace("␣", "").replace("\xa0", "")


def test_what_opens_in_the_step_page_after_a_reload_is_what_was_asked_for(page: Page):
    page.goto("/")
    button(page, "Step").click()
    expect(generated(page)).to_have_count(1)
    opened(page)  # another connection; the tab still remembers its text
    button(page, "Adjust column 3").click()
    button(page, "Open in the step page").click()
    expect(page.get_by_role("slider", name="Top-k", exact=True)).to_be_visible()
    page.wait_for_function(
        "() => document.querySelector('.dv').decoding.state.settings.top_k === 50"
    )
    expect(generated(page)).to_have_count(0)
    button(page, "Step").click()
    expect(generated(page)).to_have_count(1)


def test_samples_can_be_cancelled_and_what_is_there_is_shown(page: Page):
    opened(page)
    count = page.get_by_role("spinbutton", name="Samples per setting", exact=True)
    count.fill("200")
    count.press("Enter")
    button(page, "Sample").click()
    bar = page.get_by_role("progressbar")
    expect(bar).to_be_visible()
    expect(page.get_by_text("of 800 texts")).to_be_visible()
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


def test_a_bad_number_of_samples_is_said_in_words(page: Page):
    opened(page)
    count = page.get_by_role("spinbutton", name="Samples per setting", exact=True)
    for typed, got in (("0", "0"), ("-5", "-5"), ("1000000", "1,000,000"), ("2.5", "2.5")):
        count.fill(typed)
        count.press("Enter")
        expect(
            page.get_by_text(f"got {got}; use a whole number from 1 to 200.", exact=False)
        ).to_be_visible()
        expect(button(page, "Sample")).to_be_disabled()
        expect(count).to_have_value(typed)
    count.fill("3")
    count.press("Enter")
    expect(button(page, "Sample")).to_be_enabled()
    expect(page.get_by_role("alert")).to_have_count(0)
    label = page.locator(".st-key-compare_samples label").bounding_box()
    heading = page.get_by_role("heading", name="Many texts of each column").bounding_box()
    assert heading["y"] + heading["height"] <= label["y"], "the heading lies on the label"


@pytest.mark.parametrize(
    ("name", "width", "height", "scheme"),
    [
        ("desktop-light", 1440, 900, "light"),
        ("desktop-dark", 1440, 900, "dark"),
        ("phone-light", 390, 844, "light"),
        ("phone-dark", 390, 844, "dark"),
    ],
)
def test_nothing_scrolls_sideways(page: Page, name, width, height, scheme):
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)
    opened(page)
    for element in (page.locator("html"), page.get_by_test_id("stMain")):
        over = element.evaluate("e => e.scrollWidth - e.clientWidth")
        assert over <= 0, f"the page is {over} pixels wider than the window"
    page.screenshot(path=ARTEFACTS / f"compare-page-{name}.png")
