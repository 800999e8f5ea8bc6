"""The tune page in Chromium: browser-only behaviour, and the README's five minutes."""

import re

import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, expect

SWEEP_MS = 240_000  # a sweep on a busy machine
MARKUP = "<b id='evil'>A</b> **B** $x$"


@pytest.fixture
def tune(page: Page) -> Page:
    """The page after its opening sweep."""
    page.goto("/tune")
    expect(page.get_by_role("figure", name="Heatmap of perplexity")).to_be_visible(timeout=SWEEP_MS)
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0, timeout=SWEEP_MS)
    return page


def fill(page: Page, role: str, name: str, value: str) -> None:
    box = page.get_by_role(role, name=name, exact=True)
    box.fill(value)
    box.press("Enter")


def click_cell(page: Page, column: int, row: int, label: str) -> None:
    """Press near a corner of a cell of the 5 x 5 heatmap, rows from the bottom.

    Try again if nothing happens: on a busy machine the page may move under the pointer.
    """
    said = page.get_by_text(label)
    for patience in (10_000, 20_000, None):
        plot = once_it_stands_still(page.locator(".dv-plotly").first.locator(".nsewdrag"))
        x = plot["x"] + plot["width"] * (column + 0.15) / 5
        y = plot["y"] + plot["height"] * (1 - (row + 0.2) / 5)
        press(page, x, y)
        try:
            expect(said).to_be_visible(timeout=patience)
            return
        except AssertionError:
            if patience is None:
                raise


def once_it_stands_still(chart: Locator) -> dict[str, float]:
    """Return the chart's final box; elements above it, such as a progress bar, move it late."""
    before, now = None, chart.bounding_box()
    while now is None or now != before:
        chart.page.wait_for_timeout(250)
        before, now = now, chart.bounding_box()
    return now


def press(page: Page, x: float, y: float) -> None:
    """Press as a hand does: Plotly reads the pointer's place twenty times a second."""
    page.mouse.move(x, y)
    page.wait_for_timeout(100)
    page.mouse.click(x, y)


def test_cell_is_clicked_and_markup_is_shown(tune):
    """Test on one page, as it takes long to open."""
    a_click_anywhere_in_a_cell_shows_its_texts(tune)
    a_prompt_of_markup_is_there_after_another_page_and_shown_as_it_stands(tune)
    tune.get_by_role("radio", name="Export").click()
    tune.get_by_role("button", name="Use these settings").click()
    expect(tune.get_by_role("textbox", name="Prompt", exact=True)).to_have_value(MARKUP)


def a_click_anywhere_in_a_cell_shows_its_texts(tune: Page) -> None:
    for column, row, label in ((4, 0, "T 1.6, p 0.5"), (0, 4, "T 0.4, p 1")):
        click_cell(tune, column, row, f"{label}, over 1 text")
        chosen = label.split()[1].rstrip(",")
        expect(tune.get_by_role("combobox", name=re.compile("Cell: Temperature"))).to_have_value(
            chosen
        )
    values = tune.locator(".dv-plotly").first.locator(".textpoint text")
    expect(values).to_have_count(25)
    opacities = values.evaluate_all("all => all.map(text => getComputedStyle(text).fillOpacity)")
    assert set(opacities) == {"1"}, "a click fades no value"
    tune.get_by_role("radio", name="Lowest and highest").click()
    expect(tune.get_by_role("region", name=re.compile("Lowest and highest"))).to_be_visible()


