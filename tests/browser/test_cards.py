"""The controls on the stage cards, and the draw: no server, no model.

The page shapes a row of 16,384 scores by the component's own arithmetic.
"""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.cards_page import (
    button,
    calls,
    card,
    cards_page,
    exact,
    open_cards,
    path,
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


def test_names_values_and_ranges(page: Page):
    ranges = {
        "Repetition penalty": ("1", "2", "0.01", "1", "off"),
        "Temperature": ("0", "2", "0.01", "0.9", "0.90"),
        "Top-k": ("0", "200", "1", "8", "8"),
        "Top-p": ("0.01", "1", "0.01", "0.9", "0.90"),
        "Min-p": ("0", "1", "0.005", "0", "off"),
    }
    for name, (low, high, step, value, spoken) in ranges.items():
        found = slider(page, name)
        expect(found).to_have_attribute("min", low)
        expect(found).to_have_attribute("max", high)
        expect(found).to_have_attribute("step", step)
        expect(found).to_have_value(value)
        expect(found).to_have_attribute("aria-valuetext", spoken)
        expect(exact(page, name)).to_be_visible()
        expect(page.get_by_role("switch", name=f"{name} on", exact=True)).to_be_visible()
    names = page.locator(".dv-card-name").all_inner_texts()
    assert names == [*ranges, "Draw"]  # the order of the chain
    expect(exact(page, "Seed")).to_have_value("7")
    update(page, "{settings: {temperature: 0, top_k: 1000}}")
    expect(slider(page, "Temperature")).to_have_attribute("aria-valuetext", "greedy")
    expect(slider(page, "Top-k")).to_have_value("200")  # stands at its end
    expect(slider(page, "Top-k")).to_have_attribute("aria-valuetext", "1,000")
    expect(exact(page, "Top-k")).to_have_value("1000")


def test_keys_and_fill_move_a_slider_directly(page: Page):
    slider(page, "Temperature").press("ArrowRight")
    assert calls(page) == [["set", {"temperature": 0.91}], ["settle"]]
    slider(page, "Top-k").fill("50")
    assert calls(page)[0] == ["set", {"top_k": 50}]
    expect(slider(page, "Top-k")).to_have_attribute("aria-valuetext", "50")
    expect(exact(page, "Top-k")).to_have_value("50")
    slider(page, "Repetition penalty").press("End")
    assert calls(page)[0] == ["set", {"repetition_penalty": 2}]


def test_a_drag_sets_on_every_movement_and_is_never_overwritten(page: Page):
    box = slider(page, "Top-p").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.9, middle)
    page.mouse.down()
    for share in (0.7, 0.6, 0.5):
        page.mouse.move(box["x"] + box["width"] * share, middle)
    held = slider(page, "Top-p").input_value()
    moved = calls(page)
    assert len(moved) >= 3
    assert {name for name, *_ in moved} == {"set"}
    assert moved[-1][1] == {"top_p": float(held)}
    update(page, "{settings: {top_p: 0.2}}")  # a late message
    expect(slider(page, "Top-p")).to_have_value(held)
    page.mouse.up()
    assert calls(page) == [["settle"]]
    update(page)
    expect(slider(page, "Top-p")).to_have_value("0.2")


def test_typing_is_never_overwritten(page: Page):
    field = exact(page, "Temperature")
    field.press("ControlOrMeta+a")
    field.press_sequentially("1.3")
    update(page, "{settings: {temperature: 0.5}}")
    expect(field).to_have_value("1.3")
    assert calls(page) == []  # a half-typed number is not applied
    expect(field).to_have_attribute("aria-valuenow", "0.9")
    field.press("Enter")
    assert calls(page) == [["set", {"temperature": 1.3}], ["settle"]]
    expect(field).to_have_value("1.30")
    expect(field).to_have_attribute("aria-valuenow", "1.3")
    field.press("ArrowUp")
    assert calls(page) == [["set", {"temperature": 1.31}], ["settle"]]
    # As on the page itself, which redraws only before the next frame:
    page.evaluate("void (t.actions.set = changes => t.calls.push(['set', changes]))")
    field.press("ArrowUp")
    field.press("ArrowUp")
    assert [call[1] for call in calls(page)[::2]] == [{"temperature": 1.32}, {"temperature": 1.33}]


