"""What survives: a reload, a server that is killed, ten seconds without network, a second tab."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.app_server import AppServer
from tests.browser.conftest import WORKER, OpenBrowser
from tests.browser.step_page import (
    button,
    force_buttons,
    generated,
    ids,
    opened,
    prompt,
    set_samplers,
    settle,
    start,
    state,
    take_steps,
    turn_random,
    wait_for,
)

OWN = "My own prompt: the little dog"


@pytest.fixture(scope="module")
def visits(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("visits")


@pytest.fixture(scope="module")
def server(visits: Path) -> Iterator[AppServer]:
    """One that writes down what visitors have."""
    server = AppServer(f"server-visits-{WORKER}", str(visits))
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def browser(open_browser: OpenBrowser, server: AppServer) -> Iterator[BrowserContext]:
    with open_browser(server.url) as browser:
        yield browser


def own_text(page: Page) -> list[int]:
    """A text of one's own, with settings of one's own; its tokens."""
    opened(page)
    start(page, OWN)
    set_samplers(page, temperature=1.25)
    take_steps(page, 7)
    settle(page)
    return ids(page)


def is_back(page: Page, tokens: list[int]) -> None:
    """Text, prompt and settings are as they were."""
    wait_for(page, "state.steps.length === arg && !state.offline", len(tokens))
    assert ids(page) == tokens
    assert state(page, "[state.prompt, state.settings.temperature]") == [OWN, 1.25]


def until_written(page: Page) -> None:
    """Records are written within about a second."""
    page.wait_for_timeout(2500)


# --- the step page --------------------------------------------------------------------------------


def test_a_reload_keeps_text_branches_and_settings(context):
    page = context.new_page()
    tokens = own_text(page)
    page.reload()
    is_back(page, tokens)
    turn_random(page)
    generated(page).nth(3).click()
    wait_for(page, "view.index === 3")
    force_buttons(page).nth(7).click()
    expect(generated(page)).to_have_count(4)
    branch = ids(page)
    page.reload()
    wait_for(page, "state.steps.length === 4")
    assert ids(page) == branch
    expect(page.get_by_role("radiogroup", name="Branches").get_by_role("radio")).to_have_count(2)
    take_steps(page, 1)


def test_a_server_that_is_killed_comes_back_under_the_open_page(context, server):
    page = context.new_page()
    own_text(page)
    until_written(page)
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


def test_presses_without_network_are_done_once_it_is_back(context):
    page = context.new_page()
    tokens = own_text(page)
    context.set_offline(True)
    page.evaluate("() => window.dispatchEvent(new Event('offline'))")
    wait_for(page, "state.offline")
    for _ in range(3):
        button(page, "Step").click()
    page.wait_for_timeout(10_000)  # the length of the outage
    assert ids(page) == tokens
    context.set_offline(False)
    page.evaluate("() => window.dispatchEvent(new Event('online'))")
    wait_for(page, "state.steps.length === 10 && !state.offline")
    assert state(page, "[state.prompt, state.settings.temperature, state.error]") == [OWN, 1.25, ""]


def test_a_socket_that_breaks_under_a_press_loses_and_repeats_nothing(context):
    page = context.new_page()
    page.add_init_script(
        "const Real = WebSocket; window.sockets = [];"
        "window.WebSocket = class extends Real {"
        " constructor(...given) { super(...given); window.sockets.push(this); } };"
    )
    tokens = own_text(page)
    page.evaluate("() => window.sockets.forEach(socket => socket.close())")
    button(page, "Step").click()
    expect(generated(page)).to_have_count(8)
    assert ids(page)[:7] == tokens
    settle(page)
    take_steps(page, 2)


def test_a_tab_that_is_killed_comes_back_when_it_is_opened_again(context):
    page = context.new_page()
    tokens = own_text(page)
    other = duplicate(page)  # a browser that restores a tab gives it its storage back
    page.close(run_before_unload=False)
    other.goto("/")
    is_back(other, tokens)


def duplicate(page: Page) -> Page:
    """A second tab, as the browser's own "Duplicate" makes it: the same storage, another page."""
    stored = page.evaluate("JSON.stringify({ ...sessionStorage })")
    other = page.context.new_page()
    other.add_init_script(
        f"if (!sessionStorage.length) Object.entries({stored}).forEach(([k, v]) =>"
        " sessionStorage.setItem(k, v));"
    )
    return other


def token(page: Page) -> str:
    return page.evaluate("sessionStorage.getItem('decoding-visualiser-visit')")


def test_a_duplicated_tab_goes_its_own_way(context):
    page = context.new_page()
    tokens = own_text(page)
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


def test_the_text_is_there_after_a_visit_to_another_page(context):
    page = context.new_page()
    tokens = own_text(page)
    page.get_by_role("link", name="Compare", exact=True).click()
    expect(page).to_have_title(re.compile("^Compare"))
    page.get_by_role("link", name="Step", exact=True).click()
    is_back(page, tokens)


# --- compare and tune -----------------------------------------------------------------------------


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


def tune_page(context: BrowserContext) -> Page:
    page = context.new_page()
    page.goto("/tune")
    values = page.get_by_role("textbox", name="X values", exact=True)
    expect(values).to_be_visible()
    values.fill("0.5, 1")
    values.press("Enter")
    expect(page.get_by_text("2 × 5 cells")).to_be_visible()
    return page


def is_kept_on_tune(page: Page) -> None:
    values = page.get_by_role("textbox", name="X values", exact=True)
    expect(values).to_have_value("0.5, 1")
    expect(page.get_by_text("2 × 5 cells")).to_be_visible()
    expect(page.locator(".js-plotly-plot").first).to_be_visible()


PAGES = {"compare": (compare_page, is_kept_on_compare), "tune": (tune_page, is_kept_on_tune)}


def test_the_other_pages_survive_every_loss(context, server):
    """Each in a tab, so that both share the outage and the restart."""
    tabs, others = {}, {}
    for name, (arrive, is_kept) in PAGES.items():
        tabs[name] = arrive(context)
        tabs[name].reload()
        is_kept(tabs[name])
        others[name] = duplicate(tabs[name])
        others[name].goto(f"/{name}")
        is_kept(others[name])
    context.set_offline(True)
    tabs[name].wait_for_timeout(10_000)  # the length of the outage
    context.set_offline(False)
    for name, (_, is_kept) in PAGES.items():
        tabs[name].reload()
        is_kept(tabs[name])
    until_written(tabs[name])
    server.kill()
    server.start()
    for name, (_, is_kept) in PAGES.items():
        tabs[name].reload()
        is_kept(tabs[name])
        restored = duplicate(tabs[name])
        tabs[name].close(run_before_unload=False)
        restored.goto(f"/{name}")
        is_kept(restored)
        assert token(others[name]) != token(restored)


def test_the_file_is_private(server, visits):
    if os.name == "posix":
        assert (visits / "visits.sqlite3").stat().st_mode & 0o077 == 0
