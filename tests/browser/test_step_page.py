"""The step page as a visitor meets it; elements are found by the names a screen reader says."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import ARTEFACTS
from tests.ui import hostile

TITLES = [
    "Logits",
    "Softmax",
    "Cumulative probability",
    "Rank curve",
    "KV cache",
    "Latency per step",
]
HOSTILE_PROMPT = "<script>alert(1)</script> <img src=x onerror=alert(1)> $x$ *b* `code`"


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def tokens(page: Page) -> Locator:
    return page.get_by_role("list", name="Tokens", exact=True).get_by_role("listitem")


def generated(page: Page) -> Locator:
    return page.locator('ol[aria-label="Tokens"] li.generated')


def slider(page: Page, name: str) -> Locator:
    return page.get_by_role("group", name=name, exact=True).get_by_role("slider")


def opened(page: Page) -> Page:
    page.goto("/")
    expect(tokens(page).first).to_be_visible()
    return page


def take_steps(page: Page, count: int) -> None:
    before = generated(page).count()
    for number in range(before + 1, before + count + 1):
        button(page, "Step").click()
        expect(generated(page)).to_have_count(number)


def settle(page: Page) -> None:
    """Until Streamlit has drawn everything it has to draw."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


def refuse_dialogs(page: Page) -> list[str]:
    seen: list[str] = []

    def on_dialog(dialog) -> None:
        seen.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", on_dialog)
    return seen


def test_one_step_appends_one_token(page: Page):
    page.goto("/")
    expect(page).to_have_title(re.compile("Decoding Visualiser"))
    expect(page.get_by_role("textbox", name="Prompt", exact=True)).to_be_visible()
    step = button(page, "Step")
    expect(step).to_be_visible()
    expect(
        tokens(page).first
    ).to_be_visible()  # the prompt's tokens are there before the first step
    before = tokens(page).all_inner_texts()

    step.click()

    expect(tokens(page)).to_have_count(len(before) + 1)
    assert tokens(page).all_inner_texts()[: len(before)] == before, (
        "a step must not change earlier tokens"
    )


@pytest.mark.parametrize(
    ("name", "width", "height", "scheme"),
    [
        ("desktop-light", 1440, 900, "light"),
        ("desktop-dark", 1440, 900, "dark"),
        ("phone", 390, 844, "light"),
    ],
)
def test_twenty_steps_fill_every_chart(page: Page, name, width, height, scheme):
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)
    opened(page)
    take_steps(page, 20)
    for title in TITLES:
        figure = page.get_by_role("figure", name=title, exact=True)
        expect(figure).to_be_visible()
        expect(figure.locator(".gtitle")).to_have_text(title)
        expect(figure.locator("path.point, .point path, path.js-line").first).to_be_attached()
    rows = page.get_by_role("table", name="Candidates", exact=True).get_by_role("row")
    expect(rows).to_have_count(1 + 15 + 1)
    expect(rows.filter(has_text="chosen")).to_have_count(1)
    for label in ("Temperature", "Top-k", "Top-p", "Min-p", "Repetition penalty"):
        expect(slider(page, label)).to_be_attached()

    main = page.get_by_test_id("stMain")
    for element in (page.locator("html"), main):
        over = element.evaluate("e => e.scrollWidth - e.clientWidth")
        assert over <= 0, f"the page is {over} pixels wider than the window"
    settle(page)
    tall = main.evaluate("e => e.scrollHeight")
    page.set_viewport_size({"width": width, "height": tall + 20})
    settle(page)
    page.screenshot(path=ARTEFACTS / f"step-page-{name}.png", animations="disabled")


def test_a_slider_reshapes_the_inspected_step_only(page: Page):
    opened(page)
    take_steps(page, 3)
    before = tokens(page).all_inner_texts()
    table = page.get_by_role("table", name="Candidates", exact=True)
    shown = table.inner_text()

    slider(page, "Temperature").press("End")

    expect(page.get_by_role("spinbutton", name="Temperature, exact value")).to_have_value("2")
    expect(table).not_to_have_text(shown)
    expect(page.get_by_text("The settings differ now")).to_be_visible()
    assert tokens(page).all_inner_texts() == before


def test_play_runs_until_paused(page: Page):
    opened(page)
    slider(page, "Temperature").press("End")  # varied text does not end soon
    button(page, "Play").click()
    expect(generated(page).nth(2)).to_be_visible()
    button(page, "Pause").click()
    expect(button(page, "Play")).to_be_visible()
    settle(page)
    count = generated(page).count()
    # A tick that was still to come would change the number that this step arrives at.
    take_steps(page, 1)
    assert generated(page).count() == count + 1


