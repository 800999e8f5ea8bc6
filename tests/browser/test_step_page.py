"""The step page as a visitor meets it; elements are found by the names a screen reader says."""

import json
import re

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from engine.decoder import Decoder
from engine.model import load_model
from engine.sampling import SamplingSettings
from tests.browser.conftest import ARTEFACTS, FIGURES
from tests.ui import hostile

CAPITAL = "The capital of France is"
HOSTILE_PROMPT = "<script>alert(1)</script> <img src=x onerror=alert(1)> $x$ *b* `code`"


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def tokens(page: Page) -> Locator:
    return page.get_by_role("list", name="Tokens", exact=True).get_by_role("listitem")


def generated(page: Page) -> Locator:
    return page.locator('ol[aria-label="Tokens"] li.generated')


def slider(page: Page, name: str) -> Locator:
    return page.get_by_role("slider", name=name, exact=True)


def table(page: Page) -> Locator:
    return page.get_by_role("table", name="Candidates", exact=True)


def force_buttons(page: Page) -> Locator:
    return table(page).get_by_role("button", name=re.compile("^Force "))


def prompt(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Prompt", exact=True)


def opened(page: Page) -> Page:
    page.goto("/")
    expect(force_buttons(page).first).to_be_visible()
    return page


def start(page: Page, text: str = CAPITAL) -> None:
    prompt(page).fill(text)
    button(page, "Start").click()
    expect(generated(page)).to_have_count(0)
    expect(page.locator(".dv")).to_have_attribute("data-length", "0")
    page.wait_for_function(
        "text => document.querySelector('.dv').decoding.state.prompt === text", arg=text
    )


def take_steps(page: Page, count: int) -> None:
    before = generated(page).count()
    for number in range(before + 1, before + count + 1):
        button(page, "Step").click()
        expect(generated(page)).to_have_count(number)


def state(page: Page, expression: str):
    """Something of the page's state, by a JavaScript expression over `state` and `view`."""
    return page.evaluate(
        f"(() => {{ const {{state, view}} = document.querySelector('.dv').decoding;"
        f" return {expression} }})()"
    )


def set_slider(page: Page, name: str, value: float) -> None:
    slider(page, name).fill(str(value))


def turn_random(page: Page) -> None:
    """Nearly random text, which neither ends soon nor repeats."""
    button(page, "Pure sampling").click()
    set_slider(page, "Temperature", 2)


def refuse_dialogs(page: Page) -> list[str]:
    seen: list[str] = []

    def on_dialog(dialog) -> None:
        seen.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", on_dialog)
    return seen


def sent_frames(page: Page) -> list:
    """What the page sends to the server from now on."""
    sent: list = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    return sent


def assert_no_sideways_scroll(page: Page) -> None:
    for element in (page.locator("html"), page.get_by_test_id("stMain")):
        over = element.evaluate("e => e.scrollWidth - e.clientWidth")
        assert over <= 0, f"the page is {over} pixels wider than the window"


def test_the_page_opens_with_the_next_token_s_candidates(page: Page):
    opened(page)
    expect(page).to_have_title(re.compile("Decoding Visualiser"))
    expect(prompt(page)).not_to_be_empty()
    expect(tokens(page).first).to_be_visible()
    expect(generated(page)).to_have_count(0)
    expect(force_buttons(page)).to_have_count(15)
    for name in ("Temperature", "Top-k", "Top-p", "Min-p", "Repetition penalty"):
        expect(slider(page, name)).to_be_visible()


def test_one_step_appends_one_token_and_changes_nothing_before_it(page: Page):
    opened(page)
    before = tokens(page).all_inner_texts()
    button(page, "Step").click()
    expect(tokens(page)).to_have_count(len(before) + 1)
    assert tokens(page).all_inner_texts()[: len(before)] == before


def test_the_numbers_are_the_engine_s(page: Page):
    """Twenty steps in the page, and the same twenty in this process."""
    opened(page)
    start(page)
    button(page, "Pure sampling").click()
    for name, value in (("Temperature", 0.8), ("Top-k", 40), ("Top-p", 0.9)):
        set_slider(page, name, value)
    take_steps(page, 20)
    settings = SamplingSettings(
        temperature=0.8, top_k=40, top_p=0.9, seed=state(page, "state.settings.seed")
    )
    decoder = Decoder(load_model(), CAPITAL, settings)
    for _ in range(20):
        decoder.step()
    assert state(page, "state.steps.map(step => step.id)") == decoder.token_ids
    distribution = decoder.distribution(19)
    rows = state(page, "view.rows")
    for row, candidate in zip(rows, distribution.candidates(len(rows)), strict=True):
        assert (row["rank"], row["id"]) == (candidate.rank, candidate.token_id)
        assert row["removed_by"] == candidate.removed_by
        assert row["prob"] == pytest.approx(candidate.prob, rel=1e-9)
        assert row["final_prob"] == pytest.approx(candidate.final_prob, rel=1e-9)
    assert state(page, "view.kept") == distribution.survivors
    assert state(page, "view.draw.u") == decoder.steps[19].u


@pytest.mark.parametrize(
    ("name", "width", "height", "scheme"),
    [
        ("desktop-light", 1440, 900, "light"),
        ("desktop-dark", 1440, 900, "dark"),
        ("phone", 390, 844, "light"),
    ],
)
def test_twenty_steps_fill_everything_without_sideways_scroll(
    page: Page, name, width, height, scheme
):
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)
    opened(page)
    turn_random(page)
    take_steps(page, 20)
    for title in FIGURES:
        figure = page.get_by_role("figure", name=title, exact=True)
        figure.scroll_into_view_if_needed()
        expect(figure).to_be_visible()
    page.wait_for_function("document.querySelector('.dv').decoding.charts_drawn > 0")
    chosen_beyond = state(page, "view.chosen.rank > 15")  # then it has a row of its own
    expect(force_buttons(page)).to_have_count(16 if chosen_beyond else 15)
    assert_no_sideways_scroll(page)
    tall = page.get_by_test_id("stMain").evaluate("e => e.scrollHeight")
    page.set_viewport_size({"width": width, "height": tall + 20})
    page.wait_for_timeout(600)  # charts that follow a new size have no event to wait for
    page.screenshot(path=ARTEFACTS / f"step-page-{name}.png", animations="disabled")


