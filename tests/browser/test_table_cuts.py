"""The lines in the candidates table, over a real row: one above the kept tokens, one below them."""

import base64
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from engine.sampling import SamplingSettings
from engine.stages import (
    Banned,
    LogitBias,
    RepetitionPenalty,
    Stage,
    Temperature,
    TopK,
    TopP,
    Xtc,
)
from tests.browser.panels_page import mounted, serve_with_real_view, table
from ui.components.rows import pack_row
from ui.texts.settings import plain_settings

# Probabilities .40 .30 .20 .05, and 16 more that share the rest.
LOGITS = np.log(np.array([0.4, 0.3, 0.2, 0.05, *[0.05 / 16] * 16])).astype(np.float32)
LOGITS[4:] -= np.arange(16, dtype=np.float32) * 1e-4

REAL = """async ({ header, data, settings, point, xtc_u, row_count }) => {
  const [{ unpack_row }, { make_view }] = await Promise.all([import('/js/kernel/row.js'),
    import('/js/view/view.js')]);
  const buffer = Uint8Array.from(atob(data), letter => letter.charCodeAt(0)).buffer;
  const row = { ...header, ...unpack_row(header, buffer, 0) };
  Object.assign(row, {
    labels: new Map(Array.from(row.ids, id => [id, `t${id}`])), index: 0, is_pending: true,
    chosen: null, forced: false, u: 0.5, xtc_u, mirostat: null, recorded_settings: null,
  });
  const state = make_state(0, { row, index: 0, settings, point, row_count });
  const view = make_view(state);
  show(state, view);
  return view;
}"""


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1000, "height": 900})
    context.route("**/*", serve_with_real_view)
    yield context.new_page()
    context.close()


@pytest.fixture
def page(opened: Page) -> Iterator[Page]:
    yield from mounted(opened)


def show(
    page: Page, *chain: Stage, point: int | None = None, xtc_u: float = 0.0, rows: int = 15
) -> dict:
    header, data = pack_row(LOGITS, seen=[], exact=True)
    header.pop("leading_ids", None)
    settings = plain_settings(SamplingSettings(chain=chain))
    given = {"header": header, "data": base64.b64encode(data).decode(), "settings": settings}
    return page.evaluate(REAL, {**given, "point": point, "xtc_u": xtc_u, "row_count": rows})


SHOWN = ".dv-cut:not(.dv-hidden)"


def upper(page: Page) -> Locator:
    return page.locator(".dv-cut-upper")


def lower(page: Page) -> Locator:
    return page.locator(".dv-cut-lower")


def spoken(page: Page) -> str:
    return page.locator(".dv-table-box > .dv-spoken").inner_text()


def assert_lies_above(line: Locator, row: Locator) -> None:
    """The line on the upper border of a row."""
    line_box, row_box = line.bounding_box(), row.bounding_box()
    assert line_box["y"] + line_box["height"] / 2 == pytest.approx(row_box["y"], abs=1.5)


ACTS = Xtc(threshold=0.25, probability=1)  # .40 and .30 reach it: the first goes


def test_a_window_has_a_dashed_line_above_it_that_names_its_stage(page: Page) -> None:
    rows = page.locator(".dv-rows tr")
    show(page, ACTS)
    expect(upper(page)).to_have_text(
        "cut-off: XTC removed the 1 above · 19 of 20 tokens hold 60.00 %"
    )
    expect(upper(page)).to_have_class("dv-cut dv-cut-upper dv-cut-dashed")
    assert_lies_above(upper(page), rows.nth(1))
    expect(lower(page)).to_have_count(0)  # nothing below is removed
    assert spoken(page) == (
        "cut-off before rank 2: XTC removed the 1 above · 19 of 20 tokens hold 60.00 %"
    )


