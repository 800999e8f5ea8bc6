"""Visits survive a reload, a killed server, a lost network, and a second tab."""

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.step_page import (
    PATIENCE_MS,
    button,
    generated,
    ids,
    opened,
    prompt,
    set_samplers,
    settle,
    start,
    state,
    take_steps,
    wait_for,
    wait_until,
)
from ui.visits.store import Keeper

OWN = "My own prompt: the little dog"
NOTE_SOCKETS = """
  const Real = WebSocket;
  window.sockets = [];
  window.WebSocket = class extends Real {
    constructor(...given) { super(...given); window.sockets.push(this); }
  };
"""


def own_text(page: Page) -> list[int]:
    """Grow a text with its own prompt and settings; return its tokens."""
    opened(page)
    start(page, OWN)
    set_samplers(page, temperature=1.25)
    take_steps(page, 4)
    settle(page)
    return ids(page)


def is_back(page: Page, tokens: list[int]) -> None:
    """Wait for the text, its prompt and its settings."""
    wait_for(page, "state.steps.length === arg && !state.offline", len(tokens))
    assert ids(page) == tokens
    assert state(page, "[state.prompt, state.settings.temperature]") == [OWN, 1.25]


def duplicate(page: Page) -> Page:
    """Open a second tab like the browser's own "Duplicate": the same storage, a new page."""
    stored = page.evaluate("JSON.stringify({ ...sessionStorage })")
    other = page.context.new_page()
    other.add_init_script(
        f"if (!sessionStorage.length) Object.entries({stored}).forEach(([k, v]) =>"
        " sessionStorage.setItem(k, v));"
    )
    return other


def token(page: Page) -> str:
    return page.evaluate("sessionStorage.getItem('decoding-visualiser-visit')")


OTHER_TOKEN = "was => sessionStorage.getItem('decoding-visualiser-visit') !== was"


def tokens_of(records: dict[str, Any]) -> list[int]:
    if "step" not in records:
        return []
    return records["step"]["text"]["branches"][0]["trace"]["steps"]["tokens"]


def until_written(page: Page, visits: Path, is_so: Callable[[dict[str, Any]], bool]) -> None:
    """Wait until the visit's written records, by page, meet a condition."""
    keeper = Keeper(visits)
    until = time.monotonic() + PATIENCE_MS / 1e3
    while not is_so(keeper.records(token(page))[0]):
        assert time.monotonic() < until, "it was never written"
        page.wait_for_timeout(100)
    keeper.close()


# --- compare --------------------------------------------------------------------------------------


def compare_page(context: BrowserContext) -> Page:
    page = context.new_page()
    page.goto("/compare")
    prompt(page).fill(OWN)
    prompt(page).press("ControlOrMeta+Enter")
    page.get_by_role("button", name="Add column").click()
    expect(page.get_by_role("combobox", name="Column 5", exact=False)).to_be_visible()
    return page


def is_kept_on_compare(page: Page) -> None:
    expect(prompt(page)).to_have_value(OWN)
    expect(page.get_by_role("combobox", name="Column 5", exact=False)).to_be_visible()


def is_written_of_compare(records: dict[str, Any]) -> bool:
    kept = records.get("compare", {"prompt": ""})
    return kept["prompt"] == OWN and len(kept["columns"]) == 5


# --- survival -------------------------------------------------------------------------------------


def test_text_survives_reload_duplicate_and_killed_tab(context):
    """Check text, branches and settings; a duplicated tab becomes independent."""
    page = context.new_page()
    tokens = own_text(page)
    page.get_by_role("link", name="Compare", exact=True).click()
    expect(page).to_have_title(re.compile("^Compare"))
    page.get_by_role("link", name="Step", exact=True).click()
    is_back(page, tokens)

    other = duplicate(page)
    other.goto("/")
    is_back(other, tokens)
    assert token(other) != token(page)
    take_steps(other, 1)
    assert ids(page) == tokens
    further = ids(other)
    other.reload()
    is_back(other, further)
    page.reload()
    is_back(page, tokens)
    assert token(other) != token(page)
    other.close()

    restored = duplicate(page)  # a browser that restores a tab restores its storage
    page.close(run_before_unload=False)
    restored.goto("/")
    is_back(restored, tokens)


def test_outages_lose_and_repeat_no_step(context, server, visits):
    page = context.new_page()
    page.add_init_script(NOTE_SOCKETS)
    tokens = own_text(page)
    the_socket_breaks_as_step_is_pressed(page, tokens)
    presses_are_done_once_the_network_is_back(page)

    # The server is killed and started again.
    tokens = ids(page)
    until_written(page, visits, lambda records: tokens_of(records) == tokens)
    take_steps(page, 1)
    tokens = ids(page)
    server.kill()
    wait_for(page, "state.offline")
    assert ids(page) == tokens, "what is on screen stays there"
    server.start()
    is_back(page, tokens)
    take_steps(page, 1)
    tokens = ids(page)
    page.reload()
    is_back(page, tokens)


@pytest.mark.long
def test_compare_survives_duplicate_and_killed_tab_and_server(context, server, visits):
    tab = compare_page(context)
    other = duplicate(tab)
    other.goto("/compare")
    is_kept_on_compare(other)
    wait_until(other, OTHER_TOKEN, token(tab))
    until_written(tab, visits, is_written_of_compare)
    restored = duplicate(tab)
    other.close()
    tab.close(run_before_unload=False)
    server.kill()
    server.start()
    restored.goto("/compare")
    is_kept_on_compare(restored)


def the_socket_breaks_as_step_is_pressed(page: Page, tokens: list[int]) -> None:
    page.evaluate("() => window.sockets.forEach(socket => socket.close())")
    button(page, "Step").click()
    expect(generated(page)).to_have_count(5)
    assert ids(page)[:4] == tokens
    settle(page)
    take_steps(page, 1)


def presses_are_done_once_the_network_is_back(page: Page) -> None:
    tokens = ids(page)
    page.context.set_offline(True)
    page.evaluate("() => window.dispatchEvent(new Event('offline'))")
    wait_for(page, "state.offline")
    tried = page.evaluate("() => window.sockets.length")
    for _ in range(3):
        button(page, "Step").click()
    wait_until(page, "count => window.sockets.length >= count", tried + 3)
    assert ids(page) == tokens
    page.context.set_offline(False)
    page.evaluate("() => window.dispatchEvent(new Event('online'))")
    wait_for(page, "state.steps.length === 9 && !state.offline")
    assert state(page, "[state.prompt, state.settings.temperature, state.error]") == [OWN, 1.25, ""]
    settle(page)
    assert ids(page)[:6] == tokens


def test_the_file_is_private(server, visits):
    if os.name == "posix":
        assert (visits / "visits.sqlite3").stat().st_mode & 0o077 == 0