def test_a_slider_reshapes_the_step_on_screen_without_asking_the_server(page: Page):
    sent = sent_frames(page)
    opened(page)
    start(page, "Once upon a time")
    take_steps(page, 3)
    before = tokens(page).all_inner_texts()
    slider(page, "Temperature").scroll_into_view_if_needed()
    asked = len(sent)
    box = slider(page, "Temperature").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.1, middle)  # at the very end it is greedy
    page.mouse.down()
    leaders = []
    for place in (0.1, 0.25, 0.5, 0.75, 0.99):
        page.mouse.move(box["x"] + box["width"] * place, middle)
        page.wait_for_timeout(60)  # two frames; what is asserted below does not depend on it
        leaders.append(state(page, "[state.settings.temperature, view.rows[0].prob]"))
    assert len(sent) == asked, "a slider that moves must not wait for the server"
    page.mouse.up()
    temperatures, probabilities = zip(*leaders, strict=True)
    assert temperatures[0] < 0.2 and temperatures[-1] > 1.9
    assert list(temperatures) == sorted(temperatures)
    assert list(probabilities) == sorted(probabilities, reverse=True)
    assert probabilities[0] > probabilities[-1] + 0.1
    expect(table(page).locator("tbody tr").first).to_contain_text(f"{probabilities[-1] * 100:.2f}")
    assert tokens(page).all_inner_texts() == before


def test_play_and_pause(page: Page):
    opened(page)
    turn_random(page)
    button(page, "Play").click()
    expect(generated(page).nth(3)).to_be_visible()
    button(page, "Pause").click()
    at_pause = generated(page).count()
    expect(button(page, "Play")).to_be_visible()
    page.wait_for_timeout(1200)  # several tokens' time: none may come but the one in flight
    assert generated(page).count() - at_pause in (0, 1)
    settled = generated(page).count()
    take_steps(page, 1)
    assert generated(page).count() == settled + 1


