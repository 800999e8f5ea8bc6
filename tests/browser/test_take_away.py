""" "Take it away": the settings as code for other engines, in a dialog."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from engine.sampling import SamplingSettings
from engine.snippets import snippets
from tests.browser.cards_page import button, calls, cards_page, open_cards
from tests.ui.hostile import HOSTILE


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[Page]:
    with cards_page(browser, permissions=["clipboard-read", "clipboard-write"]) as page:
        yield page


@pytest.fixture
def page(opened: Page) -> Page:
    open_cards(opened)
    return opened


def write(page: Page, prompt: str = "The capital of France is") -> list[dict]:
    """Let the server answer with the engine's own snippets."""
    settings = SamplingSettings(temperature=0.7, top_p=0.9, typical_p=0.8, seed=3)
    written = [
        {
            "target": snippet.target,
            "language": snippet.language,
            "code": snippet.code,
            "lacking": [list(remark) for remark in snippet.lacking],
            "differs": [list(remark) for remark in snippet.differs],
        }
        for snippet in snippets(settings, prompt, model="gpt2", max_tokens=64)
    ]
    page.evaluate("all => { t.answers.snippets = all; }", written)
    return written


def open_dialog(page: Page) -> None:
    button(page, "Take it away").click()
    expect(page.get_by_role("dialog", name="Take it away")).to_be_visible()


def test_a_tab_for_each_target_with_its_code_and_remarks(page: Page):
    written = write(page)
    calls(page)
    open_dialog(page)
    assert calls(page) == [["snippets"]]
    tabs = page.get_by_role("tab")
    expect(tabs).to_have_text([snippet["target"] for snippet in written])
    for snippet in written:
        page.get_by_role("tab", name=snippet["target"], exact=True).click()
        panel = page.get_by_role("tabpanel", name=snippet["target"], exact=True)
        assert panel.locator("code").inner_text() == snippet["code"]
        remarks = panel.get_by_role("listitem").all_inner_texts()
        told = [*snippet["lacking"], *snippet["differs"]]
        assert len(remarks) == len(told)
        assert all(text in shown for (_, text), shown in zip(told, remarks, strict=True))
    vllm = next(snippet for snippet in written if snippet["target"] == "vLLM")
    assert [name for name, _ in vllm["lacking"]] == ["typical_p"]


def test_copy_takes_the_code_as_it_is(page: Page):
    written = write(page, 'quote " back ` \\ $(rm) \u202e ' + "".join(HOSTILE).replace("\x00", ""))
    open_dialog(page)
    for place in (0, len(written) - 1):
        page.get_by_role("tab").nth(place).click()
        button(page, "Copy").click()
        expect(page.get_by_role("dialog")).to_contain_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == written[place]["code"]
    assert page.locator("dialog script, dialog img, dialog b").count() == 0


def test_copy_without_the_clipboard_of_a_secure_page(page: Page):
    written = write(page)
    refused = "() => Promise.reject(new DOMException('no', 'NotAllowedError'))"
    page.evaluate(f"void (navigator.clipboard.writeText = {refused})")
    page.evaluate("navigator.clipboard.__proto__.writeText.call(navigator.clipboard, 'before')")
    open_dialog(page)
    button(page, "Copy").click()
    expect(page.get_by_role("dialog")).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()").strip() == written[0]["code"].strip()


def test_tabs_and_escape_by_keyboard(page: Page):
    page.evaluate("document.addEventListener('keydown', e => t.calls.push(['key', e.key]), true)")
    written = write(page)
    opener = button(page, "Take it away")
    opener.press("Enter")
    tabs = page.get_by_role("tab")
    expect(tabs).to_have_count(len(written))
    calls(page)
    tabs.nth(0).focus()
    page.keyboard.press("ArrowLeft")
    expect(tabs.last).to_be_focused()
    expect(tabs.last).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowRight")
    expect(tabs.nth(0)).to_be_focused()
    page.keyboard.press("s")  # the page's shortcut for Step
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Take it away")).to_be_hidden()
    expect(opener).to_be_focused()
    assert calls(page) == []


def test_a_press_beside_the_dialog_closes_it_and_one_inside_does_not(page: Page):
    write(page)
    open_dialog(page)
    dialog = page.get_by_role("dialog", name="Take it away")
    box = dialog.bounding_box()
    page.mouse.click(box["x"] + 6, box["y"] + 6)
    expect(dialog).to_be_visible()
    page.mouse.click(box["x"] - 30, box["y"] + 30)
    expect(dialog).to_be_hidden()


def test_no_answer_is_said(page: Page):
    page.evaluate("t.answers.snippets = []")
    open_dialog(page)
    expect(page.get_by_role("dialog")).to_contain_text("No code came back")
    expect(page.get_by_role("tabpanel")).to_be_hidden()
    button(page, "Close").click()
    expect(page.get_by_role("dialog", name="Take it away")).to_be_hidden()


def test_on_a_phone_the_code_scrolls_within_and_the_close_button_is_in_reach(browser: Browser):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with cards_page(browser, **phone) as page:
        write(page, "word " * 60)
        open_dialog(page)
        expect(page.get_by_role("tab")).to_have_count(8)
        dialog = page.get_by_role("dialog", name="Take it away")
        assert dialog.evaluate("node => node.scrollWidth <= node.clientWidth")
        assert dialog.bounding_box()["width"] == 390
        code = dialog.locator("pre")
        assert code.evaluate("node => node.scrollWidth > node.clientWidth")
        button(page, "Close").tap()
        expect(dialog).to_be_hidden()
