"""Adding, removing and reordering cards: by menu, by keyboard, by pointer, by touch."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from engine.stages import STAGES
from tests.browser.cards_page import (
    button,
    calls,
    card,
    cards_page,
    open_cards,
    slider,
    update,
)

FIRST = ["repetition_penalty", "temperature", "top_k", "top_p", "min_p"]


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[Page]:
    with cards_page(browser) as page:
        yield page


@pytest.fixture
def page(opened: Page) -> Page:
    open_cards(opened)
    return opened


def order(page: Page) -> list[str]:
    """The cards as they stand, without the draw."""
    names = page.locator(".dv-card").evaluate_all("all => all.map(card => card.dataset.stage)")
    assert names[-1] == "drawn"
    return names[:-1]


def spoken(page: Page) -> str:
    return page.locator("#cards > .dv-spoken[role=status]").inner_text()


def grip(page: Page, name: str):
    return button(page, f"Move {name}")


def choose(page: Page, name: str) -> None:
    button(page, "Add stage").click()
    page.get_by_role("menuitem", name=name, exact=True).click()


# --- adding and removing --------------------------------------------------------------------------


def test_the_menu_holds_what_is_not_on_the_page_in_groups(page: Page):
    opener = button(page, "Add stage")
    expect(opener).to_have_attribute("aria-expanded", "false")
    opener.click()
    expect(opener).to_have_attribute("aria-expanded", "true")
    items = page.get_by_role("menuitem")
    expect(items).to_have_count(len(STAGES) - len(FIRST))
    menu = page.get_by_role("menu", name="Add stage")
    groups = menu.get_by_role("group").evaluate_all("all => all.map(g => g.ariaLabel)")
    assert groups == ["Penalties and bans", "Temperature", "Truncation", "Adaptive"]
    typical = page.get_by_role("menuitem", name="Typical-p", exact=True)
    expect(typical).to_have_accessible_description(re.compile("closest to the entropy"))
    page.mouse.click(900, 900)
    expect(menu).to_be_hidden()


def test_a_stage_is_added_at_its_place_on_and_with_the_focus(page: Page):
    calls(page)
    choose(page, "Typical-p")
    assert calls(page) == [["set", {"order": [*FIRST, "typical_p"], "typical_p": 0.9}], ["settle"]]
    expect(slider(page, "Typical-p")).to_be_focused()
    assert spoken(page) == "Typical-p added, place 6 of 6, after min-p."
    choose(page, "Dynamic temperature")
    assert order(page) == [*FIRST[:2], "dynamic_temperature", *FIRST[2:], "typical_p"]
    expect(slider(page, "Dynamic temperature lowest t")).to_be_focused()
    choose(page, "Logit bias")
    assert order(page)[0] == "logit_bias"
    expect(page.get_by_role("textbox", name="Add token to Logit bias")).to_be_focused()
    choose(page, "DRY")
    assert page.evaluate("t.state.settings.dry.breakers") == [9, 40]  # the tokenizer's
    button(page, "Add stage").click()
    expect(page.get_by_role("menuitem")).to_have_count(len(STAGES) - 9)


def test_added_cards_can_go_and_the_first_five_cannot(page: Page):
    for name in ("Repetition penalty", "Temperature", "Top-k", "Top-p", "Min-p"):
        expect(button(page, f"Remove {name}")).to_have_count(0)
    choose(page, "Top-n-sigma")
    slider(page, "Top-n-sigma").fill("1.5")
    calls(page)
    button(page, "Remove Top-n-sigma").click()
    assert calls(page) == [["set", {"order": FIRST, "top_n_sigma": 0}], ["settle"]]
    assert order(page) == FIRST
    assert spoken(page) == "Top-n-sigma removed."
    expect(grip(page, "Min-p")).to_be_focused()
    choose(page, "Top-n-sigma")
    assert page.evaluate("t.state.settings.top_n_sigma") == 1.5  # it knows what it was


def test_the_menu_by_keyboard(page: Page):
    opener = button(page, "Add stage")
    opener.press("Enter")
    item = page.get_by_role("menuitem")
    expect(item.nth(0)).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(item.nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(item.last).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("t")
    expect(page.get_by_role("menuitem", name="Top-n-sigma", exact=True)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("menu", name="Add stage")).to_be_hidden()
    expect(opener).to_be_focused()
    opener.press("Enter")
    page.keyboard.press("x")
    page.keyboard.press("Enter")
    assert order(page)[-1] == "xtc"


def test_keys_of_the_menu_are_no_shortcuts_of_the_page(page: Page):
    page.evaluate("document.addEventListener('keydown', e => t.calls.push(['key', e.key]), true)")
    calls(page)
    button(page, "Add stage").click()
    for key in ("s", "ArrowDown", "Escape"):
        page.keyboard.press(key)
    assert calls(page) == []
    grip(page, "Top-k").press("s")
    assert calls(page) == [["key", "s"]]


def test_with_all_stages_on_the_page_there_is_nothing_to_add(page: Page):
    update(page, "{settings: {order: [...t.DEFAULT_ORDER]}}")
    expect(button(page, "Add stage")).to_be_disabled()


# --- order ----------------------------------------------------------------------------------------


def test_alt_and_arrow_move_a_card(page: Page):
    calls(page)
    grip(page, "Top-k").press("Alt+ArrowUp")
    moved = ["repetition_penalty", "top_k", "temperature", "top_p", "min_p"]
    assert calls(page) == [["set", {"order": moved}], ["settle"]]
    assert order(page) == moved
    expect(grip(page, "Top-k")).to_be_focused()
    assert spoken(page) == "Top-k: place 2 of 5, after repetition penalty."
    grip(page, "Top-k").press("Alt+ArrowUp")
    grip(page, "Top-k").press("Alt+ArrowUp")
    assert spoken(page) == "Top-k is first already."
    assert order(page)[0] == "top_k"
    for _ in range(5):
        grip(page, "Top-k").press("Alt+ArrowDown")
    assert order(page)[-1] == "top_k"
    expect(grip(page, "Top-k")).to_be_focused()


def test_a_grabbed_card_follows_the_arrows(page: Page):
    top_p = grip(page, "Top-p")
    top_p.press("Enter")
    expect(top_p).to_have_attribute("aria-pressed", "true")
    assert spoken(page).startswith("Top-p grabbed, place 4 of 5, after top-k. Arrow keys move it")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert order(page) == ["repetition_penalty", "top_p", "temperature", "top_k", "min_p"]
    expect(top_p).to_be_focused()
    page.keyboard.press("Escape")
    assert order(page) == FIRST
    assert spoken(page) == "Top-p put back, place 4 of 5, after top-k."
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    expect(top_p).to_have_attribute("aria-pressed", "false")
    assert order(page) == [*FIRST[:3], "min_p", "top_p"]
    page.keyboard.press("ArrowUp")  # no longer grabbed: the page scrolls, the card stays
    assert order(page) == [*FIRST[:3], "min_p", "top_p"]


def test_a_card_that_is_left_grabbed_is_dropped(page: Page):
    grip(page, "Top-p").press("Enter")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    expect(grip(page, "Top-p")).to_have_attribute("aria-pressed", "false")
    assert order(page) == ["repetition_penalty", "temperature", "top_p", "top_k", "min_p"]


def middle(page: Page, name: str) -> tuple[float, float]:
    box = grip(page, name).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_card_is_dragged_by_its_handle(page: Page):
    x, y = middle(page, "Min-p")
    _, goal = middle(page, "Temperature")
    calls(page)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, (y + goal) / 2)
    page.mouse.move(x, goal - 4, steps=4)
    expect(card(page, "Min-p")).to_have_class(re.compile("dv-card-dragged"))
    assert calls(page) == []  # until it is dropped
    update(page)  # a message comes in meanwhile
    page.mouse.up()
    wanted = ["repetition_penalty", "min_p", "temperature", "top_k", "top_p"]
    assert calls(page) == [["set", {"order": wanted}], ["settle"]]
    assert order(page) == wanted
    assert spoken(page) == "Min-p dropped, place 2 of 5, after repetition penalty."
    assert page.locator(".dv-card-dragged, .dv-card[style*=translate]").count() == 0


def test_escape_ends_a_drag(page: Page):
    x, y = middle(page, "Min-p")
    _, goal = middle(page, "Temperature")
    calls(page)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, goal, steps=3)
    page.keyboard.press("Escape")
    page.mouse.up()
    assert calls(page) == []
    assert order(page) == FIRST
    assert page.locator(".dv-card-dragged, .dv-card[style*=translate]").count() == 0


def test_a_finger_drags_a_card_and_does_not_scroll(browser: Browser):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with cards_page(browser, **phone) as page:
        button(page, "Greedy").scroll_into_view_if_needed()
        x, y = middle(page, "Top-p")
        _, goal = middle(page, "Temperature")
        devtools = page.context.new_cdp_session(page)
        scrolled = page.evaluate("scrollY")

        def touch(kind: str, *at: float) -> None:
            points = [{"x": at[0], "y": at[1]}] if at else []
            devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

        touch("touchStart", x, y)
        for share in (0.25, 0.5, 0.75, 1):
            touch("touchMove", x, y + (goal - 6 - y) * share)
        touch("touchEnd")
        assert order(page) == ["repetition_penalty", "top_p", "temperature", "top_k", "min_p"]
        assert page.evaluate("scrollY") == scrolled
        assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_another_order_says_what_it_changes_and_leads_back(page: Page):
    back = button(page, "Default order")
    expect(back).to_be_hidden()
    swapped = ["repetition_penalty", "top_p", "temperature", "top_k", "min_p"]
    update(page, f"{{settings: {{order: {swapped}, temperature: 2, top_p: 0.9, top_k: 0}}}}")
    view = page.evaluate("t.update().default_order")
    expect(page.locator(".dv-order-note")).to_contain_text(view["sentence"])
    assert "would stay instead of" in view["sentence"]
    calls(page)
    back.click()
    assert calls(page) == [["set", {"order": FIRST}], ["settle"]]
    expect(back).to_be_hidden()
    assert spoken(page) == "The stages stand in their default order."
    # Cards that are off stand in an order too, but change nothing.
    update(page, "{settings: {order: ['min_p', 'temperature'], min_p: 0}}")
    expect(back).to_be_visible()
    expect(page.locator(".dv-order-note span")).to_have_text("")
