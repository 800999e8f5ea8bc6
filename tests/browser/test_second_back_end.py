"""Step, Compare and Tune on a back end that names only its 1,000 likeliest tokens."""

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from engine.decoding.decoder import Decoder
from engine.sampling import SamplingSettings
from tests.browser.app_server import ROOT, AppServer
from tests.browser.step_page import button, ids, settle, state, take_steps, wait_for
from tests.bundled import bundled
from tests.engine.backend.top_n import TopN

LISTED = 1000
LIMITS = f"lists the {LISTED:,} likeliest of its 16,384 tokens at every step"
SWEEP_MS = 120_000
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def url():
    paths = f"{Path(__file__).parent / 'top_n'}{os.pathsep}{ROOT}"
    server = AppServer("server-top-n", "off", TOP_N=str(LISTED), PYTHONPATH=paths)
    server.start()
    yield server.url
    server.stop()


def test_a_text_grows_on_the_step_page(kept_page, url):
    kept_page.goto(f"{url}/")
    wait_for(kept_page, "state.run && view")
    assert state(kept_page, "[state.model.listed, state.settings.top_k]") == [LISTED, LISTED]
    expect(kept_page.get_by_text("1,000 of 16,384 named")).to_be_visible()
    state(kept_page, "actions.set({ temperature: 1.4, top_p: 0.9 })")
    take_steps(kept_page, 6)
    settle(kept_page)
    settings = SamplingSettings(temperature=1.4, top_k=LISTED, top_p=0.9, seed=0)
    alone = Decoder(TopN(bundled(), LISTED), state(kept_page, "state.prompt"), settings)
    assert ids(kept_page) == [step.token_id for step in alone.run(6)]
    shown = [state(kept_page, f"state.steps[{i}].probability") for i in range(6)]
    assert shown == [step.probability for step in alone.steps]
    expect(
        kept_page.get_by_text("The model does not report the size of its cache.").first
    ).to_be_visible()


def test_unsupported_setting_is_refused_and_text_kept(kept_page):
    before = ids(kept_page)
    kept_page.get_by_role("switch", name="Top-k on", exact=True).click()
    expect(kept_page.get_by_text("use 1 to 1,000").first).to_be_visible()
    settle(kept_page)
    assert (ids(kept_page), state(kept_page, "state.settings.top_k")) == (before, LISTED)


def test_columns_grow_on_compare(kept_page, url):
    kept_page.goto(f"{url}/compare")
    expect(kept_page.get_by_text(LIMITS)).to_be_visible()
    button(kept_page, "Step").click()
    pure = kept_page.get_by_text("top-k 1000; seed 0")
    expect(pure).to_be_visible()


def test_a_sweep_runs_on_tune(kept_page, url):
    kept_page.goto(f"{url}/tune")
    expect(kept_page.get_by_text(LIMITS)).to_be_visible()
    values = kept_page.get_by_role("textbox", name="X values", exact=True)
    values.fill("0.5, 1")
    values.press("Enter")
    expect(kept_page.get_by_text("2 × 5 cells")).to_be_visible()
    most = kept_page.get_by_role("spinbutton", name="Max tokens", exact=True)
    most.fill("8")
    most.press("Enter")
    expect(kept_page.get_by_text("at most 8 tokens")).to_be_visible()
    button(kept_page, "Run sweep").click()
    expect(kept_page.get_by_text("makes one text at a time")).to_be_visible(timeout=SWEEP_MS)
    heatmap = kept_page.get_by_role("figure", name="Heatmap of perplexity")
    expect(heatmap).to_be_visible(timeout=SWEEP_MS)


def test_constrained_decoding_reads_every_token(kept_page, url):
    kept_page.goto(f"{url}/constrained")
    kept_page.get_by_role("button", name=re.compile("^Step")).click()
    expect(kept_page.get_by_text("allowed probability").filter(visible=True)).to_be_visible()
