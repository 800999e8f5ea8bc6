"""Growing a text on the step page: buttons, keys, branches, stages, and refusals."""

import json

import pytest
from playwright.sync_api import Page, expect

from engine.decoder import Decoder
from engine.trace import Trace
from tests.browser.step_page import (
    CAPITAL,
    alert,
    button,
    choose_setting,
    force_buttons,
    generated,
    ids,
    opened,
    prompt,
    round_trip,
    set_samplers,
    settle,
    slider,
    start,
    state,
    table,
    take_steps,
    tokens,
    turn_random,
    wait_for,
)
from tests.bundled import bundled
from tests.ui import hostile
from ui.texts.settings import parse_settings

OPEN = "Once upon a time, there was a little"


@pytest.fixture
def page(step_page: Page) -> Page:
    """The step page as it opens."""
    return step_page


def decoder_of(page: Page, text: str) -> Decoder:
    """Return the engine with this page's settings."""
    settings, _ = parse_settings(state(page, "state.settings"))
    return Decoder(bundled(), text, settings)


def switch_on(page: Page, name: str) -> None:
    if name == "Slow motion":
        button(page, name).click()
    else:
        choose_setting(page, "checkbox", name, True)


# --- buttons --------------------------------------------------------------------------------------


def test_text_and_its_trace_match_the_engine(page: Page, tmp_path):
    prompt(page).fill(CAPITAL)
    set_samplers(page, temperature=0.8, top_k=40, top_p=0.9)
    take_steps(page, 4)
    settle(page)
    assert state(page, "state.prompt") == CAPITAL
    decoder = decoder_of(page, CAPITAL)
    for _ in range(4):
        decoder.step()
    assert ids(page) == decoder.token_ids
    distribution = decoder.distribution(3)
    rows = state(page, "view.rows")
    for row, candidate in zip(rows, distribution.candidates(len(rows)), strict=True):
        assert (row["rank"], row["id"]) == (candidate.rank, candidate.token_id)
        assert row["removed_by"] == candidate.removed_by
        assert row["prob"] == pytest.approx(candidate.prob, rel=1e-9)
        assert row["final_prob"] == pytest.approx(candidate.final_prob, rel=1e-9)
    assert state(page, "[view.kept, view.draw.u]") == [distribution.survivors, decoder.steps[3].u]

    page.locator(".dv-settings summary").click()
    with page.expect_download() as waiting:
        button(page, "Save trace (JSON)").click()
    waiting.value.save_as(tmp_path / "run.json")
    trace = Trace.load(tmp_path / "run.json")
    assert [step.token_id for step in trace.steps] == decoder.token_ids
    assert json.loads((tmp_path / "run.json").read_text())["prompt"] == CAPITAL

    # Through the guard and back: packed in the browser, replayed by the model.
    with page.expect_file_chooser() as chooser:
        button(page, "Open a trace (JSON)").click()
    chooser.value.set_files(tmp_path / "run.json")
    expect(page.get_by_text("identical in all 4 steps.").first).to_be_visible()
    assert ids(page) == decoder.token_ids

    # A colleague's trace: no model here has its weights, so it is read-only, also after a reload.
    data = json.loads((tmp_path / "run.json").read_text())
    data["model"] |= {"source": "/home/alice/models/own", "weights_hash": "0" * 64}
    (tmp_path / "other.json").write_text(json.dumps(data))
    page.locator(".dv-settings summary").click()
    with page.expect_file_chooser() as chooser:
        button(page, "Open a trace (JSON)").click()
    chooser.value.set_files(tmp_path / "other.json")
    expect(page.get_by_text("This text is read-only, as the model").first).to_be_visible()
    opening = page.evaluate("() => window.opening")
    page.reload()
    page.evaluate("opening => { window.opening = opening; }", opening)  # for the next test
    expect(page.get_by_text("This text is read-only, as the model").first).to_be_visible()
    settle(page)
    assert ids(page) == decoder.token_ids
    for name in ("Step", "Play", "Run to end", "Back", "Rewind", "Re-roll"):
        expect(button(page, name)).to_be_disabled()
    generated(page).nth(2).click()
    rows = page.locator(".dv-recorded tbody tr")
    expect(rows).to_have_count(10)
    taken = decoder.distribution(2).candidates(1)[0]
    drawn = f"{100 * taken.final_prob:.2f} %"
    expect(rows.first).to_contain_text(drawn)
    start(page)
    expect(generated(page)).to_have_count(0)
    expect(page.locator(".dv-recorded")).to_be_hidden()


