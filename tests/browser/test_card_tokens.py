"""Cards whose value is a list of tokens: biases and banned words."""

import re
from collections.abc import Iterator, Sequence

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.cards_page import (
    button,
    calls,
    card,
    cards_page,
    label,
    open_cards,
    update,
)
from tests.ui.hostile import HOSTILE


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[Page]:
    with cards_page(browser) as page:
        yield page


@pytest.fixture
def page(opened: Page) -> Page:
    open_cards(opened)
    return opened


def plain(found: Sequence[tuple[int, str]]) -> list[dict]:
    return [{"id": i, "label": text, "raw_rank": i + 1, "logit": 1.0} for i, text in found]


def answer(page: Page, *found: tuple[int, str]) -> None:
    """What any text is split into from now on."""
    page.evaluate("tokens => { t.answers.tokenize = tokens; }", plain(found))


def answer_by_text(page: Page, ways: dict[str, list[tuple[int, str]]]) -> None:
    """The same for each of these texts."""
    page.evaluate(
        """ways => { t.actions.tokenize = text => {
          t.calls.push(['tokenize', text]);
          return Promise.resolve(ways[text]);
        }; }""",
        {text: plain(found) for text, found in ways.items()},
    )


def offered(page: Page, name: str) -> list[str]:
    card(page, name).locator(".dv-choices button").first.wait_for()
    return card(page, name).locator(".dv-choices button").all_inner_texts()


def type_in(page: Page, name: str, text: str) -> None:
    page.get_by_role("textbox", name=name, exact=True).fill(text)
    page.get_by_role("textbox", name=name, exact=True).press("Enter")


def test_biases_are_added_changed_and_removed(page: Page):
    update(page, "{settings: {order: ['logit_bias', 'temperature'], logit_bias: null}}")
    calls(page)
    answer(page, (40, "␣Berlin"))
    type_in(page, "Add token to Logit bias", " Berlin")
    expect(page.get_by_role("list", name="Biased tokens")).to_contain_text("␣Berlin")
    assert calls(page) == [
        ["tokenize", " Berlin"], ["set", {"logit_bias": {"bias": [[40, 2]]}}], ["settle"]
    ]  # fmt: skip
    answer(page, (7, "␣Lyon"))
    type_in(page, "Add token to Logit bias", " Lyon")
    expect(page.get_by_role("list", name="Biased tokens").get_by_role("listitem")).to_have_count(2)
    # In the order of the ids, as the engine keeps them: else the step would not look as recorded.
    assert calls(page)[1][1] == {"logit_bias": {"bias": [[7, 2], [40, 2]]}}
    field = page.get_by_role("spinbutton", name="Bias of \u2068␣Lyon\u2069", exact=True)
    field.fill("-4.5")
    field.press("Enter")
    assert calls(page)[0] == ["set", {"logit_bias": {"bias": [[7, -4.5], [40, 2]]}}]
    field.fill("2000")
    field.press("Enter")
    alert = card(page, "Logit bias").get_by_role("alert").filter(visible=True)
    expect(alert).to_contain_text("logit_bias must be between -1000 and 1000, got 2000")
    assert calls(page) == []
    for name in ("␣Lyon", "␣Berlin"):
        button(page, f"Remove \u2068{name}\u2069").click()
    assert [call for call in calls(page) if call[0] == "set"] == [
        ["set", {"logit_bias": {"bias": [[40, 2]]}}], ["set", {"logit_bias": None}]
    ]  # fmt: skip


def test_a_text_of_several_tokens_offers_them(page: Page):
    update(page, "{settings: {order: ['logit_bias'], logit_bias: null}}")
    answer(page, (50, "Ber"), (51, "lin"))
    calls(page)
    type_in(page, "Add token to Logit bias", "Berlin")
    expect(card(page, "Logit bias")).to_contain_text("is 2 tokens; choose one:")
    assert calls(page) == [["tokenize", "Berlin"], ["tokenize", " Berlin"]]  # both ways the same
    choices = card(page, "Logit bias").locator(".dv-choices")
    choices.get_by_role("button", name=re.compile("^lin ")).click()
    assert calls(page)[0] == ["set", {"logit_bias": {"bias": [[51, 2]]}}]
    expect(choices.get_by_role("button")).to_have_count(0)
    answer(page)
    type_in(page, "Add token to Logit bias", "?")
    expect(card(page, "Logit bias")).to_contain_text("No token came back for this text.")


def test_an_empty_list_cannot_be_switched_on(page: Page):
    update(page, "{settings: {order: ['banned'], banned: null}}")
    calls(page)
    page.get_by_role("switch", name="Banned words on", exact=True).click()
    assert calls(page) == []
    expect(page.get_by_role("textbox", name="Add word to Banned words")).to_be_focused()


