"""The search over the vocabulary, mounted alone on a page of its own."""

import base64
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.panels_page import (
    FOUND,
    TWO_BRANCHES,
    calls,
    desktop,
    force_buttons,
    matches,
    mounted,
    phone_page,
    search_field,
    serve_with_real_view,
    show,
    table,
)
from ui.components.rows import pack_row


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


def test_search_says_what_became_of_a_token_and_what_admits_it(page: Page) -> None:
    page.evaluate(FOUND)
    show(page)
    expect(search_field(page)).to_have_attribute("placeholder", "search all 16,384 tokens")
    search_field(page).press_sequentially("par", delay=10)
    expect(matches(page)).to_have_count(3)
    assert calls(page, "find") == [["find", "par"]]  # three keys, one question
    expect(page.get_by_role("status")).to_have_text("3 tokens match “\u2068par\u2069”.")
    expect(matches(page).nth(0)).to_contain_text(
        "id 7 · rank 3 · logit 12.50 · probability 25.00 %"
    )
    expect(matches(page).nth(0)).to_contain_text("kept, 12.50 % in the draw")
    expect(matches(page).nth(1)).to_contain_text(
        "removed by top-k; the smallest change that would admit it: top-k 212"
    )
    expect(matches(page).nth(2)).to_contain_text(
        "no change of one setting would admit it: top-k and top-p block it together"
    )
    matches(page).nth(1).get_by_role("button", name="Set top-k 212").click()
    assert calls(page, "set") == [["set", {"top_k": 212}]]
    assert len(calls(page, "settle")) == 1
    matches(page).nth(2).get_by_role("button", name="Force par").click()
    assert calls(page, "force") == [["force", 9]]


def test_matches_follow_settings_and_steps(page: Page) -> None:
    page.evaluate(FOUND)
    show(page)
    search_field(page).fill("par")
    expect(matches(page)).to_have_count(3)
    apply = matches(page).nth(1).get_by_role("button", name="Set top-k 212")
    apply.focus()
    page.evaluate("show({ ...state, settings: { ...state.settings, top_k: 212 } }, view)")
    expect(matches(page).nth(1)).to_contain_text("kept")
    expect(apply).to_have_count(0)
    expect(matches(page).nth(1).get_by_role("button", name="Force")).to_be_focused()
    assert len(calls(page, "find")) == 1
    page.evaluate("show({ ...state, index: 3, mode: 'playing' }, view)")
    assert len(calls(page, "find")) == 1  # not while playing
    page.evaluate("show({ ...state, mode: 'paused' }, view)")
    assert len(calls(page, "find")) == 2


def test_a_match_tells_its_rank_by_logit_where_it_ranks_elsewhere(page: Page) -> None:
    page.evaluate(FOUND)
    show(page)
    search_field(page).fill("par")
    page.evaluate(
        "show({ ...state, settings: { ...state.settings, repetition_penalty: 2 } }, view)"
    )
    expect(matches(page).nth(0)).to_contain_text("id 7 · rank 5 · rank by logit 3 · logit 12.50")
    page.evaluate("show(state, null)")
    expect(matches(page).nth(0)).to_contain_text("id 7 · rank by logit 3 · logit 12.50")


def test_a_long_list_of_matches_scrolls_by_itself(page: Page) -> None:
    page.evaluate(
        """() => { answers.find = query => Promise.resolve(Array.from({ length: 12 }, (_, id) =>
            ({ id, label: `${query}${id}`, raw_rank: id + 1, logit: 1 }))); }"""
    )
    show(page)
    search_field(page).fill("a")
    expect(matches(page)).to_have_count(12)
    box = page.get_by_role("list", name="Matches")
    assert 140 <= box.bounding_box()["height"] <= 230
    matches(page).last.get_by_role("button", name="Force").focus()
    assert box.evaluate("box => box.scrollTop") > 0
    page.evaluate("show({ ...state, index: 3 }, view)")  # the same question at another step
    expect(matches(page)).to_have_count(12)
    page.wait_for_timeout(50)
    assert box.evaluate("box => box.scrollTop") > 0
    search_field(page).fill("b")
    expect(matches(page).first).to_contain_text("b0")
    assert box.evaluate("box => box.scrollTop") == 0


def test_only_the_words_of_removal_are_in_the_colour_of_the_cut(page: Page) -> None:
    page.evaluate(FOUND)
    show(page)
    search_field(page).fill("par")
    expect(page.locator(".dv-match-removed").nth(1)).to_have_text("removed by top-k")
    fate = matches(page).nth(1).locator(".dv-match-fate")
    expect(fate).to_contain_text("the smallest change")
    colours = fate.locator("span").evaluate_all(
        "all => all.map(each => getComputedStyle(each).color)"
    )
    muted = matches(page).nth(1).locator(".dv-match-figures")
    assert colours[1] == muted.evaluate("each => getComputedStyle(each).color") != colours[0]


