"""Why not my token: its way through the chain against the engine's, and what would admit it."""

from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from engine.sampling import SamplingSettings, shape
from engine.stages import Xtc
from tests.browser.draw_page import answer, calls, draw_page, open_draw, show_row, update

VOCAB = 1000
LOGITS = np.random.default_rng(5).normal(0, 3, VOCAB).astype(np.float32)
ORDER = np.argsort(-LOGITS, kind="stable")
SETTINGS = {"temperature": 0.8, "top_k": 40, "top_p": 0.9}
HOSTILE = "<img src=x onerror=alert(1)>\u202e"


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[Page]:
    with draw_page(browser) as page:
        yield page


@pytest.fixture
def page(opened: Page) -> Page:
    open_draw(opened)
    show_row(opened, LOGITS, {}, u=0.37)
    update(opened, settings=SETTINGS)
    return opened


def token_at(rank: int) -> int:
    return int(ORDER[rank - 1])


def field(page: Page) -> Locator:
    return page.get_by_role("searchbox", name="Search the vocabulary", exact=True)


def choose(page: Page, label: str) -> Locator:
    page.get_by_role("button", name=f"Why not {label}?", exact=True).click()
    return way(page, label)


def way(page: Page, label: str) -> Locator:
    return page.get_by_role("table", name=f"Way of {label}", exact=True)


def part(page: Page) -> Locator:
    return page.get_by_role("region", name="Why not my token?", exact=True)


def look_for(page: Page, tokens: dict[int, str]) -> None:
    answer(page, "find", LOGITS, tokens)
    field(page).fill("x")
    expect(page.get_by_role("list", name="Matches").get_by_role("listitem")).to_have_count(
        len(tokens)
    )


def cells(table: Locator) -> list[list[str]]:
    return table.evaluate(
        "table => [...table.tBodies[0].rows].map(row => [...row.cells].map(c => c.textContent))"
    )


def percent(text: str) -> float:
    return float(text.removesuffix(" %")) / 100


def test_every_stage_says_rank_score_and_probability_as_the_engine_has_them(page: Page) -> None:
    token = token_at(9)
    look_for(page, {token: "␣mine", token_at(500): "␣other"})
    rows = cells(choose(page, "␣mine"))
    assert [row[0] for row in rows] == ["Logits", "Temperature", "Top-k", "Top-p", "Draw"]
    chains = [{}, {"temperature": 0.8}, {"temperature": 0.8, "top_k": 40}, SETTINGS, SETTINGS]
    for row, chain in zip(rows, chains, strict=True):
        probability = shape(LOGITS, SamplingSettings(**chain)).probability(token)
        assert int(row[1]) == 9
        score = LOGITS[token] / (0.8 if chain else 1)
        assert float(row[2]) == pytest.approx(score, abs=0.0051)
        assert percent(row[3]) == pytest.approx(probability, abs=0.000051)
    assert rows[1][4].startswith("score raised by")


def test_where_a_token_went_out_and_the_button_that_lets_it_in(page: Page) -> None:
    update(page, settings={"top_p": 1})
    look_for(page, {token_at(200): "␣far", token_at(500): "␣further"})
    rows = cells(choose(page, "␣far"))
    assert rows[2] == ["Top-k", "–", "–", "–", "went out here"]
    assert rows[-1] == ["Draw", "–", "–", "–", ""]
    expect(part(page)).to_contain_text("Removed by top-k; it came there as rank 200 with")
    part(page).get_by_role("button", name="Set top-k 200", exact=True).click()
    assert calls(page, "set") == [["set", {"top_k": 200}]]
    assert len(calls(page, "settle")) == 1
    expect(part(page)).to_contain_text("It stays in the draw with")
    expect(part(page).get_by_role("button", name="Set ")).to_have_count(0)
    assert cells(way(page, "␣far"))[2][1] == "200"


def test_a_token_that_stays_says_which_u_draws_it(page: Page) -> None:
    update(page, row={"u": 0.0})
    look_for(page, {token_at(1): "␣first", token_at(2): "␣second"})
    assert cells(choose(page, "␣first"))[-1][4] == "u = 0.0000 hits it"
    probability = shape(LOGITS, SamplingSettings(**SETTINGS)).probability(token_at(1))
    expect(part(page)).to_contain_text(f"u in [0.0000, {probability:.4f}) draws it, and u = 0.0000")
    assert cells(choose(page, "␣second"))[-1][4] == "u = 0.0000 misses it"
    expect(part(page)).to_contain_text(f"u in [{probability:.4f}, ")
    update(page, settings={"temperature": 0})
    expect(part(page)).to_contain_text("Removed: greedy takes the highest")


def test_a_change_of_one_field_is_named_by_stage_and_field(page: Page) -> None:
    xtc = Xtc(threshold=0.05, probability=1.0).to_dict()
    order = ["temperature", "xtc"]
    update(page, settings={"order": order, "temperature": 1, "xtc": xtc})
    look_for(page, {token_at(1): "␣first", token_at(300): "␣far"})
    choose(page, "␣first")
    expect(part(page)).to_contain_text("Removed by XTC")
    button = part(page).get_by_role("button", name="Set XTC threshold ")
    threshold = float(button.text_content().rpartition(" ")[2])
    button.click()
    assert calls(page, "set") == [["set", {"xtc": {**xtc, "threshold": threshold}}]]
    expect(part(page)).to_contain_text("It stays in the draw with")