def test_play_repeats_the_text_of_run_to_end(page: Page):
    turn_random(page)
    choose_setting(page, "spinbutton", "Max tokens", "6")
    button(page, "Run to end").click()
    expect(generated(page)).to_have_count(6)
    expect(button(page, "Run to end")).to_be_disabled()
    text = tokens(page).all_inner_texts()
    button(page, "Back").click()
    expect(generated(page)).to_have_count(5)
    button(page, "Rewind").click()
    expect(generated(page)).to_have_count(0)
    expect(button(page, "Rewind")).to_be_disabled()
    page.get_by_role("combobox", name="Speed").select_option("fastest")
    button(page, "Play").click()
    expect(generated(page)).to_have_count(6)
    expect(button(page, "Play")).to_be_visible()
    expect(tokens(page)).to_have_text(text, use_inner_text=True)


def test_pause_step_and_new_prompt_stop_play(page: Page):
    turn_random(page)
    for way, length in (("Pause", 3), ("Step", 6)):
        button(page, "Play").click()
        expect(generated(page).nth(length)).to_be_visible()
        button(page, way).click()
        expect(button(page, "Play")).to_be_visible()
        settle(page)
        count = len(ids(page))
        round_trip(page)
        assert len(ids(page)) == count
    button(page, "Play").click()
    start(page, "A new prompt")
    expect(button(page, "Play")).to_be_visible()
    take_steps(page, 1)


PLACES = """
() => {
  const places = () =>
    [...document.querySelectorAll('[data-part=strip] :is(li.dv-token, .dv-slot)')].map(token => {
      const { x, y, width, height } = token.getBoundingClientRect();
      return [token.textContent, x, y, width, height];
    });
  const list = document.querySelector('.dv-tokens');
  const blocks = [...list.children].slice(0, -1).map(block => [block, [...block.childNodes]]);
  const in_blocks = places();
  list.lastChild.prepend(...blocks.flatMap(([, nodes]) => nodes));
  const in_one_flow = places();
  for (const [block, nodes] of blocks) block.append(...nodes);
  return [in_blocks, in_one_flow];
}
"""


def assert_as_one_flow(page: Page) -> None:
    in_blocks, in_one_flow = page.evaluate(PLACES)
    assert in_blocks == in_one_flow


def test_blocks_of_finished_lines_leave_every_token_in_its_place(page: Page):
    turn_random(page)
    state(page, "actions.limit({ max_tokens: 450 })")
    button(page, "Run to end").click()
    wait_for(page, "state.mode === 'paused' && state.steps.length === 450")
    settle(page)
    blocks = page.locator(".dv-lines")
    assert blocks.count() >= 2
    assert_as_one_flow(page)
    first = blocks.first.locator("li.generated").count()
    generated(page).nth(first - 1).click()
    wait_for(page, "state.index === arg - 1 && state.row && !actions.is_busy()", first)
    force_buttons(page).nth(1).click()  # another length: the block's last line may change
    wait_for(page, "state.steps.length === arg && !actions.is_busy()", first)
    assert blocks.count() == 0
    button(page, "Run to end").click()
    wait_for(page, "state.mode === 'paused' && state.steps.length === 450")
    settle(page)
    assert_as_one_flow(page)
    generated(page).first.focus()
    page.set_viewport_size({"width": 1200, "height": 900})
    expect(blocks).to_have_count(0)
    expect(generated(page).first).to_be_focused()


def test_empty_prompt_is_refused_and_text_kept(page: Page):
    take_steps(page, 2)
    before = ids(page)
    for press in ("Start", "Step", "Play"):
        prompt(page).fill("")
        button(page, press).click()
        expect(alert(page, "The prompt is empty")).to_be_visible()
        button(page, "Dismiss").click()
    settle(page)
    assert ids(page) == before