def test_search_clears_and_says_when_nothing_matches_or_fails(page: Page) -> None:
    show(page)
    search_field(page).fill("<b>zzz</b>")
    status = page.get_by_role("status")
    expect(status).to_have_text("No token of the vocabulary matches “\u2068<b>zzz</b>\u2069”.")
    search_field(page).press("Escape")
    expect(status).to_have_text("")
    expect(search_field(page)).to_have_value("")
    page.evaluate("() => { answers.find = () => Promise.reject(new Error('no answer')); }")
    search_field(page).fill("x")
    expect(status).to_have_text("The search did not work: no answer")


def test_search_tells_that_there_are_more_and_that_there_is_nothing_to_search(page: Page) -> None:
    page.evaluate(
        """() => { answers.find = query => Promise.resolve(query === 'over' ? null
          : Array.from({ length: Number(query) }, (_, id) =>
            ({ id, label: `t${id}`, raw_rank: id + 1, logit: 1 }))); }"""
    )
    show(page)
    status = page.get_by_role("status")
    for query, sentence, shown in (
        ("12", "12 tokens match “\u206812\u2069”.", 12),
        ("13", "The first 12 of more than 12 tokens that match “\u206813\u2069”.", 12),
        ("over", "There are no scores here to search in; press Back first.", 0),
    ):
        search_field(page).fill(query)
        expect(status).to_have_text(sentence)
        expect(page.locator(".dv-search-results li")).to_have_count(shown)


def test_a_late_answer_never_replaces_a_newer_one(page: Page) -> None:
    page.evaluate(
        """() => { answers.find = query => new Promise(resolve => {
          setTimeout(resolve, query === 'a' ? 300 : 0, [{ id: 1, label: query, raw_rank: 1,
            logit: 0 }]);
        }); }"""
    )
    show(page)
    search_field(page).fill("a")
    search_field(page).press("Enter")
    search_field(page).fill("ab")
    search_field(page).press("Enter")
    expect(matches(page).locator(".dv-token")).to_have_text(["ab"])
    page.wait_for_timeout(400)
    expect(matches(page).locator(".dv-token")).to_have_text(["ab"])


REAL = """async ({ header, data, labels }) => {
  const [{ unpack_row }, { make_view }] = await Promise.all([import('/js/kernel/row.js'),
    import('/js/view/view.js')]);
  const buffer = Uint8Array.from(atob(data), letter => letter.charCodeAt(0)).buffer;
  const row = { ...header, ...unpack_row(header, buffer, 0) };
  Object.assign(row, {
    labels: new Map(labels.map((label, place) => [row.ids[place], label])), index: 5,
      is_pending: true, chosen: null,
    forced: false, u: 0.5, recorded_settings: null,
  });
  answers.find = () => Promise.resolve([40, 400].map(rank => (
    { id: row.ids[rank - 1], label: `␣rank${rank}`, raw_rank: rank, logit: expand(row)[rank - 1] }
  )));
  function expand({ values, counts }) {
    return Array.from(values).flatMap((value, run) => Array(counts[run]).fill(value));
  }
  const state = make_state(5, { row, index: 5 });
  state.settings.top_p = 1;  // one cut only, so that one change can undo it
  actions.set = changes => {
    calls.push(['set', changes]);
    const next = { ...window.state, settings: { ...window.state.settings, ...changes } };
    show(next, make_view(next));
  };
  show(state, make_view(state));
}"""


def test_applying_the_smallest_change_admits_the_token(browser: Browser) -> None:
    """With the real view over a real row: what the search promises comes true."""
    scores = np.random.default_rng(3).normal(0, 3, 1000).astype(np.float32)
    header, data = pack_row(scores, seen=None, exact=True)
    del header["leading_ids"]
    given = {
        "header": header,
        "data": base64.b64encode(data).decode(),
        "labels": [f"␣t{rank}" for rank in range(1, 257)],
    }
    context = browser.new_context(viewport={"width": 1000, "height": 900})
    context.route("**/*", serve_with_real_view)
    for page in mounted(context.new_page()):
        page.evaluate(REAL, given)
        expect(force_buttons(page)).to_have_count(15)
        expect(table(page).get_by_role("row").last).to_contain_text("985 others")
        search_field(page).fill("rank")
        expect(matches(page)).to_have_count(2)
        for number in range(2):
            match = matches(page).nth(number)
            expect(match).to_contain_text("removed by top-k; the smallest change")
            match.get_by_role("button", name="Set ").click()
            expect(match).not_to_contain_text("removed by top-k")
    context.close()


def test_a_phone_shows_the_essential_columns_without_scrolling_sideways(phone: Page) -> None:
    phone.evaluate(FOUND)
    show(phone, TWO_BRANCHES.replace("make_state(5,", "make_state(40,"), "make_view({chosen: 40})")
    search_field(phone).fill("par")
    expect(matches(phone)).to_have_count(3)
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    heads = table(phone).get_by_role("columnheader")
    expect(heads).to_have_count(5)
    for cell in table(phone).get_by_role("row").nth(2).get_by_role("cell").all():
        box = cell.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    assert force_buttons(phone).first.bounding_box()["height"] >= 36
    for button in matches(phone).get_by_role("button").all():
        assert button.bounding_box()["height"] >= 36