def test_a_ban_is_lifted_by_one_press_and_others_stay(page: Page) -> None:
    first, second = token_at(1), token_at(2)
    banned = {"sequences": [[first], [second]]}
    order = ["banned", "temperature"]
    update(page, settings={"order": order, "temperature": 1, "banned": banned})
    look_for(page, {first: "␣first", token_at(300): "␣far"})
    choose(page, "␣first")
    part(page).get_by_role("button", name="Lift its ban", exact=True).click()
    assert calls(page, "set") == [["set", {"banned": {"sequences": [[second]]}}]]
    expect(part(page)).to_contain_text("It stays in the draw with")


def test_the_stages_that_together_keep_a_token_out_are_named(page: Page) -> None:
    update(page, settings={"top_k": 5, "top_p": 0.5})
    look_for(page, {token_at(900): "␣far", token_at(1): "␣first"})
    choose(page, "␣far")
    expect(part(page)).to_contain_text(
        "No change of one setting would admit it: top-k and top-p block it together."
    )
    expect(part(page).get_by_role("button")).to_have_count(1)  # Close
    match = page.get_by_role("list", name="Matches").get_by_role("listitem").first
    expect(match).to_contain_text("; no change of one setting would admit it: top-k and top-p")


def test_a_bias_of_its_own_is_named_as_such(page: Page) -> None:
    token = token_at(2)
    bias = {"bias": [[token, -9]]}
    order = ["logit_bias", "temperature", "top_k"]
    update(page, settings={"order": order, "temperature": 1, "top_k": 3, "logit_bias": bias})
    look_for(page, {token: "␣mine", token_at(300): "␣far"})
    choose(page, "␣mine")
    button = part(page).get_by_role("button", name="Set its bias −")
    number = float(button.text_content().rpartition("−")[2])
    button.click()
    assert calls(page, "set") == [["set", {"logit_bias": {"bias": [[token, -number]]}}]]
    expect(part(page)).to_contain_text("It stays in the draw with")


def test_a_text_of_several_tokens_offers_each_of_them(page: Page) -> None:
    pieces = {token_at(700): "un", token_at(12): "believ", token_at(3): "able"}
    answer(page, "tokenize", LOGITS, pieces)
    field(page).fill("unbelievable")
    listed = page.get_by_role("list", name="Tokens of the text").get_by_role("listitem")
    expect(listed).to_have_text(["un", "believ", "able"])
    expect(page.get_by_text("is 3 tokens, one step each")).to_be_visible()
    assert calls(page, "tokenize") == [["tokenize", "unbelievable"]]
    assert cells(choose(page, "believ"))[0][1] == "12"
    choose(page, "un")
    expect(part(page)).to_contain_text("Removed by top-k")
    expect(page.get_by_role("button", name="Why not un?")).to_have_attribute(
        "aria-expanded", "true"
    )
    page.get_by_role("button", name="Why not un?").click()
    expect(part(page)).to_be_hidden()
    answer(page, "tokenize", LOGITS, {token_at(3): "able"})
    field(page).fill("able")
    expect(listed).to_have_count(0)  # one token is no matter


def test_the_table_follows_settings_and_steps_and_is_not_rebuilt(page: Page) -> None:
    look_for(page, {token_at(200): "␣far", token_at(3): "␣near"})
    table = choose(page, "␣far")
    first = table.locator("tbody tr").first.element_handle()
    update(page, settings={"top_k": 0})
    assert [row[0] for row in cells(table)] == ["Logits", "Temperature", "Top-p", "Draw"]
    other = LOGITS.copy()
    other[token_at(200)] = LOGITS.max() + 1
    update(page, row_key="other")
    show_row(page, other, {}, u=0.37)
    expect(table.locator("tbody tr").first.locator("td").first).to_have_text("1")
    assert table.locator("tbody tr").first.evaluate("(row, first) => row === first", first)
    expect(part(page)).to_contain_text("It stays in the draw with")
    update(page, mode="playing")
    before = cells(table)
    update(page, settings={"top_k": 1, "temperature": 3})
    assert cells(table) == before  # a playing text is not followed
    update(page, mode="paused")
    assert cells(table) != before


def test_the_point_on_show_is_marked_in_the_table(page: Page) -> None:
    look_for(page, {token_at(3): "␣near", token_at(4): "␣next"})
    choose(page, "␣near")
    marked = part(page).locator("tr[aria-current=step] th")
    expect(marked).to_have_count(0)
    for point, label in ((0, "Logits"), (2, "Top-k"), (4, "Draw"), (5, "Draw")):
        update(page, point=point)
        expect(marked).to_have_text([label])


def test_tokens_without_a_score_and_hostile_labels(page: Page) -> None:
    logits = LOGITS.copy()
    logits[token_at(2)] = -np.inf
    show_row(page, logits, {}, u=0.37)
    answer(page, "find", logits, {token_at(2): HOSTILE, token_at(3): "␣near"})
    field(page).fill("x")
    page.get_by_role("button", name=f"Why not {HOSTILE}?", exact=True).click()
    expect(part(page)).to_contain_text("It is impossible here: its logit is −∞.")
    expect(part(page)).to_contain_text(HOSTILE)
    assert page.locator("[data-part=search] img").count() == 0
    part(page).get_by_role("button", name="Close").click()
    expect(part(page)).to_be_hidden()


def test_a_single_match_shows_its_way_at_once_and_fits_a_phone(browser: Browser) -> None:
    size = {"width": 390, "height": 800}
    with draw_page(browser, viewport=size, has_touch=True, is_mobile=True) as phone:
        show_row(phone, LOGITS, {}, u=0.37)
        update(phone, settings=SETTINGS)
        look_for(phone, {token_at(200): "␣far"})
        expect(way(phone, "␣far")).to_be_visible()
        assert phone.evaluate("document.documentElement.scrollWidth") <= 390
        for button in part(phone).get_by_role("button").all():
            assert button.bounding_box()["height"] >= 36
