"""The candidates table, mounted alone on a page of its own."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.panels_page import (
    calls,
    desktop,
    force_buttons,
    mounted,
    phone_page,
    search_field,
    show,
    table,
)
from tests.ui import hostile
from ui.words.labels import token_label


@pytest.fixture(scope="module")
def desktop_page(browser: Browser) -> Iterator[Page]:
    with desktop(browser) as page:
        yield page


@pytest.fixture
def page(desktop_page: Page) -> Iterator[Page]:
    yield from mounted(desktop_page)


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    with phone_page(browser) as page:
        yield from mounted(page)


def test_table_has_one_row_per_token_and_one_for_the_others(page: Page) -> None:
    show(page)
    expect(force_buttons(page)).to_have_count(15)
    expect(table(page).get_by_role("columnheader")).to_have_text(
        [
            "rank",
            "token",
            "id",
            "score 11.0 to 14.6",
            "after temperature 0–50 %",
            "cumulative",
            "stage",
            "in the draw 0–50 %",
        ],
        use_inner_text=False,
    )
    first = table(page).get_by_role("row").nth(1)
    assert "chosen" in first.get_attribute("class").split()
    expect(first).to_contain_text("►")
    expect(first).to_contain_text("chosen")
    expect(table(page).get_by_role("row").last).to_contain_text("16,369 others")
    removed = table(page).get_by_role("row").nth(8)
    expect(removed).to_contain_text("removed by top-p")
    expect(removed).to_contain_text("0 %")
    assert "removed" in removed.get_attribute("class").split()


def test_headings_and_figures_fit_the_point_of_the_chain(page: Page) -> None:
    show(page, view="make_view({point: 0})")
    heads = table(page).get_by_role("columnheader")
    expect(heads.nth(3)).to_have_text("logit 9.9 to 13.1")
    expect(heads.nth(4)).to_contain_text("probability")
    first = table(page).get_by_role("row").nth(1).get_by_role("cell")
    expect(first.nth(2)).to_have_text("13.10")
    expect(first.last).to_have_text("–")
    expect(page.locator(".dv-cut:not(.dv-hidden)")).to_have_count(0)
    show(page, view="make_view({point: 1})")
    expect(heads.nth(3)).to_contain_text("score")
    expect(first.nth(2)).to_have_text("14.56")
    expect(first.nth(2)).to_have_attribute("title", "logit 13.10")


def test_cut_line_lies_below_the_last_kept_row_and_moves_none_that_is_kept(page: Page) -> None:
    rows = page.locator(".dv-rows tr")
    box_of_table = page.locator(".dv-table-box").bounding_box
    places = height = None
    for kept in (1, 7, 12, 15):
        show(page, view=f"make_view({{kept: {kept}}})")
        line = page.locator(".dv-cut-lower")
        verb = "holds" if kept == 1 else "hold"
        text = f"cut-off: nucleus ends here · {kept} of 16,384 tokens {verb} "
        expect(line).to_contain_text(text)
        row = rows.nth(kept - 1).bounding_box()
        box = line.bounding_box()
        assert box["y"] + box["height"] / 2 == pytest.approx(row["y"] + row["height"], abs=1.5)
        now = [item.bounding_box()["y"] for item in rows.all()]
        places = places or [now[0] + at * row["height"] for at in range(15)]
        assert now[:kept] == pytest.approx(places[:kept], abs=0.5)
        height = height or box_of_table()["height"]  # the room for the line's words is always there
        assert box_of_table()["height"] == pytest.approx(height, abs=0.5)
    show(page, view="make_view({kept: 212})")
    expect(page.locator(".dv-cut-lower")).to_contain_text("top-p ends at rank 212")


BAR_SHARE = "bar => Number(bar.style.getPropertyValue('--share'))"


def test_a_slide_moves_the_bars_and_never_shrinks_their_scale(page: Page) -> None:
    def slide(temperature: float, *, index: int = 4, reason: str = "slide") -> float:
        page.evaluate(
            """([temperature, index, reason]) => parts.table.update(make_state(5, { index }),
              make_view({ temperature, index }), reason)""",
            [temperature, index, reason],
        )
        return page.locator(".dv-rows .dv-c-prob .dv-bar").first.evaluate(BAR_SHARE)

    scale = table(page).get_by_role("columnheader").nth(4).locator(".dv-range")
    show(page)
    expect(scale).to_have_text("0–50 %")
    warm, warmer = slide(1.2), slide(2)
    expect(scale).to_have_text("0–50 %")
    assert warm > 1.5 * warmer > 0
    slide(0.4)
    expect(scale).to_have_text("0–100 %")
    assert slide(2) == pytest.approx(warmer / 2, abs=1e-3)
    expect(scale).to_have_text("0–100 %")
    slide(2, reason="step")  # the server's answer to the settled slider is the same step
    expect(scale).to_have_text("0–100 %")
    # Another step: chosen anew, with room for the model's own probabilities.
    assert slide(2, index=3, reason="step") == pytest.approx(warmer, abs=1e-3)
    expect(scale).to_have_text("0–50 %")


def test_a_sum_that_exceeds_the_scale_has_a_broken_bar(page: Page) -> None:
    bar = page.locator(".dv-others .dv-c-prob .dv-bar")
    show(page)
    expect(bar).not_to_contain_class("dv-broken")
    page.evaluate("view.others.prob = 0.83; show(state, view)")
    expect(bar).to_have_text("83.00 %")
    expect(bar).to_contain_class("dv-broken")
    expect(page.locator(".dv-rows .dv-broken")).to_have_count(0)


def test_bars_of_scores_reach_from_the_lowest_to_the_highest_row(page: Page) -> None:
    show(page)
    bars = page.locator(".dv-rows .dv-c-logit .dv-bar")
    assert (bars.first.evaluate(BAR_SHARE), bars.last.evaluate(BAR_SHARE)) == (1, 0)


def test_only_what_forces_a_token_looks_as_if_it_did(page: Page) -> None:
    show(page)
    row = table(page).get_by_role("row").nth(3)
    ground = "cell => [getComputedStyle(cell).backgroundColor, getComputedStyle(cell).cursor]"
    stage = row.locator(".dv-c-stage")
    page.mouse.move(0, 0)
    at_rest = stage.evaluate(ground)
    stage.hover()
    assert stage.evaluate(ground) == at_rest
    button = row.get_by_role("button")
    before, _ = button.evaluate(ground)
    button.hover()
    after, cursor = button.evaluate(ground)
    assert before != after and cursor == "pointer"


@pytest.mark.parametrize("device", ["page", "phone"])
def test_what_stands_below_the_table_stays_where_it_is(
    device: str, request: pytest.FixtureRequest
) -> None:
    page = request.getfixturevalue(device)
    foot = page.locator(".dv-table-foot")
    places = set()
    for options in ("point: 0", "kept: 1", "kept: 7", "kept: 15", "kept: 212"):
        for chosen in (1, 40):
            show(page, view=f"make_view({{{options}, chosen: {chosen}}})")
            places.add(round(foot.bounding_box()["y"], 1))
    assert len(places) == 1, places


def test_focus_stays_on_its_rank_while_tokens_change(page: Page) -> None:
    show(page)
    force_buttons(page).nth(2).focus()
    handle = force_buttons(page).nth(2).element_handle()
    show(page, view="make_view({kept: 3, labels: ['x', 'y', 'z']})")
    assert page.evaluate("button => document.activeElement === button", handle)
    page.keyboard.press("Enter")
    assert calls(page, "force") == [["force", 1002]]
    expect(force_buttons(page).nth(2)).to_have_accessible_name("Force z")


def test_double_click_forces_once_and_a_changed_row_not_at_all(page: Page) -> None:
    show(page)
    force_buttons(page).nth(1).dblclick()
    assert calls(page, "force") == [["force", 1001]]
    force_buttons(page).nth(3).hover()
    page.mouse.down()
    show(page, view="make_view({index: 5})")  # a step of a playing text came in between
    page.mouse.up()
    assert calls(page, "force") == [["force", 1001]]


def test_chosen_token_beyond_the_rows_has_a_row_of_its_own(page: Page) -> None:
    show(page)
    height = page.locator("[data-part=table]").bounding_box()["height"]
    show(page, view="make_view({chosen: 40})")
    last = table(page).get_by_role("row").last
    expect(last).to_contain_text("40")
    expect(last).to_contain_text("␣w39")
    expect(last).to_contain_text("chosen")
    assert page.locator("[data-part=table]").bounding_box()["height"] == pytest.approx(
        height, abs=1
    )
    show(page)
    expect(force_buttons(page)).to_have_count(15)


def test_number_of_rows_is_a_choice(page: Page) -> None:
    show(page, "make_state(5, {row_count: 17})", "make_view({row_count: 17})")
    select = page.get_by_role("combobox", name="Rows")
    expect(select).to_have_value("17")
    select.select_option("30")
    assert calls(page, "show") == [["show", {"row_count": 30}]]


def test_hostile_labels_are_shown_literally_everywhere(page: Page) -> None:
    labels = json.dumps([token_label(text) for text in hostile.HOSTILE])
    number = len(hostile.HOSTILE)
    page.evaluate(
        "labels => { answers.find = () => Promise.resolve(labels.slice(0, 12).map("
        "(label, id) => ({ id, label, raw_rank: id + 1, logit: 1 }))); }",
        json.loads(labels),
    )
    branches = f"{labels}.map((text, at) => ({{number: at + 1, parent: at || null, departs_at: at,"
    branches += " length: 3, text, current: at === 0}))"
    show(
        page,
        f"make_state(0, {{steps: {labels}.map((label, at) => make_step(at, {{label}})), index: 0,"
        f" branches: {branches}, row_count: {number}}})",
        f"make_view({{row_count: {number}, labels: {labels}}})",
    )
    search_field(page).fill("x")
    expect(page.get_by_role("list", name="Matches").get_by_role("listitem")).to_have_count(12)
    expected = json.loads(labels)
    assert page.locator("li.generated").all_text_contents() == expected
    assert page.locator(".dv-force").all_text_contents() == expected
    assert page.locator(".dv-search-results .dv-token").all_text_contents() == expected[:12]
    assert page.locator(".dv script, .dv img, .dv b, .dv i").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_step_rebuilds_no_row_and_the_same_step_changes_nothing(page: Page) -> None:
    result = page.evaluate(
        """() => {
          const view_of = kept => make_view({ kept, row_count: 30 });
          const state = make_state(5, { row_count: 30 });
          show(state, view_of(7));
          const seen = [];
          const observer = new MutationObserver(records => seen.push(...records));
          observer.observe(document.querySelector('[data-part=table]'),
            { childList: true, subtree: true, characterData: true, attributes: true });
          const changes_of = kept => {
            parts.table.update(state, view_of(kept), 'step');
            return observer.takeRecords();
          };
          const again = changes_of(7).length;
          const elements = changes_of(12).flatMap(record => [...record.addedNodes])
            .filter(node => node.nodeType === Node.ELEMENT_NODE);
          return { again, rebuilt: elements.length };
        }"""
    )
    assert result == {"again": 0, "rebuilt": 0}
