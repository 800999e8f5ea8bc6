"""Cards of every stage: one line while off, fields, what they did."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from engine.stages import STAGES
from tests.browser.cards_page import (
    ALL,
    alone,
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


def height(page: Page, name: str) -> float:
    return card(page, name).bounding_box()["height"]


def test_a_card_that_is_off_is_one_line_with_its_slider(page: Page):
    assert height(page, "Min-p") < 40
    assert height(page, "Top-k") > 80
    expect(slider(page, "Min-p")).to_be_visible()
    expect(card(page, "Min-p").locator(".dv-card-body")).to_be_hidden()
    top = slider(page, "Min-p").bounding_box()["y"]
    assert abs(top - exact(page, "Min-p").bounding_box()["y"]) < 12  # beside its field
    page.get_by_role("switch", name="Top-k on", exact=True).click()
    assert height(page, "Top-k") < 40
    expect(card(page, "Top-k")).to_have_class(re.compile("dv-card-faded"))


def test_a_thumb_that_passes_the_off_value_stays_under_the_hand(page: Page):
    """At 1 the temperature is off; the card must not fold up while one is dragging through it."""
    box = slider(page, "Temperature").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.45, middle)
    page.mouse.down()
    seen = set()
    for share in range(45, 56):
        page.mouse.move(box["x"] + box["width"] * share / 100, middle)
        seen.add(page.evaluate("t.state.settings.temperature"))
        assert slider(page, "Temperature").bounding_box() == box
    page.mouse.up()
    assert min(seen) < 1 < max(seen)
    assert height(page, "Temperature") > 80
    # And the other way: a card that is switched on by its slider opens once the hand lets go.
    box = slider(page, "Min-p").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 8, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    assert slider(page, "Min-p").bounding_box() == box
    page.mouse.up()
    assert height(page, "Min-p") > 80


def test_keys_through_the_off_value_keep_the_focus(page: Page):
    field = slider(page, "Temperature")
    for _ in range(12):
        field.press("ArrowRight")
    assert page.evaluate("t.state.settings.temperature") == pytest.approx(1.02)
    expect(field).to_be_focused()


def test_details_open_and_close(page: Page):
    ask = button(page, "About Typical-p")
    alone(page, "typical_p")
    expect(ask).to_have_attribute("aria-expanded", "false")
    ask.press("Enter")
    expect(ask).to_have_attribute("aria-expanded", "true")
    details = card(page, "Typical-p")
    expect(details).to_contain_text("whose surprise is closest to the entropy")
    paper = details.get_by_role("link", name="Meister et al. 2022")
    expect(paper).to_have_attribute("href", "https://arxiv.org/abs/2202.00666")
    expect(paper).to_have_attribute("rel", "noopener noreferrer")
    ask.click()
    expect(paper).to_be_hidden()


def test_every_field_has_a_slider_and_an_exact_field(page: Page):
    update(page, ALL)
    for stage in page.evaluate(
        "t.STAGES.map(({name, label, editor, fields}) => "
        "({name, label, editor, fields: fields.map(f => f.label)}))"
    ):
        if stage["editor"] == "number":
            names = [stage["label"]]
        elif stage["editor"] == "numbers":
            names = [f"{stage['label']} {field.lower()}" for field in stage["fields"]]
        else:
            names = []
        for name in names:
            expect(slider(page, name)).to_be_visible()
            expect(exact(page, name)).to_be_visible()
        expect(page.get_by_role("switch", name=f"{stage['label']} on", exact=True)).to_be_visible()
    assert page.locator(".dv-card").count() == len(STAGES) + 1


def test_one_field_of_several_changes_and_the_others_stay(page: Page):
    alone(page, "xtc")
    calls(page)
    exact(page, "XTC probability").fill("0.25")
    exact(page, "XTC probability").press("Enter")
    changed = {"xtc": {"threshold": 0.05, "probability": 0.25}}
    assert calls(page) == [["set", changed], ["settle"]]
    slider(page, "XTC threshold").press("ArrowRight")
    assert calls(page)[0] == ["set", {"xtc": {"threshold": 0.06, "probability": 0.25}}]
    switch = page.get_by_role("switch", name="XTC on", exact=True)
    switch.click()
    assert calls(page) == [["set", {"xtc": None}], ["settle"]]
    expect(card(page, "XTC").locator(".dv-fields")).to_be_hidden()
    switch.click()
    assert calls(page)[0] == ["set", {"xtc": {"threshold": 0.06, "probability": 0.25}}]


def test_nonsense_in_a_field_of_several(page: Page):
    alone(page, "dry")
    calls(page)
    field = exact(page, "DRY last n tokens")
    expect(field).to_have_value("all")
    field.fill("0")
    field.press("Enter")
    expect(card(page, "DRY").get_by_role("alert").filter(visible=True)).to_have_text(
        "dry.last_n must be -1 or at least 1, got 0; "
        "use -1 for the whole context, or a positive number of tokens."
    )
    assert calls(page) == []
    field.fill("64")
    field.press("Enter")
    assert calls(page)[0][1]["dry"]["last_n"] == 64
    assert page.evaluate("t.state.settings.dry.breakers") == [9, 40]  # no control, but kept
    field.fill("All")
    field.press("Enter")
    assert calls(page)[0][1]["dry"]["last_n"] == -1
    slider(page, "DRY last n tokens").press("ArrowRight")
    assert calls(page)[0][1]["dry"]["last_n"] == 15  # 0 means nothing, so the slider passes over it


def test_the_ends_of_a_pair_give_way(page: Page):
    alone(page, "dynamic_temperature")
    calls(page)
    slider(page, "Dynamic temperature lowest t").fill("1.8")
    ends = calls(page)[0][1]["dynamic_temperature"]
    assert ends == {"low": 1.8, "high": 1.8, "exponent": 1}
    slider(page, "Dynamic temperature highest t").fill("0.3")
    ends = calls(page)[0][1]["dynamic_temperature"]
    assert ends == {"low": 0.3, "high": 0.3, "exponent": 1}


def test_mirostat_s_bound_comes_back_with_its_tau(page: Page):
    """No answer of the server's comes in between: what the step before left is not lost."""
    options = "{pending: true, mirostat: {tau: 3, mu: 2.2}}"
    alone(page, "mirostat", options=options)
    own = card(page, "Mirostat")
    for tau, mu in ((3, "2.20"), (5, "10.00"), (3, "2.20")):
        update(page, f"{{settings: {{mirostat: {{tau: {tau}, eta: 0.1}}}}}}", options)
        expect(own).to_contain_text(f"μ = {mu} bits")