def test_each_line_has_the_name_of_its_own_stage(page: Page) -> None:
    rows = page.locator(".dv-rows tr")
    show(page, TopK(4), ACTS)
    expect(upper(page)).to_have_text("cut-off: XTC removed the 1 above")
    expect(lower(page)).to_have_text("cut-off: top-k ends here · 3 of 20 tokens hold 55.00 %")
    assert_lies_above(upper(page), rows.nth(1))
    assert_lies_above(lower(page), rows.nth(4))
    show(page, TopK(4), ACTS, Banned([[1]]))
    expect(upper(page)).to_have_text("cut-off: XTC and banned words removed the 2 above")
    show(page, TopP(0.85), TopK(10))
    expect(lower(page)).to_contain_text("cut-off: nucleus ends here · 3 of 20 tokens hold 90.00 %")
    # A ban in front of the cuts takes its token out of the table, and no cut is blamed for it.
    show(page, Banned([[19]]), ACTS)
    expect(upper(page)).to_contain_text("XTC removed the 1 above")
    expect(lower(page)).to_have_count(0)


def test_a_window_below_the_rows_is_told_by_one_line(page: Page) -> None:
    # XTC leaves the last of all 20 tokens; or, of four that reach it, the fourth and what follows.
    show(page, Xtc(threshold=0.003, probability=1), rows=3)
    expect(page.locator(SHOWN)).to_have_text(
        "cut-off: XTC removed the 19 above: kept from rank 20 on · 1 of 20 tokens holds 0.31 %"
    )
    show(page, Xtc(threshold=0.04, probability=1), TopK(2), rows=2)
    expect(page.locator(SHOWN)).to_have_text(
        "cut-off: XTC removed the 3 above: kept from rank 4 to 5, where top-k ends · "
        "2 of 20 tokens hold 5.31 %"
    )
    show(page, TopK(6), rows=5)
    expect(page.locator(SHOWN)).to_contain_text("cut-off: top-k ends at rank 6 · ")
    expect(page.locator(SHOWN)).to_contain_class("dv-cut-dashed")


def test_nobody_left_is_told_in_the_place_of_the_line(page: Page) -> None:
    show(page, Temperature(0), Banned([[0]]))
    sentence = (
        "nothing is left: Banned words took the last token. "
        "Move Banned words in front of Temperature, or switch one of the two off."
    )
    expect(lower(page)).to_have_text(sentence)
    assert spoken(page) == f"cut-off after rank 0: {sentence}"
    assert_lies_above(lower(page), page.locator(".dv-rows tr").first)


def test_a_second_line_that_comes_and_goes_moves_nothing_below(page: Page) -> None:
    """XTC acts at some steps only; the room for its words is kept as long as it is on."""
    foot = page.locator(".dv-table-foot")
    half = Xtc(threshold=0.25, probability=0.5)
    places = set()
    for chain in ([half], [TopK(4), half], [TopK(18), half]):
        for xtc_u in (0.1, 0.9):
            for point in (0, None):
                show(page, *chain, xtc_u=xtc_u, point=point)
                places.add(round(foot.bounding_box()["y"], 1))
    assert len(places) == 1, places


def test_the_headings_say_what_the_figures_are_of(page: Page) -> None:
    heads = table(page).get_by_role("columnheader")
    for chain, figure, share in (
        ([TopP(0.9)], "logit", "before the cuts"),
        ([TopP(0.9), Temperature(2)], "score", "before the cuts"),  # the temperature came later
        ([Temperature(2), TopP(0.9)], "score", "after temperature"),
        ([LogitBias({0: 1.0}), TopP(0.9)], "score", "before the cuts"),
        ([Temperature(0)], "logit", "before the cuts"),
        ([Banned([[19]])], "logit", "before the cuts"),
    ):
        show(page, *chain)
        expect(heads.nth(3)).to_contain_text(figure)
        expect(heads.nth(4)).to_contain_text(share)
    show(page, RepetitionPenalty(1.2), TopP(0.9), point=1)
    expect(heads.nth(4)).to_contain_text("after the penalty")