SENTENCES = [
    (
        "Top-p",
        "1.4",
        "top_p must be above 0 and at most 1, got 1.4; "
        "use 1 to switch it off, or temperature 0 for greedy.",
    ),
    (
        "Top-k",
        "16385",
        "top_k is above the vocabulary of 16,384 tokens, got 16385; "
        "use at most 16,384, or 0 to switch it off.",
    ),
    (
        "Top-k",
        "2.5",
        "top_k must be 0 or a positive whole number, got 2.5; "
        "use 0 to switch it off, or a whole number of tokens to keep.",
    ),
    (
        "Temperature",
        "-1",
        "temperature must not be negative, got -1; "
        "use 0 for greedy, or 0.000001 or more (1 leaves the model’s own odds).",
    ),
    (
        "Temperature",
        "warm",
        "temperature must be a number, got “\u2068warm\u2069”; "
        "use 0 for greedy, or 0.000001 or more (1 leaves the model’s own odds).",
    ),
    (
        "Min-p",
        "",
        "min_p must be a number, got nothing; "
        "use 0 to switch it off, 0.05 to 0.1 with a high temperature.",
    ),
    (
        "Repetition penalty",
        "2000",
        "repetition_penalty must be between 0.001 and 1000, got 2000; "
        "use 1 to switch it off, 1.1 to 1.3 against loops.",
    ),
    (
        "Seed",
        "9007199254740992",
        "seed is out of range, got 9007199254740992; "
        "use a whole number from 0 to 9,007,199,254,740,991.",
    ),
]


def test_nonsense_gets_a_sentence_and_is_not_applied(page: Page):
    for name, typed, sentence in SENTENCES:
        field = exact(page, name)
        field.fill(typed)
        field.blur()
        alert = card(page, "Draw" if name == "Seed" else name).get_by_role("alert")
        expect(alert).to_have_text(sentence)
        expect(field).to_have_attribute("aria-invalid", "true")
        update(page)
        expect(field).to_have_value(typed)  # stays, to be mended
        assert calls(page) == []
        field.press("Escape")
        expect(alert).to_be_hidden()
    exact(page, "Top-p").fill("7")
    exact(page, "Top-p").blur()
    slider(page, "Top-p").press("ArrowLeft")
    expect(card(page, "Top-p").get_by_role("alert")).to_be_hidden()  # set elsewhere
    expect(exact(page, "Top-p")).to_have_value("0.89")


def test_exact_values_beyond_the_slider(page: Page):
    for name, setting, typed, value in [
        ("Temperature", "temperature", "1e6", 1e6),
        ("Repetition penalty", "repetition_penalty", "0.5", 0.5),
        ("Top-k", "top_k", "16384", 16384),
        ("Seed", "seed", "9007199254740991", 9007199254740991),
    ]:
        exact(page, name).fill(typed)
        exact(page, name).press("Enter")
        assert calls(page) == [["set", {setting: value}], ["settle"]]


def test_switches_remember(page: Page):
    switch = page.get_by_role("switch", name="Top-k on", exact=True)
    expect(switch).to_have_attribute("aria-checked", "true")
    switch.click()
    assert calls(page) == [["set", {"top_k": 0}], ["settle"]]
    expect(switch).to_have_attribute("aria-checked", "false")
    expect(card(page, "Top-k")).to_contain_text("off")
    switch.click()
    assert calls(page)[0] == ["set", {"top_k": 8}]
    never_on = page.get_by_role("switch", name="Min-p on", exact=True)
    never_on.press("Space")
    assert calls(page)[0] == ["set", {"min_p": 0.05}]


