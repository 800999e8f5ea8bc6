"""The real app in a real browser: a server of its own, Chromium, a page that tolerates no errors.

Scopes are `package`, so that server and browser are gone before other tests run: Playwright's
synchronous interface keeps an event loop in the main thread while it is open.
"""

import contextlib
import ctypes
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)

from tests.browser.chromium import REMEDY, find

ROOT = Path(__file__).resolve().parents[2]
ARTEFACTS = ROOT / "test-artefacts"
START_DEADLINE_S = 60
PATIENCE_MS = 30_000  # the first step loads a model, perhaps on a busy machine

# Their names are a contract with screen readers.
FIGURES = [
    "Logits",
    "Softmax",
    "Cumulative probability",
    "Rank curve",
    "KV cache",
    "Latency per step",
]

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

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="package")
def app_url() -> Iterator[str]:
    """Address of the running app; the server's output is in test-artefacts/server.log."""
    ARTEFACTS.mkdir(exist_ok=True)
    log = ARTEFACTS / "server.log"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    flags = ["--server.address=127.0.0.1", f"--server.port={port}", "--server.headless=true"]
    with log.open("wb") as output:
        server = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", *flags],
            cwd=ROOT,
            env=server_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=die_with_parent if sys.platform == "linux" else None,
        )
    try:
        wait_until_healthy(server, url, log)
        yield url
    finally:
        server.terminate()
        try:
            server.wait(timeout=10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def server_environment() -> dict[str, str]:
    """The person's environment without what would make this another app than the checked-in one."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("STREAMLIT_", "DECODING_"))
    }
    # Visits of tests are nobody's work: none of them comes to the disk.
    return {**kept, "HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1", "DECODING_VISITS": "off"}


def die_with_parent() -> None:
    """Linux only: a test run that is killed outright takes its server along."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)


def wait_until_healthy(server: subprocess.Popen, url: str, log: Path) -> None:
    deadline = time.monotonic() + START_DEADLINE_S
    while time.monotonic() < deadline and server.poll() is None:
        with (
            contextlib.suppress(OSError),
            urllib.request.urlopen(f"{url}/_stcore/health", timeout=2),
        ):
            return
        time.sleep(0.1)
    state = (
        f"exited with {server.returncode}" if server.returncode is not None else "still starting"
    )
    pytest.fail(f"the app did not answer ({state}); its log:\n{tail(log)}", pytrace=False)


def tail(log: Path, characters: int = 4000) -> str:
    return log.read_text(errors="replace")[-characters:]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One Chromium for all browser tests; each test gets a fresh context of it."""
    executable = find()
    if executable is None:
        pytest.fail(f"no Chromium that runs was found. {REMEDY}", pytrace=False)
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    flags = [*CHROMIUM_FLAGS, *(["--no-sandbox"] if is_root else [])]  # no sandbox exists for root
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def context(browser: Browser, app_url: str) -> Iterator[BrowserContext]:
    """A visitor of their own: empty storage, desktop window; relative addresses go to the app."""
    context = browser.new_context(base_url=app_url, viewport={"width": 1440, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page; console errors, uncaught exceptions and requests to other hosts fail the test.

    `@pytest.mark.tolerates("text")` lets through console errors that hold the text.
    """
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

    context.on("request", lambda sent: on_request(sent.url))
    page = context.new_page()
    page.on("websocket", lambda socket: on_request(socket.url))
    page.on("console", on_console)
    page.on("pageerror", lambda error: problems.append(f"uncaught exception: {error}"))
    yield page

    outcome = request.node.stash.get(OUTCOME, None)
    if problems or (outcome is not None and outcome.failed):
        name = re.sub(r"\W+", "-", request.node.name).strip("-")
        with contextlib.suppress(Exception):  # a crashed page has no picture; keep the first error
            page.screenshot(path=ARTEFACTS / f"{name}.png", timeout=5_000)
    if problems:
        log = tail(ARTEFACTS / "server.log")
        pytest.fail("\n".join([*problems, "", "server log:", log]), pytrace=False)


OUTCOME = pytest.StashKey[pytest.TestReport]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
    """Lets the page fixture see whether its test failed, and shows the server's log with it."""
    report = yield
    if report.when == "call":
        item.stash[OUTCOME] = report
        log = ARTEFACTS / "server.log"
        if report.failed and log.exists():
            report.sections.append(("server log", tail(log)))
    return report
