"""Token strip and branches, each mounted alone on a page of its own."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.panels_page import (
    TWO_BRANCHES,
    calls,
    desktop,
    mounted,
    show,
    tokens,
)


@pytest.fixture(scope="module")
def desktop_page(browser: Browser) -> Iterator[Page]:
    with desktop(browser) as page:
        yield page


@pytest.fixture
def page(desktop_page: Page) -> Iterator[Page]:
    yield from mounted(desktop_page)


def test_strip_has_one_item_per_token_with_its_facts(page: Page) -> None:
    show(page, "make_state(5, {index: 2})")
    expect(tokens(page)).to_have_count(10)
    expect(page.locator("li.generated")).to_have_count(5)
    expect(page.locator("li[aria-current=true]")).to_have_text("␣a")
    title = page.locator("li.generated").nth(2).get_attribute("title")
    assert title.startswith("token 3, id 262, 30.00 %, rank 3")
    assert page.locator("li[tabindex='0'], .dv-slot[tabindex='0']").count() == 1


def test_strip_marks_forced_special_and_partial_tokens_in_words(page: Page) -> None:
    marks = "make_step(0, {forced: true}), make_step(1, {special: true, label: '</s>'}), "
    marks += "make_step(2, {partial: true, label: '<0xE2>'})"
    show(page, f"make_state(0, {{steps: [{marks}], index: 0}})")
    for number, (name, words) in enumerate(
        [("forced", "forced"), ("special", "special"), ("partial", "part of a character")]
    ):
        item = page.locator("li.generated").nth(number)
        assert name in item.get_attribute("class").split()
        assert words in item.get_attribute("title")
    # Each mark has a shape of its own: no two look alike without colour.
    borders = page.evaluate(
        """Array.from(document.querySelectorAll('li.generated'),
             li => getComputedStyle(li).borderTopStyle)"""
    )
    assert borders == ["dashed", "double", "solid"]


def test_strip_marks_prompt_tokens_that_are_bytes(page: Page) -> None:
    labels = ["<0xF0>", "␣<0xE2><0x80>", "␣is", "<0x41>"]
    prompt = f"{json.dumps(labels)}.map((label, id) => ({{ id, label, special: false }}))"
    show(page, f"make_state(1, {{prompt_tokens: {prompt}}})")
    items = page.locator("li.prompt")
    for item, is_partial in zip(items.all(), (True, True, False, False), strict=True):
        assert ("partial" in item.get_attribute("class").split()) == is_partial
        assert ("part of a character" in item.get_attribute("title")) == is_partial


def test_clicks_and_keys_in_the_strip_inspect_steps(page: Page) -> None:
    show(page, "make_state(5, {index: 2})")
    page.evaluate(
        """() => { actions.inspect = index => {
          calls.push(['inspect', index]);
          show({ ...state, index }, view);
        }; }"""
    )
    page.locator("li.generated").nth(1).click()
    assert calls(page, "inspect") == [["inspect", 1]]
    page.locator("li[aria-current=true]").focus()
    for key in ("ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowLeft", "End", "Home"):
        page.keyboard.press(key)
    assert [index for _, index in calls(page, "inspect")] == [1, 2, 1, 0, 0, 5, 0]
    assert page.evaluate("document.activeElement === document.querySelectorAll('li.generated')[0]")
    page.locator(".dv-slot").click()
    assert calls(page, "inspect")[-1] == ["inspect", 5]
    expect(page.locator(".dv-slot")).to_have_attribute("aria-current", "true")
    expect(page.locator("li[aria-current]")).to_have_count(0)


def test_enter_on_a_token_inspects_it_and_accepts_nothing(page: Page) -> None:
    """With the page's own keys listening, for which Enter accepts a proposed token."""
    show(page, "make_state(5, {manual: true, index: 2})")
    page.evaluate(
        """async () => {
          const { listen } = await import('/js/lib/keys.js');
          Object.assign(actions, { is_busy: () => false, proceed: () => calls.push(['proceed']) });
          listen(document.querySelector('.dv'), actions, () => true);
        }"""
    )
    page.locator("li.generated").nth(3).focus()
    page.keyboard.press("Enter")
    page.locator(".dv-slot").focus()
    page.keyboard.press("Enter")
    assert [index for _, index in calls(page, "inspect")] == [3, 5]
    assert calls(page, "proceed") == []


def test_slot_shows_a_proposal_and_goes_when_the_text_is_over(page: Page) -> None:
    slot = page.locator(".dv-slot")
    show(page)
    expect(slot).to_have_text("?")
    show(page, "make_state(5, {manual: true, index: 5})", "make_view({is_pending: true, index: 5})")
    expect(slot).to_have_text("␣Paris")
    expect(slot).to_have_accessible_name("proposed token ␣Paris")
    expect(tokens(page)).to_have_count(10)  # the slot is not a token yet
    over = "{reason: 'end', sentence: 'The text is over.', is_over: true}"
    show(page, f"make_state(5, {{stop: {over}}})")
    expect(slot).to_be_hidden()


def test_line_end_tokens_break_the_line(page: Page) -> None:
    show(page, "make_state(0, {steps: [make_step(0, {label: '⏎⏎'}), make_step(1)], index: 1})")
    first, second = (page.locator("li.generated").nth(at).bounding_box() for at in (0, 1))
    assert second["y"] >= first["y"] + 20
    left = page.locator(".dv-tokens li").first.bounding_box()["x"]
    assert second["x"] == pytest.approx(left, abs=1)
    show(page, "make_state(2)")  # the same items with other tokens: back on one line
    first, second = (page.locator("li.generated").nth(at).bounding_box() for at in (0, 1))
    assert second["y"] == first["y"]


