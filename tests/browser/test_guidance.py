"""Guidance in a browser: the engine's bits, moved by hand, kept through a reload."""

import pytest
from playwright.sync_api import Page, expect

from engine.decoder import Decoder
from engine.model import load_model
from engine.ranking import RankedRow
from engine.sampling import SamplingSettings
from tests.browser.step_page import (
    assert_no_sideways_scroll,
    button,
    opened,
    prompt,
    sent_frames,
    slider,
    state,
    take_steps,
)
from ui.texts.examples import EXAMPLES

PROMPT, NEGATIVE = "Once upon a time, a sad little", "Once upon a time, a little"


def guided(page: Page, scale: float = 2.0) -> None:
    """Begin under guidance, as a person does it."""
    prompt(page).fill(PROMPT)
    button(page, "Guidance").click()
    negative_field(page).fill(NEGATIVE)
    slider(page, "Guidance scale").fill(str(scale))
    button(page, "Start").click()
    expect(page.get_by_role("region", name="Guidance")).to_be_visible()


def negative_field(page: Page):
    return page.get_by_role("textbox", name="Negative prompt", exact=True)


def moved_table(page: Page):
    return page.get_by_role("table", name="What guidance moved", exact=True)


def assert_rows_of(page: Page, decoder: Decoder, scale: float) -> None:
    raw = RankedRow(decoder.guided_rows(len(decoder.steps)).at(scale))
    rows = state(page, "view.rows")
    ids = [row["id"] for row in rows]
    raw.sort_to_depth(len(ids))
    assert ids == raw.ids[: len(ids)].tolist()
    for row in rows:
        assert row["logit"] == raw.scores[row["id"]], "not the engine's bits"


def test_a_text_under_guidance_from_start_to_reload(page: Page):
    sent = sent_frames(page)
    opened(page)
    expect(negative_field(page)).to_be_hidden()
    expect(moved_table(page)).to_be_hidden()
    guided(page)
    settings = SamplingSettings(**{"seed": state(page, "state.settings.seed")})
    decoder = Decoder(load_model(), PROMPT, settings, negative_prompt=NEGATIVE, guidance_scale=2.0)
    assert_rows_of(page, decoder, 2.0)
    expect(moved_table(page).get_by_role("row")).not_to_have_count(0)

    frames = len(sent)
    slider(page, "Guidance scale").focus()
    page.evaluate("document.querySelector('.dv').decoding.actions.guide(3.5)")
    assert_rows_of(page, decoder, 3.5)
    assert len(sent) == frames, "the scale waited for the server"

    take_steps(page, 1)
    decoder.guidance_scale = 3.5
    decoder.step()
    assert state(page, "state.steps[0].id") == decoder.steps[0].token_id
    assert state(page, "state.steps[0].guidance_scale") == 3.5
    assert state(page, "view.as_recorded")
    slider(page, "Guidance scale").fill("1.5")
    assert not state(page, "view.as_recorded")
    region = page.get_by_role("region", name="Guidance")
    expect(region).to_contain_text("two passes")
    expect(region).to_contain_text("two caches")
    for figure, words in (("KV cache", "negative prompt"), ("Latency per step", "in two passes")):
        expect(page.get_by_role("figure", name=figure, exact=True)).to_contain_text(words)

    button(page, "Rewind").click()
    expect(page.locator(".dv")).to_have_attribute("data-length", "0")
    page.reload()
    expect(negative_field(page)).to_have_value(NEGATIVE)
    expect(slider(page, "Guidance scale")).to_have_value("1.5")
    decoder.rewind(0)
    assert_rows_of(page, decoder, 1.5)

    button(page, "Guidance").click()
    button(page, "Start").click()
    expect(region).to_be_hidden()
    assert state(page, "state.negative_tokens") is None
    assert_no_sideways_scroll(page)


def test_nonsense_is_refused_in_one_sentence(page: Page):
    opened(page)
    button(page, "Guidance").click()
    button(page, "Start").click()
    alert = page.get_by_role("alert")
    expect(alert.filter(has_text="The negative prompt is empty; type at least one")).to_be_visible()
    field = page.get_by_role("spinbutton", name="Guidance scale, exact")
    for typed in ("0.5", "1e9", "much"):
        field.fill(typed)
        field.press("Enter")
        expect(alert.filter(has_text="Guidance scale must be")).to_be_visible()
    assert state(page, "state.guidance_scale") == 1.5


def test_examples_bring_their_strategy_and_others_take_it_away(page: Page):
    opened(page)
    region = page.get_by_role("region", name="Guidance")
    hint = page.locator(".dv-prompt-hint")
    strategy = page.get_by_role("combobox", name="Strategy")

    choose_example(page, "Guidance, to the sea")
    expect(region).to_be_visible()
    expect(negative_field(page)).to_have_value("There was a little")
    expect(hint).to_contain_text("the fish of the sea")
    assert state(page, "state.guidance_scale") == 1.5

    choose_example(page, "Contrastive, no loop")
    expect(region).to_be_hidden()
    expect(strategy).to_have_value("search")
    expect(hint).to_contain_text("Greedy decoding")
    take_steps(page, 1)
    assert state(page, "state.strategy") == {"top_k": 5, "penalty_alpha": 0.4}

    choose_example(page, "Open story")
    expect(strategy).to_have_value("sampling")
    expect(hint).to_contain_text("one draw")
    assert state(page, "state.strategy") is None and state(page, "state.negative_tokens") is None


def choose_example(page: Page, name: str) -> None:
    page.get_by_text("Examples", exact=True).click()
    page.locator(".dv-examples").get_by_role("button").filter(has_text=name).click()
    prompt = next(example.prompt for example in EXAMPLES if example.name == name)
    page.wait_for_function(
        "prompt => document.querySelector('.dv').decoding.state.prompt === prompt", arg=prompt
    )


@pytest.mark.parametrize("width", [360, 390, 1440])
def test_everything_of_both_strategies_is_within_reach(page: Page, width):
    page.set_viewport_size({"width": width, "height": 844})
    opened(page)
    guided(page)
    strategy = page.get_by_role("combobox", name="Strategy")
    for control in (strategy, button(page, "Start"), negative_field(page)):
        assert_within(control, width)
    assert_within(moved_table(page), width)
    assert_no_sideways_scroll(page)
    strategy.select_option("Contrastive search")
    expect(negative_field(page)).to_be_hidden()
    for control in (slider(page, "Penalty alpha"), button(page, "Start")):
        assert_within(control, width)
    button(page, "Start").click()
    take_steps(page, 1)
    candidates = page.get_by_role("table", name="Candidates of the search", exact=True)
    assert_within(candidates, width)
    first = candidates.locator("tbody tr").first.get_by_role("rowheader").locator(".dv-token")
    room = first.locator("xpath=..").bounding_box()
    box = first.bounding_box()
    assert box["x"] + box["width"] <= room["x"] + room["width"] + 1, "the token is cut off"
    assert_no_sideways_scroll(page)


def assert_within(control, width: int) -> None:
    expect(control).to_be_visible()
    box = control.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= width, f"{control} is cut off at {box}"