@pytest.mark.parametrize(
    ("name", "button_text", "empty"),
    [("logit_bias", "Add token", "{bias: []}"), ("banned", "Add word", "{sequences: []}")],
)
def test_an_empty_list_waits_for_its_first_token(
    page: Page, name: str, button_text: str, empty: str
):
    """As it is added, and as a settings value that was remembered: one and the same card."""
    title = label(page, name)
    switch = page.get_by_role("switch", name=f"{title} on", exact=True)
    box = page.get_by_role("textbox", name=f"{button_text} to {title}")
    button(page, "Add stage").click()
    page.get_by_role("menuitem", name=title, exact=True).click()
    added = page.evaluate("t.calls.filter(([name]) => name === 'set').at(-1)[1]")
    assert added[name] is None and name in added["order"]
    looks = []
    for value in ("null", empty):
        update(page, f"{{settings: {{{name}: {value}}}}}")
        assert page.evaluate("t.chain_of(t.state.settings).map(stage => stage.name)") == [
            "temperature",
            "top_k",
            "top_p",
        ]
        expect(switch).to_have_attribute("aria-checked", "false")
        expect(card(page, title)).to_have_class(re.compile("dv-card-faded"))
        expect(box).to_be_visible()
        page.evaluate("document.activeElement.blur()")
        calls(page)
        switch.click()
        assert calls(page) == []
        expect(box).to_be_focused()
        looks.append(card(page, title).evaluate("card => card.outerHTML"))
    assert looks[0] == looks[1]
    update(page, f"{{settings: {{{name}: {empty}}}}}", "{none: true}")
    expect(card(page, title).locator(".dv-effects")).to_have_text(re.compile("^off"))
    page.evaluate("t.answers.tokenize = [{id: 3, label: '␣located'}]")
    update(page, "{}", "{}")
    box.fill(" located")
    box.press("Enter")
    expect(switch).to_have_attribute("aria-checked", "true")


def test_words_are_banned_as_sequences_of_tokens(page: Page):
    update(page, "{settings: {order: ['banned'], banned: null}}")
    calls(page)
    answer(page, (3, "␣located"))
    type_in(page, "Add word to Banned words", " located")
    words = page.get_by_role("list", name="Banned words").get_by_role("listitem")
    expect(words).to_have_count(1)
    answer(page, (60, "␣Ber"), (61, "lin"))
    type_in(page, "Add word to Banned words", " Berlin")
    expect(words).to_have_count(2)
    expect(card(page, "Banned words")).to_contain_text("the last is banned after the others")
    sets = [call[1] for call in calls(page) if call[0] == "set"]
    assert sets[-1] == {"banned": {"sequences": [[3], [60, 61]]}}
    type_in(page, "Add word to Banned words", " Berlin")
    expect(card(page, "Banned words")).to_contain_text("is banned already")
    expect(card(page, "Banned words")).to_contain_text("16,384 → 16,383 tokens")
    button(page, "Remove \u2068␣Berlin\u2069").press("Enter")
    assert calls(page)[-2] == ["set", {"banned": {"sequences": [[3]]}}]
    expect(page.get_by_role("textbox", name="Add word to Banned words")).to_be_focused()


def test_hostile_tokens_are_text(page: Page):
    before = page.locator(".dv script, .dv img, .dv b").count()
    update(page, "{settings: {order: ['logit_bias', 'banned'], logit_bias: null, banned: null}}")
    for place, text in enumerate(HOSTILE):
        answer(page, (100 + place, text))
        type_in(page, "Add token to Logit bias", "x")
        type_in(page, "Add word to Banned words", "x")
    items = page.get_by_role("list", name="Biased tokens").get_by_role("listitem")
    expect(items).to_have_count(len(HOSTILE))
    answer(page, *((200 + place, text) for place, text in enumerate(HOSTILE)))
    type_in(page, "Add token to Logit bias", "<script>alert(1)</script>")
    expect(card(page, "Logit bias")).to_contain_text("choose one:")
    assert page.locator(".dv script, .dv img, .dv b").count() == before
    shown = page.evaluate("document.querySelector('[data-stage=logit_bias]').scrollWidth")
    assert shown <= card(page, "Logit bias").bounding_box()["width"]


BOY = {"boy": [(900, "boy")], " boy": [(0, "␣boy")]}
BERLIN = {"Berlin": [(50, "Ber"), (51, "lin")], " Berlin": [(3, "␣Berlin")]}