# --- keys -----------------------------------------------------------------------------------------


def menus_close_by_escape(page: Page) -> None:
    """Check that Escape closes both kinds of menus and returns the focus to its opener."""
    for name in ("Settings", "Add sampler"):
        opener = page.locator(f"summary:text-is('{name}'), button[aria-label='{name}']")
        opener.click()
        menu = page.locator("details[open], [role=menu]").filter(visible=True)
        inside = menu.locator("button, input").filter(visible=True)
        expect(inside.first, name).to_be_visible()
        inside.first.focus()
        page.keyboard.press("Escape")
        expect(inside.first, name).to_be_hidden()
        expect(opener).to_be_focused()


def test_everything_can_be_done_by_keyboard_alone(page: Page):
    menus_close_by_escape(page)
    set_samplers(page, temperature=2)
    prompt(page).focus()
    page.keyboard.press("Control+A")
    page.keyboard.type(OPEN)
    page.keyboard.press("Control+Enter")
    wait_for(page, "state.prompt === arg && !state.starting", OPEN)
    for key, count in (("s", 1), ("S", 2), ("s", 3), ("b", 2), ("s", 3), ("s", 4)):
        page.keyboard.press(key)
        expect(generated(page)).to_have_count(count)
    page.keyboard.press("p")
    expect(generated(page).nth(5)).to_be_visible()
    page.keyboard.press("p")
    expect(button(page, "Play")).to_be_visible()
    settle(page)
    length = len(ids(page))
    page.keyboard.press("ArrowLeft")
    wait_for(page, "view.index === arg", length - 2)
    page.keyboard.press("ArrowRight")
    wait_for(page, "view.index === arg", length - 1)
    generated(page).nth(length - 1).focus()
    page.keyboard.press("Home")
    wait_for(page, "view.index === 0")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("s")  # a typed letter is not a shortcut
    assert len(ids(page)) == length
    button(page, "Step").focus()
    page.keyboard.press("Space")
    expect(generated(page)).to_have_count(length + 1)
    page.locator("[data-part=line]").click()  # empty background, after which keys work as before
    page.keyboard.press("0")
    expect(generated(page)).to_have_count(0)


# --- step by step ---------------------------------------------------------------------------------


def test_manual_mode_waits_for_enter_or_another_choice(page: Page):
    switch_on(page, "Manual mode")
    wait_for(page, "view?.is_pending && view.chosen")
    proposed = state(page, "view.draw.label")
    expect(generated(page)).to_have_count(0)
    page.locator("[data-part=line]").click()  # outside the menu
    page.keyboard.press("Enter")
    expect(generated(page)).to_have_text([proposed])
    wait_for(page, "view.is_pending && view.index === 1 && view.chosen")
    other = state(page, "view.rows.find(row => row.id !== view.draw.id).label")
    button(page, f"Force {other}").click()
    expect(generated(page)).to_have_text([proposed, other])
    wait_for(page, "view.is_pending && view.index === 2 && view.chosen")
    settle(page)
    seen = state(page, "view.draw.id")
    # Nearly uniform, so that the new seed draws a different token.
    state(page, "(actions.set({ seed: 4321, temperature: 50 }), actions.step(), null)")
    wait_for(page, "view.draw.id !== arg", seen)
    settle(page)
    expect(generated(page)).to_have_count(2)  # the press was for the token on screen


def test_slow_motion_stops_at_stages_and_counts_presses(page: Page):
    start(page)
    set_samplers(page, temperature=0.7, top_k=20)
    switch_on(page, "Slow motion")
    button(page, "Step").click()
    names = []
    while "drawn" not in names:
        wait_for(page, "state.point === arg && view.point === arg", len(names))
        names.append(state(page, "view.points[view.point].name"))
        kept = state(page, "view.kept")
        assert kept == state(page, "view.vocab") if len(names) < 3 else kept < 30
        expect(generated(page)).to_have_count(0)
        if names[-1] != "drawn":
            button(page, "Next stage").click()
    assert names == ["raw", "temperature", "top_k", "renormalised", "drawn"]
    # Presses before the answer: the first draws; the second finds the next token not yet seen.
    state(page, "(actions.next_stage(), actions.limit({}), actions.next_stage(), null)")
    expect(generated(page)).to_have_count(1)
    wait_for(page, "state.point === 0 && view.is_pending")
    state(page, "(actions.skip_stages(), actions.skip_stages(), null)")
    expect(generated(page)).to_have_count(2)
    settle(page)
    expect(generated(page)).to_have_count(2)