def test_inspect_step_5_as_recorded_and_come_back(page: Page):
    opened(page)
    turn_random(page)
    take_steps(page, 4)
    button(page, "Step").click()
    expect(generated(page)).to_have_count(5)
    recorded = state(page, "[state.steps[4].id, view.draw.u, view.rows.map(row => row.prob)]")
    take_steps(page, 3)
    generated(page).nth(4).click()
    expect(generated(page).nth(4)).to_have_attribute("aria-current", "true")
    page.wait_for_function("document.querySelector('.dv').decoding.view.index === 4")
    assert state(page, "[view.chosen.id, view.draw.u, view.rows.map(row => row.prob)]") == recorded
    expect(generated(page)).to_have_count(8)
    page.locator("body").press("ArrowRight")
    expect(generated(page).nth(5)).to_have_attribute("aria-current", "true")


def test_forcing_at_step_5_makes_a_branch_and_the_old_one_is_kept(page: Page):
    opened(page)
    turn_random(page)
    take_steps(page, 8)
    before = tokens(page).all_inner_texts()
    generated(page).nth(4).click()
    page.wait_for_function("document.querySelector('.dv').decoding.view.index === 4")
    other = next(row["label"] for row in state(page, "view.rows") if not row["chosen"])
    table(page).get_by_role("button", name=f"Force {other}", exact=True).click()
    expect(generated(page)).to_have_count(5)
    expect(generated(page).nth(4)).to_have_text(other)
    branches = page.get_by_label("Branches", exact=True)
    expect(branches).to_be_visible()
    take_steps(page, 2)
    branches.get_by_text(re.compile(r"^1\b")).first.click()
    expect(tokens(page)).to_have_count(len(before))
    assert tokens(page).all_inner_texts() == before
    branches.get_by_text(re.compile(r"^2\b")).first.click()
    expect(generated(page)).to_have_count(7)
    expect(generated(page).nth(4)).to_have_text(other)


def test_search_for_a_token_that_was_cut(page: Page):
    opened(page)
    start(page)
    button(page, "Pure sampling").click()
    set_slider(page, "Top-k", 5)
    take_steps(page, 1)
    search = page.get_by_role("searchbox", name="Search the vocabulary")
    search.fill("Berlin")
    found = page.locator("[data-part=search]")
    expect(found).to_contain_text("␣Berlin")
    expect(found).to_contain_text("top-k")
    set_slider(page, "Top-k", 0)
    expect(found).not_to_contain_text("removed by top-k")


def test_keyboard_only_from_prompt_to_ten_tokens(page: Page):
    opened(page)
    prompt(page).focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("Once upon a time")
    page.keyboard.press("Control+Enter")
    page.wait_for_function(
        "document.querySelector('.dv').decoding.state.prompt === 'Once upon a time'"
    )
    page.keyboard.press("Tab")
    while not page.evaluate("document.activeElement.textContent === 'Step'"):
        page.keyboard.press("Tab")
    for number in range(1, 6):
        page.keyboard.press("Enter")
        expect(generated(page)).to_have_count(number)
    for number in range(6, 11):
        page.keyboard.press("s")
        expect(generated(page)).to_have_count(number)
    page.keyboard.press("b")
    expect(generated(page)).to_have_count(9)


def test_manual_mode_waits_for_enter_or_another_choice(page: Page):
    opened(page)
    start(page)
    page.get_by_label("manual").check()
    page.wait_for_function("document.querySelector('.dv').decoding.view?.is_pending")
    proposed = state(page, "view.draw.label")
    expect(generated(page)).to_have_count(0)
    page.locator("body").press("Enter")
    expect(generated(page)).to_have_count(1)
    expect(generated(page).first).to_have_text(proposed)
    page.wait_for_function(
        "(() => { const {view} = document.querySelector('.dv').decoding;"
        " return view.is_pending && view.index === 1 })()"
    )
    other = state(page, "view.rows.find(row => row.id !== view.draw.id).label")
    table(page).get_by_role("button", name=f"Force {other}", exact=True).click()
    expect(generated(page)).to_have_count(2)
    expect(generated(page).nth(1)).to_have_text(other)


