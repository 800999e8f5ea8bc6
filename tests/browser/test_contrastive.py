"""Contrastive search in a browser: the engine's candidates, scores and winner at any alpha."""

import json

from playwright.sync_api import Page, expect

from engine.contrastive import ContrastiveSearch
from engine.model import load_model
from tests.browser.step_page import (
    assert_no_sideways_scroll,
    button,
    generated,
    opened,
    prompt,
    slider,
    state,
    take_steps,
)

PROMPT = "Once upon a time, there was"


def chosen(page: Page) -> None:
    page.get_by_role("combobox", name="Strategy").select_option("Contrastive search")
    button(page, "Start").click()
    expect(page.get_by_role("region", name="Contrastive search")).to_be_visible()


def candidates(page: Page):
    return page.get_by_role("table", name="Candidates of the search", exact=True)


def test_a_search_from_start_to_reload(page: Page):
    opened(page)
    prompt(page).fill(PROMPT)
    chosen(page)
    for name in ("Re-roll",):
        expect(button(page, name)).to_be_disabled()
    for name in ("manual", "slow motion"):
        expect(page.get_by_role("checkbox", name=name)).to_be_disabled()
    expect(page.get_by_role("table", name="Candidates", exact=True)).to_be_hidden()
    expect(page.get_by_role("note")).to_contain_text("uses none of these cards")
    expect(page.get_by_role("figure", name="Softmax", exact=True)).to_be_hidden()

    take_steps(page, 5)
    search = ContrastiveSearch(load_model(), PROMPT, 4, 0.6)
    list(search.run(5))
    assert state(page, "state.steps.map(step => step.id)") == search.token_ids
    shown = state(page, "state.searched")
    last = search.steps[-1]
    assert [(row["token_id"], row["penalty"], row["score"]) for row in shown["candidates"]] == [
        (each.token_id, each.penalty, each.score) for each in last.candidates
    ]
    expect(candidates(page).get_by_role("row")).to_have_count(1 + 4)
    expect(page.get_by_role("region", name="Contrastive search")).to_contain_text("1 forward pass;")

    generated(page).nth(1).click()
    page.wait_for_function("document.querySelector('.dv').decoding.state.searched.index === 1")
    button(page, "Back").click()
    expect(generated(page)).to_have_count(4)
    take_steps(page, 1)
    assert state(page, "state.steps.map(step => step.id)") == search.token_ids

    slider(page, "Penalty alpha").fill("0")
    sentence = page.locator(".dv-search-story")
    expect(sentence).to_contain_text("It is the likeliest too.")
    take_steps(page, 1)
    search.penalty_alpha = 0.0
    assert state(page, "state.steps[5].id") == search.step().token_id
    button(page, "Play").click()
    expect(generated(page)).not_to_have_count(6)
    button(page, "Pause").click()

    page.reload()
    expect(page.get_by_role("combobox", name="Strategy")).to_have_value("search")
    expect(candidates(page)).to_be_visible()
    assert state(page, "state.wanted") == {"is_search": True, "top_k": 4, "penalty_alpha": 0}
    assert_no_sideways_scroll(page)
    with page.expect_download() as download:
        page.get_by_text("Stop rules, trace, keys").click()
        button(page, "Download the trace (JSON)").click()
    trace = json.loads(download.value.path().read_text())
    assert trace["format"] == "contrastive-search" and len(trace["steps"]) > 5

    page.get_by_role("combobox", name="Strategy").select_option("Sampling")
    button(page, "Start").click()
    expect(page.get_by_role("table", name="Candidates", exact=True)).to_be_visible()
    expect(page.get_by_role("region", name="Contrastive search")).to_be_hidden()