def test_rewind_and_run_to_end_repeat_the_text(page: Page):
    opened(page)
    page.get_by_role("spinbutton", name="Max tokens").fill("6")
    page.get_by_role("spinbutton", name="Max tokens").press("Enter")
    settle(page)
    button(page, "Run to end").click()
    expect(generated(page)).to_have_count(6)
    expect(page.get_by_text("Stopped: max tokens is 6, and there are 6 tokens")).to_be_visible()
    before = tokens(page).all_inner_texts()

    button(page, "Rewind").click()
    expect(generated(page)).to_have_count(0)
    expect(button(page, "Back")).to_be_disabled()
    button(page, "Run to end").click()
    expect(generated(page)).to_have_count(6)
    assert tokens(page).all_inner_texts() == before


def test_a_long_run_can_be_paused_and_gone_on_with(page: Page):
    opened(page)
    slider(page, "Temperature").press("End")
    slider(page, "Top-k").press("Home")  # nearly random text, which does not end by itself
    slider(page, "Top-p").press("End")
    page.get_by_role("spinbutton", name="Max tokens").fill("1000")
    page.get_by_role("spinbutton", name="Max tokens").press("Enter")
    settle(page)
    button(page, "Run to end").click()
    expect(page.get_by_text("of up to 1,000 tokens")).to_be_visible()
    button(page, "Pause").click()
    expect(button(page, "Play")).to_be_visible()
    settle(page)
    assert 0 < generated(page).count() < 1000
    take_steps(page, 1)


def test_an_empty_prompt_is_a_sentence_and_loses_nothing(page: Page):
    opened(page)
    take_steps(page, 2)
    page.get_by_role("textbox", name="Prompt", exact=True).fill("")
    button(page, "Start").click()
    expect(page.get_by_role("alert").filter(has_text="The prompt is empty")).to_be_visible()
    expect(generated(page)).to_have_count(2)


def test_a_hostile_prompt_is_shown_literally(page: Page):
    dialogs = refuse_dialogs(page)
    opened(page)
    page.get_by_role("textbox", name="Prompt", exact=True).fill(HOSTILE_PROMPT)
    button(page, "Start").click()
    expect(page.get_by_test_id("stCode")).to_contain_text(HOSTILE_PROMPT)
    shown = "".join(tokens(page).all_inner_texts()).replace("␣", " ")
    assert shown == HOSTILE_PROMPT
    take_steps(page, 1)
    expect(page.locator("img[src='x']")).to_have_count(0)
    assert dialogs == []


def test_hostile_tokens_and_messages_are_shown_literally(page: Page, tmp_path):
    """A model whose vocabulary is markup: tokens, candidates, charts, captions, error messages."""
    dialogs = refuse_dialogs(page)
    folder = hostile.save(tmp_path / "*b* $x$ <img src=x onerror=alert(1)>")
    opened(page)
    page.get_by_text("Another model").click()
    source = page.get_by_role("textbox", name="Folder or hub id")

    source.fill("<img src=x onerror=alert(1)> *b* $x$ :material/add:")
    button(page, "Load").click()
    message = page.get_by_role("alert").filter(has_text="There is no folder")
    expect(message).to_contain_text("<img src=x onerror=alert(1)> *b* $x$")
    expect(message.locator("em, img, .katex")).to_have_count(0)

    source.fill(folder)
    button(page, "Load").click()
    expect(page.get_by_text("*b* $x$ <img src=x onerror=alert(1)>").first).to_be_visible()
    take_steps(page, 10)
    page.get_by_role("spinbutton", name="Rows").fill("64")
    page.get_by_role("spinbutton", name="Rows").press("Enter")
    table = page.get_by_role("table", name="Candidates", exact=True)
    expect(table.get_by_role("row")).to_have_count(1 + 64 + 1)
    for shown in ("<script>alert(1)</script>", "<b>bold</b>", "$x$", ":red[r]", "⟨U+200B⟩", "␍⏎"):
        expect(table.get_by_role("rowheader", name=shown, exact=True)).to_be_visible()
    settle(page)
    for figure in page.get_by_role("figure").all():
        expect(figure.locator(".gtitle")).to_be_visible()
    expect(page.locator("img[src='x'], li b, td b, .katex")).to_have_count(0)
    assert dialogs == []


def test_the_trace_downloads_as_json(page: Page, tmp_path):
    from engine.trace import Trace

    opened(page)
    take_steps(page, 2)
    settle(page)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download the trace (JSON)").click()
    path = tmp_path / "run.json"
    waiting.value.save_as(path)
    trace = Trace.load(path)
    assert len(trace.steps) == 2 and trace.prompt == "The capital of France is"