def a_prompt_of_markup_is_there_after_another_page_and_shown_as_it_stands(tune: Page) -> None:
    fill(tune, "textbox", "Y values", "0.5, 1")
    fill(tune, "textbox", "X values", "0.5, 1")
    tune.get_by_role("textbox", name="Prompt 1").fill(MARKUP)
    fill(tune, "spinbutton", "Seeds", "2")
    expect(tune.get_by_text("8 texts")).to_be_visible()
    tune.get_by_role("link", name="Compare").click()
    expect(tune.get_by_role("button", name="Run sweep")).to_have_count(0)
    tune.get_by_role("link", name="Tune").click()
    expect(tune.get_by_text("8 texts")).to_be_visible()
    expect(tune.get_by_role("textbox", name="Prompt 1")).to_have_value(MARKUP)
    expect(tune.get_by_role("figure", name="Heatmap of perplexity")).to_be_visible()
    fill(tune, "spinbutton", "Max tokens", "4")
    expect(tune.get_by_text("at most 4 tokens")).to_be_visible()
    tune.get_by_role("button", name="Run sweep").click()
    shown = tune.get_by_role("list", name="Texts of the chosen cell")
    expect(shown).to_contain_text(MARKUP, timeout=SWEEP_MS)
    assert tune.locator("#evil").count() == 0


@pytest.mark.long
def test_readme_five_minute_tuning_works(tune, tmp_path):
    """Follow "Tune sampling in five minutes" in the README, with shorter texts."""
    # 1, 2: the prompt, and the values to sweep over
    expect(tune.get_by_role("textbox", name="Prompt 1")).to_have_value(re.compile("^Customer: My"))
    fill(tune, "spinbutton", "Seeds", "4")
    fill(tune, "spinbutton", "Max tokens", "12")
    expect(tune.get_by_text("100 texts")).to_be_visible()
    # 3: Run, Cancel, Continue
    tune.get_by_role("button", name="Run sweep").click()
    expect(tune.get_by_role("progressbar")).to_be_visible()
    expect(tune.get_by_text(re.compile("of 100 texts"))).to_be_visible()
    tune.get_by_role("button", name="Cancel").click()
    expect(tune.get_by_text(re.compile("Ended early with .* of 100 texts"))).to_be_visible()
    tune.get_by_role("button", name="Continue").click()
    expect(tune.get_by_role("button", name="Cancel")).to_be_visible()
    expect(tune.get_by_role("button", name="Cancel")).to_have_count(0, timeout=SWEEP_MS)
    expect(tune.get_by_text(re.compile("Ended early"))).to_have_count(0)
    # 4: read cells
    click_cell(tune, 4, 4, "T 1.6, p 1, over 4 texts")
    expect(tune.get_by_role("list", name="Texts of the chosen cell")).to_contain_text("seed 3")
    click_cell(tune, 1, 2, "T 0.7, p 0.9, over 4 texts")
    # 5: the trade-off
    tune.get_by_role("radio", name="Trade-off").click()
    front = tune.get_by_role("figure", name="Trade-off: diversity against likelihood")
    expect(front).to_contain_text("Pareto front")
    front.scroll_into_view_if_needed()
    mark = front.locator(".scatterlayer .trace").nth(1).locator(".point").first.bounding_box()
    press(tune, mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2)
    expect(tune.get_by_text("T 0.7, p 0.9, over 4 texts")).to_have_count(0)
    tune.get_by_role("figure", name="Heatmap of perplexity").scroll_into_view_if_needed()
    click_cell(tune, 1, 2, "T 0.7, p 0.9, over 4 texts")
    tune.get_by_role("radio", name="Lowest and highest").click()
    expect(tune.get_by_role("region", name=re.compile("Lowest and highest"))).to_contain_text(
        "mean log-probability"
    )
    # 6: the export
    tune.get_by_role("radio", name="Export").click()
    with tune.expect_download() as download:
        tune.get_by_role("button", name="Download CSV").click()
    download.value.save_as(tmp_path / "sweep.csv")
    assert len(pd.read_csv(tmp_path / "sweep.csv")) == 100
    tune.get_by_role("button", name="Export code").click()
    expect(tune.locator("code").filter(has_text="temperature=0.7").first).to_be_visible()
    tune.keyboard.press("Escape")
    tune.get_by_role("button", name="Use these settings").click()
    expect(tune.get_by_role("slider", name="Temperature")).to_have_value("0.7")
    expect(tune.get_by_role("textbox", name="Prompt")).to_have_value(re.compile("^Customer: My"))
