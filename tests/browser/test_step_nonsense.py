"""What the step page refuses with a sentence, and hostile texts that it shows literally."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.step_page import (
    button,
    force_buttons,
    generated,
    opened,
    prompt,
    refuse_dialogs,
    start,
    state,
    table,
    take_steps,
    tokens,
)
from tests.ui import hostile

HOSTILE_PROMPT = "<script>alert(1)</script> <img src=x onerror=alert(1)> $x$ *b* `code`"


def test_an_empty_prompt_is_a_sentence_and_loses_nothing(page: Page):
    opened(page)
    take_steps(page, 2)
    prompt(page).fill("")
    button(page, "Start").click()
    expect(page.get_by_role("alert").filter(has_text="The prompt is empty")).to_be_visible()
    expect(generated(page)).to_have_count(2)


@pytest.mark.parametrize("nonsense", ["", "0", "-3", "1000000000"])
def test_nonsense_in_max_tokens_is_a_sentence_and_blocks_nothing(page: Page, nonsense):
    opened(page)
    page.get_by_text("Stop rules, trace, keys").click()
    field = page.get_by_role("spinbutton", name="Max tokens")
    field.fill(nonsense)
    field.press("Tab")
    problem = page.get_by_role("alert").filter(has_text="max_tokens must be a whole number")
    expect(problem).to_contain_text(f"got {nonsense or 'nothing'}; 64 stays in force")
    page.get_by_text("Stop rules, trace, keys").click()
    take_steps(page, 2)
    assert state(page, "state.limits.max_tokens") == 64


def test_a_hostile_prompt_is_shown_literally(page: Page):
    dialogs = refuse_dialogs(page)
    opened(page)
    start(page, HOSTILE_PROMPT)
    shown = "".join(tokens(page).all_inner_texts()).replace("␣", " ")
    assert shown == HOSTILE_PROMPT
    take_steps(page, 1)
    expect(page.locator("img[src='x']")).to_have_count(0)
    assert dialogs == []


def load_folder(page: Page, folder: str) -> None:
    page.get_by_role("button", name="Model:").click()
    page.get_by_text("Folder", exact=False).first.click()
    page.get_by_role("textbox", name=re.compile("Folder")).fill(folder)
    button(page, "Load").click()


def test_hostile_tokens_and_messages_are_shown_literally(page: Page, tmp_path):
    """A model whose vocabulary is markup: tokens, candidates, charts, hover, error messages."""
    dialogs = refuse_dialogs(page)
    folder = hostile.save(tmp_path / "*b* $x$ <img src=x onerror=alert(1)>")
    opened(page)
    load_folder(page, folder)
    expect(page.locator(".dv-chip")).to_contain_text("*b* $x$ <img src=x onerror=alert(1)>")
    button(page, "Pure sampling").click()
    take_steps(page, 10)
    page.get_by_role("combobox", name="Rows").select_option("100")
    expect(force_buttons(page)).to_have_count(64)  # all there are
    for shown in ("<script>alert(1)</script>", "<b>bold</b>", "$x$", ":red[r]", "⟨U+200B⟩", "␍⏎"):
        expect(table(page).get_by_role("button", name=f"Force {shown}", exact=True)).to_be_visible()
    page.wait_for_function("document.querySelector('.dv').decoding.charts_drawn > 0")
    expect(page.locator("img[src='x'], .dv ol li b, .dv td button b, .dv script")).to_have_count(0)
    assert dialogs == []