def test_a_stage_without_effect_says_why(page: Page):
    update(page, "{settings: {temperature: 0}}")
    own = card(page, "Top-p")
    expect(own).to_contain_text("no effect here")
    expect(own).to_contain_text("temperature 0 has already left a single token")
    expect(own).to_have_class(re.compile("dv-card-faded"))
    expect(page.get_by_role("switch", name="Top-p on", exact=True)).to_have_attribute(
        "aria-checked", "true"
    )
    update(page, "{settings: {order: ['top_k', 'mirostat'], mirostat: {tau: 5, eta: 0.1}}}")
    remark = card(page, "Top-k").locator(".dv-card-remark")
    expect(remark).to_have_text(
        "mirostat sees only the tokens left here, and may not reach its tau"
    )


def test_a_slide_changes_little_and_rebuilds_nothing(page: Page):
    update(page, ALL)
    assert page.evaluate("t.changes_of([0], {})")["changes"] == 0
    assert page.evaluate("t.changes_of([0], {top_p: 0.94})")["rebuilt"] == 0


def test_stages_after_one_that_removed_every_token(page: Page):
    banned = "{sequences: [[0], [1], [2], [3]]}"
    settings = f"{{order: ['banned', 'frequency_penalty', 'top_h', 'xtc'], banned: {banned}, "
    settings += "frequency_penalty: 1, top_h: 0.5, xtc: {threshold: 0.1, probability: 1}}"
    update(page, f"{{settings: {settings}}}", "{logits: Float64Array.from([4, 3, 2, 1])}")
    expect(card(page, "Banned words")).to_contain_text("4 → 0 tokens")
    for name in ("Frequency penalty", "Top-H", "XTC"):
        expect(card(page, name)).to_contain_text("an earlier stage removed every token")
