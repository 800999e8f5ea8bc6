"""Presets: what they set, what they take away, and the way back."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.cards_page import (
    button,
    calls,
    card,
    cards_page,
    exact,
    open_cards,
    slider,
    update,
)


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[Page]:
    with cards_page(browser) as page:
        yield page


@pytest.fixture
def page(opened: Page) -> Page:
    open_cards(opened)
    return opened


def test_presets_set_all_five_and_keep_the_seed(page: Page):
    presets = page.get_by_role("group", name="Presets", exact=True)
    wanted = {
        "Greedy": (0, 0, 1, 0),
        "Pure sampling": (1, 0, 1, 0),
        "Top-k 50": (1, 50, 1, 0),
        "Top-p 0.9": (1, 0, 0.9, 0),
        "Nucleus: p 0.9, T 0.7": (0.7, 0, 0.9, 0),
        "Creative": (1.2, 0, 1, 0.05),
        "Code": (0.2, 0, 0.95, 0),
    }
    expect(presets.locator("[aria-pressed=true]")).to_have_count(0)
    for name, (temperature, top_k, top_p, min_p) in wanted.items():
        presets.get_by_role("button", name=name, exact=True).click()
        settings = {
            "order": ["repetition_penalty", "temperature", "top_k", "top_p", "min_p"],
            "repetition_penalty": 1,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "min_p": min_p,
        }
        assert calls(page) == [["set", settings], ["settle"]]
        expect(presets.locator("[aria-pressed=true]")).to_have_text([name])


def test_a_preset_takes_other_cards_away_and_brings_the_first_order_back(page: Page):
    own = "{order: ['xtc', 'top_k', 'temperature', 'repetition_penalty', 'top_p', 'min_p'], "
    update(page, f"{{settings: {own} xtc: {{threshold: 0.1, probability: 0.5}}}}}}")
    expect(card(page, "XTC")).to_be_visible()
    button(page, "Code").click()
    changes = calls(page)[0][1]
    assert changes["order"] == ["repetition_penalty", "temperature", "top_k", "top_p", "min_p"]
    assert changes["xtc"] is None
    expect(card(page, "XTC")).to_have_count(0)
    # A card that is off changes nothing: the chain is still the preset's.
    update(page, "{settings: {order: ['xtc', ...t.state.settings.order]}}")
    expect(button(page, "Code")).to_have_attribute("aria-pressed", "true")
    update(page, "{settings: {order: ['xtc', 'top_p', 'temperature'], xtc: null}}")
    expect(button(page, "Code")).to_have_attribute("aria-pressed", "false")


BUILT = """{order: ['xtc', 'top_k', 'temperature', 'dry', 'repetition_penalty', 'top_p', 'min_p'],
  xtc: {threshold: 0.2, probability: 0.25}, temperature: 0.55, top_k: 17, top_p: 0.83, min_p: 0,
  dry: {multiplier: 0.9, base: 2, allowed_length: 3, last_n: 15, breakers: [9]}}"""
CHAIN = "JSON.stringify(t.chain_of(t.state.settings))"


def undo(page: Page) -> Locator:
    return button(page, "Undo the preset")


def test_a_preset_says_which_cards_went_and_undo_brings_the_chain_back(page: Page):
    update(page, f"{{settings: {BUILT}}}")
    chain, order = page.evaluate(f"[{CHAIN}, [...t.state.settings.order]]")
    expect(undo(page)).to_be_hidden()
    button(page, "Creative").click()
    expect(page.locator("#cards")).to_contain_text("2 cards removed: XTC, DRY.")
    expect(page.locator("#cards [role=status]").first).to_have_text("2 cards removed: XTC, DRY.")
    button(page, "Greedy").click()  # of two in a row, what stood before the first comes back
    slider(page, "Temperature").press("ArrowRight")
    calls(page)
    undo(page).press("Enter")
    assert [name for name, *_ in calls(page)] == ["set", "settle"]
    assert page.evaluate(f"[{CHAIN}, t.state.settings.order]") == [chain, order]
    shown = page.locator(".dv-card-list .dv-card").evaluate_all(
        "cards => cards.map(card => card.dataset.stage)"
    )
    assert shown == [*order, "drawn"]
    expect(exact(page, "XTC threshold")).to_have_value("0.20")
    expect(exact(page, "DRY last n tokens")).to_have_value("15")
    expect(undo(page)).to_be_hidden()
    expect(button(page, "Greedy")).to_be_focused()


def test_undo_keeps_the_seed_and_says_nothing_where_nothing_went(page: Page):
    button(page, "Code").click()
    expect(undo(page)).to_be_hidden()
    update(
        page,
        "{settings: {order: ['top_p', 'temperature', 'top_k', 'repetition_penalty', 'min_p']}}",
    )
    button(page, "Code").click()
    expect(page.locator("#cards")).to_contain_text("The stages stand in their default order again.")
    exact(page, "Seed").fill("11")
    exact(page, "Seed").press("Enter")
    undo(page).click()
    assert page.evaluate("[t.state.settings.order[0], t.state.settings.seed]") == ["top_p", 11]


def test_undo_goes_once_the_cards_are_others_or_the_model_is(page: Page):
    built = f"{{settings: {BUILT}}}"
    update(page, built)
    button(page, "Code").click()
    expect(undo(page)).to_be_visible()
    button(page, "Add stage").click()
    page.get_by_role("menuitem", name="Mirostat", exact=True).click()
    expect(undo(page)).to_be_hidden()
    update(page, built)
    button(page, "Code").click()
    expect(undo(page)).to_be_visible()
    update(page, "{model: {...t.state.model, name: 'another'}}")  # whose token ids mean other words
    expect(undo(page)).to_be_hidden()