def test_right_to_left_tokens_stay_in_their_order(page: Page) -> None:
    show(
        page,
        "make_state(0, {steps: ['␣שלום', '␣עולם', '.', '␣ok'].map((label, at) => "
        "make_step(at, {label})), index: 3})",
    )
    lefts = [item.bounding_box()["x"] for item in page.locator("li.generated").all()]
    assert lefts == sorted(lefts)


def test_legend_names_what_is_coloured(page: Page) -> None:
    show(page)
    legend = page.locator(".dv-strip-legend")
    expect(legend).to_contain_text("80–100 %")
    select = page.get_by_role("combobox", name="Colour tokens by")
    assert page.locator("li.generated").first.get_attribute("class").split()[2] == "dv-shade-5"
    select.select_option(label="the model’s own probability")  # 3 % for each
    assert page.locator("li.generated").first.get_attribute("class").split()[2] == "dv-shade-1"
    select.select_option(label="entropy after temperature")  # 2.02 bits
    expect(legend).to_contain_text("below 0.5 bits")
    assert page.locator("li.generated").first.get_attribute("class").split()[2] == "dv-shade-3"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_shade_and_removed_row_is_legible(page: Page, theme: str) -> None:
    page.evaluate("theme => document.querySelector('.dv').dataset.theme = theme", theme)
    show(page, "make_state(6)")
    pairs = page.evaluate(
        """() => {
          const css = (selector, name) =>
            Array.from(document.querySelectorAll(selector), found => getComputedStyle(found)[name]);
          const ground =
            getComputedStyle(document.querySelector('.dv')).getPropertyValue('--dv-panel').trim();
          const probe = document.createElement('i');
          probe.style.background = ground;
          document.body.append(probe);
          const panel = getComputedStyle(probe).backgroundColor;
          const inks = css('li.generated', 'color');
          const shades = css('li.generated', 'backgroundColor').map((shade, at) => [inks[at],
            shade]);
          return [...shades, [css('tr.removed .dv-bar', 'color')[0], panel]];
        }"""
    )
    assert len(pairs) == 7
    for ink, ground in pairs:
        assert contrast(ink, ground) >= 4.5, (ink, ground)


def contrast(first: str, second: str) -> float:
    """WCAG contrast of two colours as the browser writes them: rgb(0, 0, 0)."""
    low, high = sorted(map(luminance, (first, second)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    parts = [float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_long_texts_append_without_touching_what_stands(page: Page) -> None:
    result = page.evaluate(
        """() => {
          const box = document.querySelector('.dv-strip-box');
          show(make_state(2000), make_view());
          const seen = [];
          const observer = new MutationObserver(records => seen.push(...records));
          observer.observe(box, { childList: true, subtree: true, characterData: true });
          const before = document.querySelector('li.generated');
          const steps = [...state.steps, make_step(2000)];
          parts.strip.update({ ...state, steps, index: 2000 }, view);
          seen.push(...observer.takeRecords());
          const added = seen.reduce((sum, record) => sum + record.addedNodes.length, 0);
          return {
            added, same: before === document.querySelector('li.generated'),
            at_end: box.scrollTop + box.clientHeight >= box.scrollHeight - 12, page: window.scrollY,
          };
        }"""
    )
    assert result["added"] == 1
    assert result["same"] and result["at_end"] and result["page"] == 0
    expect(tokens(page)).to_have_count(2006)


def test_strip_follows_the_newest_unless_scrolled_up(page: Page) -> None:
    show(page, "make_state(900)")
    box = page.locator(".dv-strip-box")
    button = page.get_by_role("button", name="to the newest")
    expect(button).to_be_hidden()
    assert box.bounding_box()["height"] < 320
    box.hover()
    page.mouse.wheel(0, -400)
    expect(button).to_be_visible()
    top = box.evaluate("box => box.scrollTop")
    show(page, "make_state(901)")
    assert box.evaluate("box => box.scrollTop") == top
    button.click()
    expect(button).to_be_hidden()
    show(page, "make_state(902, {index: 902})")
    assert box.evaluate("box => box.scrollTop + box.clientHeight - box.scrollHeight") > -12
    assert page.evaluate("window.scrollY") == 0


def test_focus_in_the_strip_survives_a_rewind(page: Page) -> None:
    show(page)
    page.locator("li[aria-current=true]").focus()
    show(page, "make_state(2)")
    assert page.evaluate("document.activeElement.getAttribute('aria-current')") == "true"


def test_branches_appear_once_there_are_two(page: Page) -> None:
    group = page.get_by_role("radiogroup", name="Branches")
    show(page)
    expect(group).to_be_hidden()
    show(page, TWO_BRANCHES)
    first, second = group.get_by_role("radio").all()
    expect(first).to_have_text("1: from the start ␣Paris. 20 tokens")
    expect(second).to_contain_text("2: departs at token 5 with ␣London␣is")
    expect(second).to_contain_text("12 tokens")
    expect(second).to_be_checked()
    expect(first).not_to_be_checked()
    second.focus()
    page.keyboard.press("ArrowLeft")
    expect(first).to_be_focused()
    page.keyboard.press("Enter")
    assert calls(page, "switch_branch") == [["switch_branch", 1]]
