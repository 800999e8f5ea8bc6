"""A llama.cpp server that is killed and restarted while a visitor steps, plays and compares."""

import pytest
from playwright.sync_api import expect

from tests.browser.app_server import AppServer
from tests.browser.step_page import alert, button, ids, settle, state, take_steps, wait_for
from tests.engine.backend.llama_server import LlamaServer
from tests.engine.backend.running import TARGET
from tests.engine.gguf_files import write_gguf

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


def test_text_is_kept_when_the_server_ends_during_a_step(kept_page, url, engine):
    kept_page.goto(f"{url}/")
    wait_for(kept_page, "state.run && view")
    take_steps(kept_page, 3)
    text = ids(kept_page)
    engine.kill()
    button(kept_page, "Step").click()
    expect(alert(kept_page, LOST)).to_be_visible(timeout=LOST_MS)
    assert ids(kept_page) == text
    engine.start()
    take_steps(kept_page, 2)
    assert (ids(kept_page)[:3], state(kept_page, "state.error")) == (text, "")


def test_playing_stops_when_the_server_ends(kept_page, engine):
    button(kept_page, "Play").click()
    wait_for(kept_page, "state.steps.length >= 8")
    engine.kill()
    expect(alert(kept_page, LOST)).to_be_visible(timeout=LOST_MS)
    expect(button(kept_page, "Play")).to_be_visible()
    text = ids(kept_page)
    engine.start()
    take_steps(kept_page, 1)
    assert ids(kept_page)[:-1] == text
    settle(kept_page)


def test_columns_of_a_second_model_are_kept_when_its_server_ends(kept_page, url, engine):
    kept_page.goto(f"{url}/compare")
    expect(kept_page.get_by_role("region", name="Text of column 4")).to_be_visible()
    button(kept_page, "Second model: none").click()
    kept_page.get_by_text("Bundled draft").last.click()
    kept_page.get_by_role("button", name="Load", exact=True).last.click()
    fifth = kept_page.get_by_role("region", name="Text of column 5")
    expect(fifth).to_contain_text("bundled-draft; ", timeout=COMPARED_MS)
    engine.kill()
    button(kept_page, "Step").click()
    first = kept_page.get_by_role("region", name="Text of column 1")
    expect(first).to_contain_text(LOST, timeout=COMPARED_MS)
    engine.start()
    button(kept_page, "Rewind").click()
    button(kept_page, "Step").click()
    expect(first).not_to_contain_text(LOST, timeout=COMPARED_MS)


def test_sweep_continues_when_the_server_is_back(kept_page, url, engine):
    kept_page.goto(f"{url}/tune")
    button(kept_page, "Run sweep").click()
    expect(kept_page.get_by_text("of 25 texts, about")).to_be_visible(timeout=COMPARED_MS)
    engine.kill()
    expect(kept_page.get_by_text("Ended early with")).to_be_visible(timeout=LOST_MS)
    expect(alert(kept_page, LOST)).to_be_visible()
    engine.start()
    button(kept_page, "Continue").click()
    expect(button(kept_page, "Cancel")).to_have_count(0, timeout=COMPARED_MS)
    expect(button(kept_page, "Continue")).to_have_count(0)
    expect(alert(kept_page, LOST)).to_have_count(0)
    expect(kept_page.get_by_role("figure", name="Heatmap of perplexity")).to_be_visible()
