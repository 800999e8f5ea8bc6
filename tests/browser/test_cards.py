"""Stage cards, loop band and Notice line, mounted by themselves: no server, no model.

The page shapes a row of 16,384 scores by the component's own arithmetic.
"""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.cards_page import (
    bars,
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


def test_presets_set_all_five_and_keep_the_seed(page: Page):
    presets = page.get_by_role("group", name="Presets", exact=True)
    wanted = {
        "Greedy": (0, 0, 1, 0),
        "Pure sampling": (1, 0, 1, 0),
        "Top-k 50": (1, 50, 1, 0),
        "Top-p 0.9": (1, 0, 0.9, 0),
        "Nucleus: p 0.9, T 0.7": (0.7, 0, 0.9, 0),
        "Creative": (1.2, 0, 1, 0.05),
        "Code": (0.2, 0, 0.95, 0),
    }
    expect(presets.locator("[aria-pressed=true]")).to_have_count(0)
    for name, (temperature, top_k, top_p, min_p) in wanted.items():
        presets.get_by_role("button", name=name, exact=True).click()
        settings = {
            "order": ["repetition_penalty", "temperature", "top_k", "top_p", "min_p"],
            "repetition_penalty": 1,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "min_p": min_p,
        }
        assert calls(page) == [["set", settings], ["settle"]]
        expect(presets.locator("[aria-pressed=true]")).to_have_text([name])


def test_a_preset_takes_other_cards_away_and_brings_the_first_order_back(page: Page):
    own = "{order: ['xtc', 'top_k', 'temperature', 'repetition_penalty', 'top_p', 'min_p'], "
    update(page, f"{{settings: {own} xtc: {{threshold: 0.1, probability: 0.5}}}}}}")
    expect(card(page, "XTC")).to_be_visible()
    button(page, "Code").click()
    changes = calls(page)[0][1]
    assert changes["order"] == ["repetition_penalty", "temperature", "top_k", "top_p", "min_p"]
    assert changes["xtc"] is None
    expect(card(page, "XTC")).to_have_count(0)
    # A card that is off changes nothing: the chain is still the preset's.
    update(page, "{settings: {order: ['xtc', ...t.state.settings.order]}}")
    expect(button(page, "Code")).to_have_attribute("aria-pressed", "true")
    update(page, "{settings: {order: ['xtc', 'top_p', 'temperature'], xtc: null}}")
    expect(button(page, "Code")).to_have_attribute("aria-pressed", "false")


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


def test_pictures_are_drawn_from_the_row(page: Page):
    # Sixteen bars: one for each rank to 8, then up to 10, 16, 25, 40, 64, 100, 160 and 256.
    assert bars(page, "top_k", "kept") == 8
    assert bars(page, "top_k", "removed") == 8
    assert path(page, "top_k", "cut") == "M46 0V34"  # 8/16 of 92
    update(page, "{settings: {top_k: 3}}")
    assert path(page, "top_k", "cut") == "M17.25 0V34"
    assert bars(page, "top_k", "kept") == 3
    assert bars(page, "min_p", "removed") == 0
    update(page, "{settings: {top_k: 1000}}")
    assert path(page, "top_k", "cut").startswith("M91 0V34M")  # an arrow: beyond the picture
    update(page, "{settings: {top_k: 0, top_p: 0.5, min_p: 0.5}}")
    assert path(page, "top_k", "cut") == ""
    assert path(page, "top_p", "cut") == "M0 17H92"  # half-way up
    assert path(page, "min_p", "cut") == "M0 17H92"
    assert path(page, "temperature", "before").count("H") == 16
    update(page, "{settings: {repetition_penalty: 1.5}}")
    assert bars(page, "repetition_penalty", "kept") == 9
    # The text's five tokens that move, of which the leading two go far enough for an arrow.
    moved = page.evaluate("t.update().stages[0].figures.edited.map(token => token.id)")
    assert sorted(moved) == [1, 2, 20, 21, 22]
    assert bars(page, "repetition_penalty", "before") == 5
    assert bars(page, "repetition_penalty", "arrow") >= 2
    update(page, "{settings: {repetition_penalty: 1.01}}")
    assert bars(page, "repetition_penalty", "before") == 5
    assert bars(page, "repetition_penalty", "arrow") == 0  # the outline says enough
    assert path(page, "draw", "needle").startswith("M54.02 ")  # u = 0.58713 of 92
    assert bars(page, "draw", "chosen") == 1


def test_a_vocabulary_of_four(page: Page):
    few = "{logits: Float64Array.from([4, 3, 2, 1])}"
    update(page, "{settings: {top_k: 2, top_p: 1}}", few)
    assert bars(page, "top_k", "kept") == 2
    assert bars(page, "top_k", "removed") == 2
    assert path(page, "top_k", "cut") == "M46 0V34"


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


def test_later_stages_wait_and_the_looked_at_one_is_lit(page: Page):
    stage = button(page, "Stage: Top-k")
    stage.click()
    assert calls(page) == [["show", {"point": 2}]]
    expect(stage).to_have_attribute("aria-current", "step")
    expect(card(page, "Top-k")).to_have_class(re.compile("dv-card-lit"))
    expect(card(page, "Top-p")).to_contain_text("not yet applied")
    expect(card(page, "Draw")).to_contain_text("not yet applied")
    expect(card(page, "Temperature")).not_to_contain_text("not yet applied")
    expect(page.locator("#loop")).to_contain_text("Stage 3 of 6: top-k. The 8 highest scores stay")
    stage.click()
    assert calls(page) == [["show", {"point": None}]]
    expect(page.locator("[aria-current]")).to_have_count(0)


def test_loop_shows_the_stages_that_are_on_with_their_figures(page: Page):
    band = page.get_by_role("list", name="One step of the loop", exact=True)
    items = band.get_by_role("listitem")
    assert [text.split("\n")[0] for text in items.all_inner_texts()] == [
        "Tokens in",
        "Forward pass",
        "Logits",
        "Temperature",
        "Top-k",
        "Top-p",
        "Softmax",
        "Draw",
        "Append",
    ]
    expect(items.nth(0)).to_contain_text("5 of 1,024")
    expect(items.nth(1)).to_have_text("Forward pass5 read at once")
    expect(items.nth(1).locator("[title]")).to_have_attribute("title", "5 read at once · 6.10 ms")
    expect(items.nth(4)).to_contain_text("8 left")
    expect(items.nth(8)).to_contain_text("␣Paris")
    expect(band.get_by_role("button")).to_have_count(6)
    height = band.bounding_box()["height"]
    update(page, "{settings: {repetition_penalty: 1.2, min_p: 0.3}}")
    expect(band.get_by_role("button")).to_have_count(8)
    assert band.bounding_box()["height"] == height
    update(page, "{steps: [t.step_of(0, {reused: true})]}")
    expect(items.nth(1)).to_contain_text("from the record")


def test_slow_motion_leads_on(page: Page):
    expect(button(page, "Next stage")).to_be_hidden()
    update(page, "{slow: true, point: 1}", "{pending: true}")
    expect(page.locator("#loop")).to_contain_text(
        "Stage 2 of 6: temperature. Scores were divided by 0.9: gaps grow, the leader gains"
    )
    button(page, "Next stage").press("Enter")
    button(page, "Next stage").press("Space")
    button(page, "Skip to the end").click()
    assert calls(page) == [["next_stage"], ["next_stage"], ["skip_stages"]]
    update(page, "{point: 5}", "{pending: true}")
    expect(page.locator("#loop")).to_contain_text("u = 0.5871 falls into [")
    expect(card(page, "Draw")).to_contain_text("u hits ")


def test_a_step_lights_the_stages_in_turn_and_only_then(page: Page):
    track = page.locator(".dv-loop-track")
    expect(track).to_have_attribute("data-wave", "0")
    grow = "{steps: [...t.state.steps, t.step_of(1)], index: t.state.steps.length}"
    update(page, grow)
    expect(track).to_have_attribute("data-wave", "1")
    update(page)
    expect(track).to_have_attribute("data-wave", "1")
    update(page, f"{{...{grow}, mode: 'playing', speed: 8}}")  # too fast to follow
    expect(track).to_have_attribute("data-wave", "1")
    longest = "Math.max(...document.getAnimations().map(a => a.effect.getComputedTiming().endTime))"
    update(page, f"{{...{grow}, mode: 'paused'}}")
    assert page.evaluate(longest) <= 400


def said(page: Page, changes: str = "{}", options: str = "{}") -> str:
    update(page, changes, options)
    text = page.locator("#notice").inner_text()
    return text.replace("\u2068", "").replace("\u2069", "")


NOTICES = {
    "looping": (
        "{steps: [9, 1, 2, 3, 1, 2, 3, 1, 2, 3].map(id => t.step_of(id)), index: 9}",
        "{}",
        "Notice: The text is looping: the last 3 tokens came 3 times in a row.",
    ),
    "unlikely": (
        "{steps: [t.step_of(6, {probability: 1 / 240})]}",
        "{}",
        "An unlikely draw: “␣known” (rank 7) had odds of 1 in 240.",
    ),
    "against the model": (
        "{steps: [t.step_of(6, {probability: 0.1, model_probability: 0.004})]}",
        "{}",
        "The model itself gave “␣known” (rank 7) odds of 1 in 250; the settings made that 10.00 %.",
    ),
    "forced": (
        "{steps: [t.step_of(13, {forced: true})]}",
        "{}",
        "“<b>&amp;</b>” was chosen by hand; top-k removes it (rank 14)",
    ),
    "near tie": (
        "{settings: {temperature: 0}}",
        "{logits: t.LOGITS.map((z, id) => id === 1 ? t.LOGITS[0] - 0.01 : z)}",
        "Greedy hides a near tie: “␣Paris” ",
    ),
    "much is cut": ("{settings: {temperature: 2}}", "{}", "before the cut-offs; without them, "),
    "nothing is cut": (
        "{settings: {top_k: 16384, top_p: 1}}",
        "{}",
        "Top-k changes nothing here: all 16,384 tokens stay.",
    ),
    "sure": (
        "{settings: {top_k: 0, top_p: 1}}",
        "{logits: t.LOGITS.map((z, id) => id === 0 ? 30 : z)}",
        "Before any setting the model is sure: “␣Paris” has",
    ),
    "torn": (
        "{settings: {top_k: 0, top_p: 1}}",
        "{logits: t.LOGITS.map(() => 1)}",
        "Before any setting the model is torn: 14.00 bits of entropy, "
        "as undecided as a fair choice among 16,384 tokens.",
    ),
    "temperature": (
        "{settings: {top_k: 0, top_p: 1, temperature: 0.5}}",
        "{logits: t.LOGITS.map(z => z * 1.4)}",
        "Temperature 0.5 raised the share of “␣Paris” from",
    ),
}


@pytest.mark.parametrize(("changes", "options", "sentence"), NOTICES.values(), ids=NOTICES)
def test_the_notice_line_picks_what_matters(page: Page, changes, options, sentence):
    assert sentence in said(page, changes, options)


def test_the_notice_speaks_of_the_point_that_is_looked_at(page: Page):
    settings = "{settings: {temperature: 0.9, top_k: 1000, top_p: 1}, point: %s}"

    def figures(point: str) -> tuple[str, dict]:
        return said(page, settings % point), page.evaluate("t.update()")

    def shares(view: dict, name: str) -> str:
        first, second = (f"{row[name] * 100:.2f} %" for row in view["rows"][:2])
        return f"leads with {first}, “␣the” follows with {second}"

    sentence, view = figures("0")
    assert f"Before any setting the model is torn: {view['entropy']['raw']:.2f} bits" in sentence
    sentence, view = figures("1")
    leader = view["rows"][0]
    assert f"to {leader['prob'] * 100:.2f} %." in sentence
    page.evaluate("t.state.settings.temperature = 0.2")
    settings = "{settings: {temperature: 0.2, top_k: 3, top_p: 1}, point: %s}"
    sentence, view = figures("2")
    entropy = f"{view['entropy']['shown']:.2f} bits"
    assert f"{shares(view, 'prob')} before the cut; the entropy of the 3 tokens left" in sentence
    assert entropy in sentence
    sentence, view = figures("3")
    assert f"{shares(view, 'final_prob')}; the entropy in the draw is {entropy}" in sentence


def test_a_cut_after_a_cut_speaks_of_what_was_left(page: Page):
    expect(card(page, "Top-k")).to_contain_text("of the mass")
    expect(card(page, "Top-p")).to_contain_text("of what was left")
    update(page, "{point: 3}")
    expect(page.locator(".dv-loop-sentence")).to_contain_text("of what was left went")


def test_a_decode_step_reads_one_token_and_the_rest_from_the_cache(page: Page):
    forward = page.locator("[data-part-of-loop=forward] .dv-loop-figure")
    steps = "[t.step_of(0), t.step_of(1, {positions: 6})]"
    update(page, f"{{steps: {steps}, index: 1}}")
    expect(forward).to_have_text("5 from cache + 1 new")
    update(page, "{index: 2}", "{pending: true}")
    expect(forward).to_have_text("6 from cache + 1 new")


def test_a_greedy_step_says_that_re_roll_would_draw(page: Page):
    update(page, "{steps: [t.step_of(0, {u: null})], row: {u: null}}", "{undrawn: true}")
    expect(card(page, "Draw")).to_contain_text("taken greedily; Re-roll draws one")
    expect(button(page, "Stage: Draw")).to_contain_text("taken greedily")


def test_the_proposal_is_said_under_the_loop(page: Page):
    update(page, "{manual: true, index: 1}", "{pending: true, proposed: 1}")
    sentence = page.locator(".dv-loop-sentence").inner_text()
    assert sentence.replace("\u2068", "").replace("\u2069", "") == (
        "Proposed: “␣the”. Enter or Step accepts it; or choose another row."
    )


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


def test_slow_motion_moves_nothing_and_a_phone_reserves_no_room_for_the_hint(page: Page):
    height = "document.querySelector('.dv-loop-line').offsetHeight"
    before = page.evaluate(height)
    update(page, "{slow: true}")
    assert page.evaluate(height) == before
    page.set_viewport_size({"width": 390, "height": 844})
    try:
        update(page, "{slow: false}")
        assert page.evaluate(height) <= 45
        update(page, "{point: 1}")
        assert page.evaluate(height) >= 60
    finally:
        page.set_viewport_size({"width": 1440, "height": 1000})


def test_loops_are_found_by_their_shortest_period(page: Page):
    loop_of = "ids => t.find_loop(ids)"
    assert page.evaluate(loop_of, [5, 1, 2, 1, 2, 1, 2, 1, 2]) == {"length": 2, "times": 4}
    assert page.evaluate(loop_of, [7] * 8) == {"length": 1, "times": 8}
    assert page.evaluate(loop_of, [7] * 7) is None
    assert page.evaluate(loop_of, [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3]) is None


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


def test_sentences_are_not_spoken_while_a_slider_moves_or_steps_run_by(page: Page):
    sentences = page.locator("#notice [aria-live], #loop [aria-live]")
    expect(sentences).to_have_count(2)
    for changes, reason, live in (
        ("{}", "slide", "off"),
        ("{}", "step", "polite"),
        ("{mode: 'playing'}", "step", "off"),
        ("{mode: 'paused'}", "step", "polite"),
    ):
        page.evaluate(f"void t.update({changes}, {{}}, '{reason}')")
        for sentence in sentences.all():
            expect(sentence).to_have_attribute("aria-live", live)
