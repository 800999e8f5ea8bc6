"""What the step page keeps: branches, a reload, two tabs, a lost connection, the trace."""

import json
import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.step_page import (
    CAPITAL,
    button,
    force_buttons,
    generated,
    opened,
    start,
    state,
    table,
    take_steps,
    tokens,
    turn_random,
)


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
