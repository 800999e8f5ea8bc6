"""A llama.cpp server that is killed and restarted while a visitor steps, plays and compares."""

import pytest
from playwright.sync_api import expect

from tests.browser.app_server import AppServer
from tests.browser.step_page import alert, button, ids, settle, state, take_steps, wait_for
from tests.engine.backend.llama_server import LlamaServer, write_gguf
from tests.engine.backend.running import TARGET

# A broken connection is retried for 5 seconds before a sentence says so.
LOST_MS = 30_000
LOST = "cannot be reached"
COMPARED_MS = 60_000
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with LlamaServer(write_gguf(TARGET, tmp_path_factory.mktemp("gguf") / "target.gguf")) as server:
        yield server


@pytest.fixture(scope="module")
def url(engine):
    servers = {"DECODING_MODEL": engine.address, "DECODING_SERVERS": engine.address}
    server = AppServer("server-lost", "off", **servers)
    server.start()
    yield server.url
    server.stop()


@pytest.fixture(scope="module")
def page(browser):
    page = browser.new_page()
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    yield page
    page.close()


def test_text_is_kept_when_the_server_ends_during_a_step(page, url, engine):
    page.goto(f"{url}/")
    wait_for(page, "state.run && view")
    take_steps(page, 3)
    text = ids(page)
    engine.kill()
    button(page, "Step").click()
    expect(alert(page, LOST)).to_be_visible(timeout=LOST_MS)
    assert ids(page) == text
    engine.start()
    take_steps(page, 2)
    assert (ids(page)[:3], state(page, "state.error")) == (text, "")


def test_playing_stops_when_the_server_ends(page, engine):
    button(page, "Play").click()
    wait_for(page, "state.steps.length >= 8")
    engine.kill()
    expect(alert(page, LOST)).to_be_visible(timeout=LOST_MS)
    expect(button(page, "Play")).to_be_visible()
    text = ids(page)
    engine.start()
    take_steps(page, 1)
    assert ids(page)[:-1] == text
    settle(page)


def test_columns_of_a_second_model_are_kept_when_its_server_ends(page, url, engine):
    page.goto(f"{url}/compare")
    expect(page.get_by_role("region", name="Text of column 4")).to_be_visible()
    button(page, "Second model: none").click()
    page.get_by_text("Bundled draft").last.click()
    page.get_by_role("button", name="Load", exact=True).last.click()
    fifth = page.get_by_role("region", name="Text of column 5")
    expect(fifth).to_contain_text("bundled-draft; ", timeout=COMPARED_MS)
    engine.kill()
    button(page, "Step").click()
    first = page.get_by_role("region", name="Text of column 1")
    expect(first).to_contain_text(LOST, timeout=COMPARED_MS)
    engine.start()
    button(page, "Rewind").click()
    button(page, "Step").click()
    expect(first).not_to_contain_text(LOST, timeout=COMPARED_MS)


def test_sweep_continues_when_the_server_is_back(page, url, engine):
    page.goto(f"{url}/tune")
    button(page, "Run sweep").click()
    expect(page.get_by_text("of 25 texts, about")).to_be_visible(timeout=COMPARED_MS)
    engine.kill()
    expect(page.get_by_text("Ended early with")).to_be_visible(timeout=LOST_MS)
    expect(alert(page, LOST)).to_be_visible()
    engine.start()
    button(page, "Continue").click()
    expect(button(page, "Cancel")).to_have_count(0, timeout=COMPARED_MS)
    expect(button(page, "Continue")).to_have_count(0)
    expect(alert(page, LOST)).to_have_count(0)
    expect(page.get_by_role("figure", name="Heatmap of perplexity")).to_be_visible()