def test_slow_motion_stops_at_every_stage_of_a_step(page: Page):
    opened(page)
    start(page)
    button(page, "Pure sampling").click()
    set_slider(page, "Temperature", 0.7)
    set_slider(page, "Top-k", 20)
    page.get_by_label("slow motion").check()
    button(page, "Step").click()
    names = []
    for _ in range(20):
        page.wait_for_function(
            "(() => { const {state, view} = document.querySelector('.dv').decoding;"
            " return state.point !== null && view.point === state.point })()"
        )
        place = state(page, "state.point")
        names.append(state(page, "view.points[view.point].name"))
        expect(generated(page)).to_have_count(0)
        kept = state(page, "view.kept")
        if names[-1] == "top_k":
            assert kept == 20
        if names[-1] in ("raw", "temperature"):
            assert kept == state(page, "view.vocab")
        if names[-1] == "drawn":
            break
        button(page, "Next stage").click()
        page.wait_for_function(
            "place => document.querySelector('.dv').decoding.state.point === place + 1", arg=place
        )
    assert names == ["raw", "temperature", "top_k", "renormalised", "drawn"]
    button(page, "Next stage").click()
    expect(generated(page)).to_have_count(1)


def test_rewind_and_run_to_end_repeat_the_text(page: Page):
    opened(page)
    turn_random(page)
    page.get_by_text("Stop rules, trace, keys").click()
    page.get_by_role("spinbutton", name="Max tokens").fill("6")
    page.get_by_role("spinbutton", name="Max tokens").press("Enter")
    page.get_by_text("Stop rules, trace, keys").click()
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


def test_rough_handling_while_playing(page: Page):
    """Step, sliders, a double click and a new prompt in the middle of Play."""
    opened(page)
    turn_random(page)
    page.get_by_label("Speed").fill("21")
    button(page, "Play").click()
    expect(generated(page).nth(5)).to_be_visible()
    set_slider(page, "Temperature", 1.7)
    set_slider(page, "Top-k", 100)
    button(page, "Step").click()
    expect(button(page, "Play")).to_be_visible()
    page.wait_for_function("!document.querySelector('.dv').decoding.actions.is_busy()")
    count = generated(page).count()
    ids = state(page, "state.steps.map(step => step.id)")
    assert len(ids) == count
    button(page, "Step").dblclick()
    expect(generated(page)).to_have_count(count + 2)
    assert state(page, "state.steps.map(step => step.id)")[:count] == ids
    button(page, "Play").click()
    expect(generated(page).nth(count + 5)).to_be_visible()
    start(page, "A new prompt")
    expect(button(page, "Play")).to_be_visible()
    take_steps(page, 2)


def test_a_double_click_on_a_candidate_forces_once(page: Page):
    opened(page)
    force_buttons(page).nth(2).dblclick()
    expect(generated(page)).to_have_count(1)
    page.wait_for_timeout(500)
    expect(generated(page)).to_have_count(1)


def test_a_reload_in_the_middle_keeps_text_branches_and_settings(page: Page):
    opened(page)
    turn_random(page)
    take_steps(page, 6)
    generated(page).nth(3).click()
    page.wait_for_function("document.querySelector('.dv').decoding.view.index === 3")
    force_buttons(page).nth(7).click()
    expect(generated(page)).to_have_count(4)
    take_steps(page, 1)
    before = tokens(page).all_inner_texts()
    page.reload()
    expect(generated(page)).to_have_count(5)
    assert tokens(page).all_inner_texts() == before
    expect(page.get_by_label("Branches", exact=True)).to_be_visible()
    assert state(page, "state.settings.temperature") == 2
    take_steps(page, 1)


def test_a_token_drawn_from_the_tail_gets_its_label(page: Page):
    """Only the leading labels come with a row; the others are asked for."""
    opened(page)
    turn_random(page)
    for _ in range(30):
        take_steps(page, 1)
        if state(page, "view.draw.rank") > 300:
            break
    else:
        pytest.fail("30 draws at temperature 2 never left the leading 300 ranks")
    page.get_by_role("textbox", name="Temperature, exact value").or_(
        page.get_by_role("spinbutton", name="Temperature, exact value")
    ).fill("1.9")
    page.keyboard.press("Enter")
    page.wait_for_function(
        "!/^id [0-9]+$/.test(document.querySelector('.dv').decoding.view.draw.label)"
    )