def test_effects_say_what_each_stage_did(page: Page):
    top_k = card(page, "Top-k")
    expect(top_k).to_contain_text("16,384 → 8 tokens")
    expect(top_k).to_contain_text(re.compile(r"removed \d+\.\d\d % of the mass"))
    expect(card(page, "Temperature")).to_contain_text(
        re.compile(r"entropy \d\.\d\d → \d\.\d\d bits")
    )
    expect(card(page, "Repetition penalty")).to_contain_text("off")
    tied = "t.LOGITS.map((z, id) => id >= 7 && id < 11 ? t.LOGITS[7] : z)"
    update(page, "{}", f"{{logits: {tied}}}")
    expect(top_k).to_contain_text("16,384 → 11 tokens (3 tied with the 8th)")
    update(page, "{settings: {repetition_penalty: 1.3}}", "{}")
    expect(card(page, "Repetition penalty")).to_contain_text("5 tokens of the text lowered")


def test_the_draw_card_in_each_situation(page: Page):
    draw = card(page, "Draw")
    expect(draw).to_contain_text(re.compile(r"u = 0\.587130 in \[0\.\d{6}, \d\.\d{6}\)"))
    expect(draw).to_contain_text("drew ")
    update(page, "{}", "{pending: true}")
    expect(draw).to_contain_text("will be drawn with u = 0.587130")
    update(page, "{}", "{recorded: {...t.state.settings, temperature: 1.4}, u: 0.9}")
    expect(draw.locator(".dv-draw-line")).to_have_text(re.compile(r"^same u now draws “␣\w+”$"))
    update(page, "{settings: {temperature: 0}}", "{}")
    expect(draw).to_contain_text("temperature 0")
    expect(draw).to_contain_text("the highest score is taken, no random number")
    assert path(page, "draw", "needle") == ""
    update(page, "{settings: {temperature: 1}, steps: [t.step_of(13, {forced: true, u: null})]}")
    expect(draw).to_contain_text("chosen by hand, no draw")


def test_a_greedy_step_says_that_re_roll_would_draw(page: Page):
    update(page, "{steps: [t.step_of(0, {u: null})], row: {u: null}}", "{undrawn: true}")
    expect(card(page, "Draw")).to_contain_text("taken greedily; Re-roll draws one")
    expect(button(page, "Stage: Draw")).to_contain_text("taken greedily")


def test_a_seed_typed_at_a_recorded_step_is_for_the_next_draw(page: Page):
    draw = card(page, "Draw")
    exact(page, "Seed").fill("11")
    expect(draw).to_contain_text("used from the next draw on")
    exact(page, "Seed").press("Enter")
    assert calls(page)[0] == ["set", {"seed": 11}]
    expect(draw).to_contain_text("used from the next draw on")
    update(page, "{index: 1}", "{pending: true}")
    expect(draw).not_to_contain_text("used from")
    exact(page, "Seed").fill("12")
    expect(draw).not_to_contain_text("used from")  # it is used for this very draw


def test_no_text_yet(page: Page):
    update(page, "{steps: []}", "{none: true}")
    expect(button(page, "Stage: Logits")).to_be_disabled()
    expect(page.locator("#notice")).to_have_text(re.compile("^Notice:\\s*$"))
    slider(page, "Temperature").press("ArrowRight")  # settings can be chosen beforehand
    assert calls(page)[0] == ["set", {"temperature": 0.91}]


def test_a_phone_never_scrolls_sideways_and_hostile_labels_stay_text(page: Page):
    hostile = "'<img src=x onerror=alert(1)>\\u202e'.repeat(20)"
    update(page, f"{{point: 2, slow: true, steps: [t.step_of(0, {{label: {hostile}}})]}}")
    page.set_viewport_size({"width": 390, "height": 844})
    try:
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.locator("#loop img, #cards img, #notice img").count() == 0
        assert page.evaluate("document.querySelector('.dv-loop-track').scrollLeft") >= 0
    finally:
        page.set_viewport_size({"width": 1440, "height": 1000})


def test_an_update_writes_only_what_differs(page: Page):
    everything = "[0, 1, 2]"
    assert page.evaluate(f"t.changes_of({everything}, {{}})")["changes"] == 2  # aria-live, of two
    slid = page.evaluate(f"t.changes_of({everything}, {{temperature: 0.5}})")
    assert slid["rebuilt"] == 0
    assert slid["changes"] < 90  # all pictures and figures; not every attribute of every element
