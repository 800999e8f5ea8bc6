"""The real app in a real browser: its own server, Chromium, and pages that tolerate no errors.

Scopes are `package`, so that server and browser end before other tests run. Playwright's
synchronous interface keeps an event loop in the main thread while it is open.

All tests that use a server share one browser profile, and each starts with empty storage. The
browser thus keeps the scripts it has loaded and compiled, half the cost of opening a page.

Opening a page is still the most expensive part. Tests in a file that use `step_page` therefore
pass one page along.
"""

import contextlib
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    BrowserContext,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)

from tests.browser.app_server import ARTEFACTS, AppServer
from tests.browser.chromium import REMEDY, find
from tests.browser.step_page import PATIENCE_MS, as_opened, opened, remember_opening

CHROMIUM_FLAGS = [
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
]
# On a deep link Streamlit's page probes below the page's own path first; both 404s are harmless.
HARMLESS_404 = re.compile(r"^/.+/(_stcore/health|_stcore/host-config|host-config)$")
# Everything a page can leave in the browser; loaded and compiled scripts stay.
STORED = "cookies,local_storage,indexeddb,cache_storage,service_workers,file_systems"
# The tour counts as done, except for a newcomer, who comes with `/#newcomer`.
TOUR_IS_DONE = """
  if (location.protocol === 'http:' && location.hash !== '#newcomer')
    localStorage['decoding-visualiser-preferences'] ??= '{"tour": "done"}';
"""
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "main")

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="package")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder where the server writes visits."""
    return tmp_path_factory.mktemp("visits")


@pytest.fixture(scope="package")
def crowd_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that keeps other visitors of the server stepping without a pause while it exists."""
    return tmp_path_factory.mktemp("crowd") / "is-here"


@pytest.fixture(scope="package")
def server(visits: Path, crowd_file: Path) -> Iterator[AppServer]:
    """The running app; its output goes to test-artefacts/server-*.log."""
    crowd = {"CROWD": str(crowd_file), "PYTHONPATH": str(Path(__file__).parent / "crowd")}
    server = AppServer(f"server-{WORKER}", str(visits), **crowd)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="package")
def app_url(server: AppServer) -> str:
    return server.url


@pytest.fixture(scope="package")
def browser(server: AppServer) -> Iterator[BrowserContext]:
    """The one Chromium for all tests of a server; relative addresses go to the app."""
    executable = find()
    if executable is None:
        pytest.fail(f"no Chromium that runs was found. {REMEDY}", pytrace=False)
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    flags = [*CHROMIUM_FLAGS, *(["--no-sandbox"] if is_root else [])]  # root has no sandbox
    profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    with sync_playwright() as playwright, profile as folder:
        browser = playwright.chromium.launch_persistent_context(
            folder,
            executable_path=executable,
            args=flags,
            base_url=server.url,
            viewport={"width": 1440, "height": 900},
        )
        browser.set_default_timeout(PATIENCE_MS)
        browser.add_init_script(TOUR_IS_DONE)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def handed_on(browser: BrowserContext, server: AppServer) -> Iterator[list[Page]]:
    """The opened step page for the next test in the file, or an empty list."""
    pages: list[Page] = []
    yield pages
    if pages:
        _forget_visitor(browser, server)


@pytest.fixture
def context(
    request: pytest.FixtureRequest,
    browser: BrowserContext,
    server: AppServer,
    handed_on: list[Page],
) -> Iterator[BrowserContext]:
    """A fresh visitor: empty storage, desktop window; relative addresses go to the app."""
    if handed_on and "step_page" not in request.fixturenames:
        handed_on.clear()
        _forget_visitor(browser, server)
    yield browser
    if not handed_on:
        _forget_visitor(browser, server)


def _forget_visitor(browser: BrowserContext, server: AppServer) -> None:
    blank, *pages = browser.pages  # closing its first page would end the browser
    for page in pages:
        page.close()
    browser.set_offline(False)
    browser.clear_cookies()
    session = browser.new_cdp_session(blank)
    for url in (server.url, server.url.replace("127.0.0.1", "localhost")):
        session.send("Storage.clearDataForOrigin", {"origin": url, "storageTypes": STORED})
    session.detach()


@pytest.fixture
def new_page(context: BrowserContext, watched: Callable[[Page], Page]) -> Page:
    """A page that fails its test on any error."""
    return watched(context.new_page())


@pytest.fixture
def page(new_page: Page) -> Page:
    """The same page; files whose tests pass a page along override this fixture."""
    return new_page


@pytest.fixture(scope="module")
def kept_page(browser: BrowserContext) -> Iterator[Page]:
    """One page that the tests of a file pass along; an exception in it fails its test."""
    page = browser.new_page()
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    yield page
    page.close()


@pytest.fixture
def step_page(
    request: pytest.FixtureRequest,
    context: BrowserContext,
    watched: Callable[[Page], Page],
    handed_on: list[Page],
) -> Iterator[Page]:
    """The step page as it opens. A test that passes hands it to the next test in its file."""
    if handed_on:
        page = watched(handed_on.pop())
        as_opened(page)
    else:
        page = opened(watched(context.new_page()))
        remember_opening(page)
    yield page
    outcome = request.node.stash.get(OUTCOME, None)
    if outcome is not None and outcome.passed:
        for other in context.pages[1:]:
            if other != page:
                other.close()
        handed_on.append(page)


@pytest.fixture
def watched(
    request: pytest.FixtureRequest, handed_on: list[Page]
) -> Iterator[Callable[[Page], Page]]:
    """Watch a page: console errors, exceptions and requests to other hosts fail the test.

    `@pytest.mark.tolerates("text")` allows console errors that contain the text.
    """
    pages: list[Page] = []
    problems: list[str] = []
    tolerated = [text for mark in request.node.iter_markers("tolerates") for text in mark.args]

    def on_console(message: ConsoleMessage) -> None:
        source = message.location.get("url", "")
        is_404 = "404" in message.text and HARMLESS_404.match(urlsplit(source).path)
        if message.type == "error" and not is_404 and not any(t in message.text for t in tolerated):
            problems.append(f"console error: {message.text} ({source})")

    def on_request(url: str) -> None:
        if (urlsplit(url).hostname or "127.0.0.1") != "127.0.0.1":  # data: and blob: have no host
            problems.append(f"request to another host: {url}")

    listeners = {
        "request": lambda sent: on_request(sent.url),
        "websocket": lambda socket: on_request(socket.url),
        "console": on_console,
        "pageerror": lambda error: problems.append(f"uncaught exception: {error}"),
    }

    def watch(page: Page) -> Page:
        pages.append(page)
        for event, listener in listeners.items():
            page.on(event, listener)
        return page

    yield watch
    outcome = request.node.stash.get(OUTCOME, None)
    if problems or (outcome is not None and outcome.failed):
        name = re.sub(r"\W+", "-", request.node.name).strip("-")
        for number, page in enumerate(pages):
            with contextlib.suppress(Exception):  # a closed page cannot be photographed
                page.screenshot(path=ARTEFACTS / f"{name}-{number}.png", timeout=5_000)
    if problems:
        handed_on.clear()
        pytest.fail("\n".join(problems), pytrace=False)
    for page in handed_on:
        for event, listener in listeners.items():
            page.remove_listener(event, listener)


OUTCOME = pytest.StashKey[pytest.TestReport]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
    """Tell `watched` whether its test failed, and show the server's log with the failure."""
    report = yield
    if report.when == "call":
        item.stash[OUTCOME] = report
    server = getattr(item, "funcargs", {}).get("server")
    if report.failed and server is not None:
        report.sections.append(("server log", server.tail()))
    return report
