"""What survives: a reload, a server that is killed, ten seconds without network, a second tab."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import (
    ARTEFACTS,
    PATIENCE_MS,
    ROOT,
    die_with_parent,
    server_environment,
    wait_until_healthy,
)
from tests.browser.free_port import free_port

OWN = "My own prompt: the little dog"
READY = "document.querySelector('.dv')?.decoding?.state?.row"


class Server:
    """The app on a port of its own, to be killed and started again."""

    def __init__(self, visits: Path) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._visits = visits
        self._process: subprocess.Popen | None = None

    def start(self) -> None:
        log = ARTEFACTS / "server-visits.log"
        ARTEFACTS.mkdir(exist_ok=True)
        flags = ["--server.address=127.0.0.1", f"--server.port={self.port}"]
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "streamlit", "run", "app.py", *flags],
                cwd=ROOT,
                env={**server_environment(), "DECODING_VISITS": str(self._visits)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent if sys.platform == "linux" else None,
            )
        wait_until_healthy(self._process, self.url, log)

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("visits"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
def visitor(browser, server):
    context = browser.new_context(
        base_url=server.url, viewport={"width": 1440, "height": 900}, bypass_csp=True
    )
    context.set_default_timeout(PATIENCE_MS)
    yield context
    context.close()


def step_page(context: BrowserContext) -> Page:
    page = context.new_page()
    page.goto("/")
    page.wait_for_function(READY)
    return page


def do(page: Page, script: str):
    return page.evaluate(
        "(async () => { const {state, actions, view} = document.querySelector('.dv').decoding;"
        f" {script} }})()"
    )


def wait_for(page: Page, condition: str) -> None:
    page.wait_for_function(
        "() => { const page = document.querySelector('.dv')?.decoding;"
        f" return page && ({condition}) }}"
    )


def own_text(page: Page) -> list[int]:
    """A text of one's own, with settings of one's own; its tokens."""
    page.get_by_role("textbox", name="Prompt", exact=True).fill(OWN)
    page.get_by_role("button", name="Start", exact=True).click()
    wait_for(page, f"page.state.prompt === {OWN!r}")
    do(page, "actions.set({ temperature: 1.25 }); actions.settle();")
    for _ in range(7):
        page.get_by_role("button", name="Step", exact=True).click()
    wait_for(page, "page.state.steps.length === 7")
    return ids(page)


def ids(page: Page) -> list[int]:
    return do(page, "return state.steps.map(step => step.id);")


def kept(page: Page) -> tuple:
    return do(page, "return [state.prompt, state.settings.temperature, state.error];")


def until_written() -> None:
    """Records are written within about a second."""
    time.sleep(2.5)


# --- the step page --------------------------------------------------------------------------------


def test_a_reload_keeps_text_prompt_and_settings(visitor):
    page = step_page(visitor)
    tokens = own_text(page)
    page.reload()
    wait_for(page, "page.state.steps.length === 7")
    assert ids(page) == tokens
    assert kept(page) == [OWN, 1.25, ""]


def test_a_server_that_is_killed_comes_back_under_the_open_page(visitor, server):
    page = step_page(visitor)
    tokens = own_text(page)
    until_written()
    page.get_by_role("button", name="Step", exact=True).click()
    wait_for(page, "page.state.steps.length === 8")
    tokens = ids(page)
    server.kill()
    expect(page.locator(".dv-offline")).to_have_count(1)
    assert ids(page) == tokens, "what is on screen stays there"
    server.start()
    expect(page.locator(".dv-offline")).to_have_count(0, timeout=PATIENCE_MS)
    assert ids(page) == tokens
    assert kept(page) == [OWN, 1.25, ""]
    page.get_by_role("button", name="Step", exact=True).click()
    wait_for(page, "page.state.steps.length === 9")
    page.reload()
    wait_for(page, "page.state.steps.length === 9")
    assert kept(page)[:2] == [OWN, 1.25]


def test_a_press_without_network_is_done_when_it_is_back(visitor):
    page = step_page(visitor)
    own_text(page)
    visitor.set_offline(True)
    page.evaluate("window.dispatchEvent(new Event('offline'))")
    expect(page.locator(".dv-offline")).to_have_count(1)
    for _ in range(3):
        page.get_by_role("button", name="Step", exact=True).click()
    time.sleep(10)
    assert len(ids(page)) == 7
    visitor.set_offline(False)
    page.evaluate("window.dispatchEvent(new Event('online'))")
    wait_for(page, "page.state.steps.length === 10")
    expect(page.locator(".dv-offline")).to_have_count(0)
    assert kept(page) == [OWN, 1.25, ""]


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


def test_a_duplicated_tab_goes_its_own_way(visitor):
    page = step_page(visitor)
    tokens = own_text(page)
    other = duplicate(page)
    other.goto("/")
    wait_for(other, "page.state.steps.length === 7")
    assert ids(other) == tokens
    assert token(other) != token(page)
    other.get_by_role("button", name="Step", exact=True).click()
    wait_for(other, "page.state.steps.length === 8")
    assert ids(page) == tokens
    other.reload()
    wait_for(other, "page.state.steps.length === 8")
    page.reload()
    wait_for(page, "page.state.steps.length === 7")
    assert token(other) != token(page)


def test_the_text_is_there_after_a_visit_to_another_page(visitor):
    page = step_page(visitor)
    tokens = own_text(page)
    page.get_by_role("link", name="Compare", exact=True).click()
    expect(page).to_have_title(re.compile("^Compare"))
    page.get_by_role("link", name="Step", exact=True).click()
    wait_for(page, "page.state.steps.length === 7")
    assert ids(page) == tokens


# --- compare and tune -----------------------------------------------------------------------------


def compare_page(context: BrowserContext) -> Page:
    page = context.new_page()
    page.goto("/compare")
    prompt = page.get_by_role("textbox", name="Prompt", exact=True)
    expect(prompt).to_be_visible()
    prompt.fill(OWN)
    prompt.press("ControlOrMeta+Enter")
    page.get_by_role("button", name="Add column").click()
    expect(page.get_by_role("combobox", name="Column 5", exact=False)).to_be_visible()
    return page


def is_kept_on_compare(page: Page) -> None:
    prompt = page.get_by_role("textbox", name="Prompt", exact=True)
    expect(prompt).to_have_value(OWN, timeout=PATIENCE_MS)
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
    expect(values).to_have_value("0.5, 1", timeout=PATIENCE_MS)
    expect(page.get_by_text("2 × 5 cells")).to_be_visible()
    expect(page.locator(".js-plotly-plot").first).to_be_visible()


PAGES = {"compare": (compare_page, is_kept_on_compare), "tune": (tune_page, is_kept_on_tune)}


@pytest.mark.parametrize("name", PAGES)
def test_another_page_survives_reload_restart_offline_and_a_second_tab(visitor, server, name):
    opened, is_kept = PAGES[name]
    page = opened(visitor)
    page.reload()
    is_kept(page)
    other = duplicate(page)
    other.goto(f"/{name}")
    is_kept(other)
    visitor.set_offline(True)
    time.sleep(3)
    visitor.set_offline(False)
    page.reload()
    is_kept(page)
    until_written()
    server.kill()
    server.start()
    page.reload()
    is_kept(page)
    assert token(other) != token(page)


def test_the_file_is_private(server):
    if os.name == "posix":
        file = server._visits / "visits.sqlite3"
        assert file.stat().st_mode & 0o077 == 0