def test_two_tabs_are_two_texts(page: Page, context: BrowserContext):
    opened(page)
    turn_random(page)
    take_steps(page, 3)
    other = context.new_page()
    opened(other)
    expect(generated(other)).to_have_count(0)
    take_steps(other, 1)
    # A duplicated tab starts with a copy of the first one's storage.
    kept = page.evaluate("sessionStorage.getItem('decoding-visualiser-session')")
    other.evaluate("token => sessionStorage.setItem('decoding-visualiser-session', token)", kept)
    other.reload()
    expect(generated(other)).to_have_count(3)
    take_steps(other, 1)
    take_steps(page, 2)
    expect(generated(page)).to_have_count(5)
    expect(generated(other)).to_have_count(4)


@pytest.mark.tolerates("Cannot send rerun backMessage when disconnected")
def test_a_lost_connection_loses_and_repeats_nothing(page: Page):
    """The socket is closed under the page while it plays."""
    page.add_init_script(
        "const Real = WebSocket; window.sockets = [];"
        "window.WebSocket = class extends Real {"
        " constructor(...given) { super(...given); window.sockets.push(this); } };"
    )
    opened(page)
    turn_random(page)
    take_steps(page, 3)
    before = tokens(page).all_inner_texts()
    page.evaluate("window.sockets.forEach(socket => socket.close())")
    button(page, "Step").click()
    expect(generated(page)).to_have_count(4)
    assert tokens(page).all_inner_texts()[: len(before)] == before
    page.wait_for_function("!document.querySelector('.dv').decoding.actions.is_busy()")
    take_steps(page, 2)


def test_nothing_is_drawn_anew_while_stepping(page: Page):
    """The same elements, the same focus, the same place."""
    opened(page)
    turn_random(page)
    take_steps(page, 1)
    page.evaluate(
        "document.querySelectorAll('.dv, .dv [data-part], .dv table tbody tr, .dv figure')"
        ".forEach(element => { element.marked = true })"
    )
    force_buttons(page).nth(3).focus()
    places = "[...document.querySelectorAll('.dv table, .dv [data-part=cards], .dv figure')]"
    places += ".map(element => Math.round(element.getBoundingClientRect().top + scrollY))"
    before = page.evaluate(places)
    for _ in range(5):
        page.keyboard.press("s")
    expect(generated(page)).to_have_count(6)
    unmarked = page.evaluate(
        "[...document.querySelectorAll('.dv, .dv [data-part], .dv table tbody tr, .dv figure')]"
        ".filter(element => !element.marked && element.offsetParent).length"
    )
    assert unmarked == 0
    expect(force_buttons(page).nth(3)).to_be_focused()
    assert page.evaluate(places) == before


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


def test_a_chart_is_enlarged_and_saved_as_a_png(page: Page, tmp_path):
    opened(page)
    take_steps(page, 2)
    page.wait_for_function("document.querySelector('.dv').decoding.charts_drawn > 0")
    button(page, "Enlarge Softmax").click()
    figure = page.get_by_role("figure", name="Softmax", exact=True)
    expect(button(page, "Shrink Softmax")).to_be_in_viewport()
    width = page.locator(".dv").evaluate("e => e.clientWidth")
    assert figure.evaluate("e => e.clientWidth") > 0.95 * width
    with page.expect_download() as waiting:
        button(page, "Save Softmax as PNG").click()
    path = tmp_path / "softmax.png"
    waiting.value.save_as(path)
    assert path.read_bytes().startswith(b"\x89PNG")
    page.keyboard.press("Escape")
    expect(button(page, "Enlarge Softmax")).to_be_visible()


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
    button(page, "Model").click()
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


def test_the_trace_downloads_as_json(page: Page, tmp_path):
    from engine.trace import Trace

    opened(page)
    start(page)
    take_steps(page, 2)
    page.get_by_text("Stop rules, trace, keys").click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download the trace (JSON)").click()
    path = tmp_path / "run.json"
    waiting.value.save_as(path)
    trace = Trace.load(path)
    assert len(trace.steps) == 2 and trace.prompt == CAPITAL
    assert json.loads(path.read_text())["prompt"] == CAPITAL
