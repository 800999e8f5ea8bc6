"""The step page as a visitor meets it: what it shows, and how it stands still."""

import re

import pytest
from playwright.sync_api import Page, expect

from engine.decoder import Decoder
from engine.model import load_model
from engine.sampling import SamplingSettings
from tests.browser.conftest import ARTEFACTS, FIGURES
from tests.browser.step_page import (
    CAPITAL,
    assert_no_sideways_scroll,
    button,
    force_buttons,
    generated,
    opened,
    prompt,
    sent_frames,
    set_slider,
    slider,
    start,
    state,
    table,
    take_steps,
    tokens,
    turn_random,
)


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


def test_search_for_a_token_that_was_cut(page: Page):
    opened(page)
    start(page)
    button(page, "Pure sampling").click()
    set_slider(page, "Top-k", 5)
    take_steps(page, 1)
    search = page.get_by_role("searchbox", name="Search the vocabulary")
    search.fill("castle")
    found = page.locator("[data-part=search]")
    expect(found).to_contain_text("␣castle")
    expect(found).to_contain_text("top-k")
    set_slider(page, "Top-k", 0)
    expect(found).not_to_contain_text("removed by top-k")


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
