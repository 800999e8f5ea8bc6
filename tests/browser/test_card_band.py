"""The loop band and the Notice line beside the cards: which stage is lit, what is said of it."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.cards_page import (
    button,
    calls,
    card,
    cards_page,
    open_cards,
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


def test_the_proposal_is_said_under_the_loop(page: Page):
    update(page, "{manual: true, index: 1}", "{pending: true, proposed: 1}")
    sentence = page.locator(".dv-loop-sentence").inner_text()
    assert sentence.replace("\u2068", "").replace("\u2069", "") == (
        "Proposed: “␣the”. Enter or Step accepts it; or choose another row."
    )


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