def test_a_word_to_ban_is_offered_as_it_comes_after_a_space_too(page: Page):
    update(page, "{settings: {order: ['banned'], banned: null}}")
    answer_by_text(page, {**BOY, **BERLIN, ",": [(9, ",")]})
    calls(page)
    type_in(page, "Add word to Banned words", "boy")
    expect(card(page, "Banned words")).to_contain_text("is something else after a space")
    raw = page.evaluate("t.update().rows[0].raw_prob")
    first, second, both = offered(page, "Banned words")
    assert first == f"␣boy {raw * 100:.2f} %"
    assert re.fullmatch(r"boy \d+\.\d+ %", second) and both == "Both"
    assert not any(
        name == "set" for name, *_ in calls(page)
    )  # nothing is banned before it is chosen
    choices = card(page, "Banned words").locator(".dv-choices")
    choices.get_by_role("button", name=re.compile("^␣boy")).click()
    expect(card(page, "Banned words")).to_contain_text("16,384 → 16,383 tokens")
    assert calls(page)[0] == ["set", {"banned": {"sequences": [[0]]}}]
    type_in(page, "Add word to Banned words", "boy")
    expect(card(page, "Banned words")).to_contain_text("is banned in one way already")
    assert len(offered(page, "Banned words")) == 1
    calls(page)
    type_in(page, "Add word to Banned words", "Berlin")
    expect(card(page, "Banned words")).to_contain_text("after a space")
    assert offered(page, "Banned words")[1].startswith("Berlin 2 tokens, ")
    choices.get_by_role("button", name="Both").click()
    assert calls(page)[2] == ["set", {"banned": {"sequences": [[0], [3], [50, 51]]}}]
    expect(card(page, "Banned words")).to_contain_text("is 2 tokens: the last is banned after")
    calls(page)
    type_in(page, "Add word to Banned words", ",")  # no word: as typed
    expect(page.get_by_role("list", name="Banned words").get_by_role("listitem")).to_have_count(4)
    assert calls(page)[0] == ["tokenize", ","]


def test_a_token_to_bias_is_offered_as_it_comes_after_a_space_too(page: Page):
    update(page, "{settings: {order: ['logit_bias'], logit_bias: null}}")
    answer_by_text(page, {**BOY, **BERLIN})
    type_in(page, "Add token to Logit bias", "boy")
    assert [text.split(" ")[0] for text in offered(page, "Logit bias")] == ["␣boy", "boy", "Both"]
    calls(page)
    choices = card(page, "Logit bias").locator(".dv-choices")
    choices.get_by_role("button", name="Both").click()
    assert calls(page)[0] == ["set", {"logit_bias": {"bias": [[0, 2], [900, 2]]}}]
    type_in(page, "Add token to Logit bias", "Berlin")
    expect(card(page, "Logit bias")).to_contain_text("is 2, after a space 1 token; choose one:")
    assert [t.split(" ")[0] for t in offered(page, "Logit bias")] == ["␣Berlin", "Ber", "lin"]


def test_without_scores_both_ways_are_offered_without_figures(page: Page):
    update(page, "{settings: {order: ['banned'], banned: null}, steps: []}", "{none: true}")
    answer_by_text(page, BOY)
    type_in(page, "Add word to Banned words", "boy")
    assert offered(page, "Banned words") == ["␣boy", "boy", "Both"]


@pytest.mark.parametrize("name", ["Add word to Banned words", "Add token to Logit bias"])
def test_that_a_space_counts_is_said_also_while_typing(page: Page, name: str):
    update(page, "{settings: {order: ['banned', 'logit_bias'], banned: null, logit_bias: null}}")
    box = page.get_by_role("textbox", name=name, exact=True)
    box.fill("boy")
    hint = page.locator(f"#{box.get_attribute('aria-describedby')}")
    expect(hint).to_be_visible()
    expect(hint).to_have_text("A leading space counts.")


@pytest.mark.parametrize("width", [1440, 390])
def test_words_of_many_pieces_stay_in_the_card_and_can_be_removed(page: Page, width: int):
    page.set_viewport_size({"width": width, "height": 1000})
    update(page, "{settings: {order: ['banned'], banned: null}}")
    script = "<script>alert(1)</script>"
    for text, pieces in {
        "a" * 199: [(300 + i, "a" * 2) for i in range(100)],
        script: [(500 + i, script[2 * i : 2 * i + 2]) for i in range(13)],
        "long": [(700, "W" * 60)],
    }.items():
        answer(page, *pieces)
        type_in(page, "Add word to Banned words", text)
    items = page.get_by_role("list", name="Banned words").get_by_role("listitem")
    expect(items).to_have_count(3)
    inside = card(page, "Banned words").bounding_box()
    right = inside["x"] + inside["width"]
    for item in items.all():
        cross = item.get_by_role("button").bounding_box()
        assert cross["x"] + cross["width"] <= right
        assert item.bounding_box()["height"] <= 110
        # No piece is squeezed to an ellipsis, or lies outside.
        squeezed = item.locator(".dv-list-token").evaluate_all(
            "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length"
        )
        assert squeezed == 0
        assert item.bounding_box()["x"] + item.bounding_box()["width"] <= right
    for left in (2, 1, 0):
        items.first.get_by_role("button").click()
        expect(items).to_have_count(left)
    page.set_viewport_size({"width": 1440, "height": 1000})