def test_recorded_step_shows_its_values_and_can_branch(page: Page):
    turn_random(page)
    take_steps(page, 5)
    settle(page)
    shown = "[view.chosen.id, view.draw.u, ...view.rows.map(row => row.prob)]"
    recorded = state(page, shown)
    take_steps(page, 3)
    first = tokens(page).all_inner_texts()
    generated(page).nth(4).click()
    expect(generated(page).nth(4)).to_have_attribute("aria-current", "true")
    wait_for(page, "view.index === 4")
    # The last digit depends on whether the server or the page added the weights up.
    assert state(page, shown) == pytest.approx(recorded, rel=1e-12)
    slider(page, "Temperature").fill("0.5")
    expect(page.locator("[data-part=line]")).to_contain_text("What if: temperature differs")
    button(page, "Show as recorded").click()
    wait_for(page, "view.as_recorded && !view.what_if")

    other = state(page, "view.rows.find(row => !row.chosen).label")
    button(page, f"Force {other}").click()
    expect(generated(page)).to_have_count(5)
    expect(generated(page).nth(4)).to_have_text(other)
    branches = page.get_by_role("radiogroup", name="Branches").get_by_role("radio")
    expect(branches).to_have_count(2)
    branches.first.click()
    expect(generated(page)).to_have_count(8)
    assert tokens(page).all_inner_texts() == first
    branches.last.click()
    expect(generated(page)).to_have_count(5)
    expect(generated(page).nth(4)).to_have_text(other)


# --- hostile texts --------------------------------------------------------------------------------


def test_hostile_tokens_and_prompts_stay_text(new_page: Page, tmp_path):
    """Open a model whose vocabulary is markup: strip, table, charts, hover boxes, messages."""
    new_page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    folder = hostile.save(tmp_path / "*b* $x$ <img src=x onerror=alert(1)>")
    page = opened(new_page)  # its model differs, so no later test takes this page
    page.get_by_role("button", name="Model:").click()
    page.get_by_test_id("stPopoverBody").get_by_text("Folder or GGUF file").click()
    page.get_by_role("textbox", name="Folder or file").fill(folder)
    button(page, "Load").click()
    wait_for(page, "state.model.vocab_size === 64")
    expect(page.get_by_role("button", name="Model:")).to_contain_text(
        "<img src=x onerror=alert(1)>"
    )
    page.keyboard.press("Escape")
    text = "w1|<script>alert(1)</script>|<img src=x onerror=alert(1)>|**b**"
    start(page, text)
    assert tokens(page).all_inner_texts() == text.replace(" ", "␣").split("|")
    turn_random(page)
    take_steps(page, 2)
    choose_setting(page, "combobox", "Rows of the table", "100")
    expect(force_buttons(page)).to_have_count(64)
    for shown in ("<script>alert(1)</script>", "<b>bold</b>", "$x$", ":red[r]", "⟨U+200B⟩", "␍⏎"):
        expect(table(page).get_by_role("button", name=f"Force {shown}", exact=True)).to_be_visible()
    for picture in ("By rank", "Draw", "Logits and softmax"):
        page.get_by_role("tab", name=picture).click()
        settle(page)
        foreign = "img[src=x], .dv ol li b, .dv td b, .dv script, .dv a[href^=javascript]"
        expect(page.locator(foreign)).to_have_count(0)
    bars = page.locator("[data-figure=softmax] .dv-plot").bounding_box()
    for place in (0.15, 0.5, 0.85):
        page.mouse.move(bars["x"] + bars["width"] * place, bars["y"] + 20)
        hover = page.locator(".hoverlayer .hovertext")
        expect(hover.first).to_be_visible()
        assert hover.locator("a, [style*='font-weight: bold']").count() == 0
