"""The decoder pages, cache and tokens in Chromium: keys, looks, axe's rules, what is too wide.

The short form takes one page.
"""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.rules import LOOKS, NEW_SIZE, broken_rules, look_at, wait_for_look
from tests.browser.stage import off_stage, on_stage, wrong_on_stage
from tests.browser.step_page import cancel_run, wait_until
from ui.cache.page import SECTIONS
from ui.charts.template import palette
from ui.shell.navigation import DECODERS

PATHS = [
    *(file.removeprefix("pages").removesuffix(".py") for file in DECODERS),
    "/cache",
    "/tokens",
]
SHORT = "/beam"
WITHOUT_STAGE = ("/cache", "/tokens")
WITHOUT_STEPS = ("/one_clock", "/cache", "/tokens")
MEASURED = ("/one_clock", "/cache")  # no chart is drawn while they measure
RUNS_MS = 240_000  # on a machine that does other things as well
FITS = "() => (e => e.scrollWidth - e.clientWidth)(document.querySelector('.stMain')) <= 0"
FOLLOW = """
colour => [...document.querySelectorAll('.dv-plotly .js-plotly-plot')]
  .every(chart => chart._fullLayout?.font.color === colour)
"""
# Chosen options and sliders that look like their surroundings.
UNSEEN = """
() => {
  const ground = element => getComputedStyle(element).backgroundColor;
  const chosen = [...document.querySelectorAll('[data-variant][data-selected="true"]')]
    .filter(one => [...one.parentElement.children]
      .some(other => other !== one && ground(other) === ground(one)));
  const thumb = '[data-testid="stSlider"] [role="group"] [style*="left"]';
  const thumbs = [...document.querySelectorAll(thumb)]
    .filter(one => ground(one) === ground(document.querySelector('.stApp')));
  return [...chosen, ...thumbs].map(element => element.outerHTML.slice(0, 200));
}
"""
PLAYS = "The charts follow once it stops growing."
SAID = "[class*=_transport] [data-testid=stCaptionContainer]"
HAS_PLAYED = re.compile("^[1-9].* · ")  # that it has ended is not said while it grows


@pytest.mark.long
@pytest.mark.parametrize("path", [each for each in PATHS if each not in (*WITHOUT_STEPS, SHORT)])
def test_keys_step_play_and_rewind(page: Page, path):
    opened(page, path)
    keys_step_play_and_rewind(page)


@pytest.mark.parametrize(
    "path",
    [SHORT, *(pytest.param(each, marks=pytest.mark.long) for each in PATHS if each != SHORT)],
)
def test_page_passes_keyboard_and_appearance_checks(page: Page, path, tmp_path):
    """Check both sizes and both schemes on a page opened once."""
    for size, scheme in NEW_SIZE:
        look_at(page, size, scheme)
        if page.url == "about:blank":
            opened(page, path)
        wait_for_look(page, size, scheme)
        wait_until(page, FITS)
        wait_until(page, FOLLOW, palette(scheme == "dark").text)  # without a press
        assert broken_rules(page) == [], (size, scheme)
    if path not in WITHOUT_STAGE:
        stage_view_is_legible(page)
    states_show_in_forced_colours(page)
    if path not in WITHOUT_STEPS:
        keys_step_play_and_rewind(page)
    if path == "/beam":
        a_saved_trace_opens(page, tmp_path)
    if path == "/cache":
        every_other_section_is_drawn(page)


def opened(page: Page, path: str) -> None:
    """Open a page and wait until nothing grows on it."""
    page.goto(path)
    expect(page.get_by_role("textbox").first).to_be_visible()
    first = ".stMain table" if path in MEASURED else ".js-plotly-plot"
    expect(page.locator(first).first).to_be_visible(timeout=RUNS_MS)
    if path not in WITHOUT_STEPS:  # a text plays its first steps once its page is open
        expect(page.locator(SAID)).to_have_text(HAS_PLAYED, timeout=RUNS_MS)
    cancel_run(page)  # what began by itself, with the figures it has
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    expect(page.get_by_text(PLAYS)).to_have_count(0, timeout=RUNS_MS)


def stage_view_is_legible(page: Page) -> None:
    on_stage(page)
    assert wrong_on_stage(page) == []
    on_page = page.locator(".dv-staged").evaluate("node => node.innerText.trim().length")
    assert on_page > 0
    assert broken_rules(page) == []
    off_stage(page)


def states_show_in_forced_colours(page: Page) -> None:
    """A chosen control differs from the others, and a slider from its ground."""
    page.emulate_media(forced_colors="active")
    wait_until(page, "() => matchMedia('(forced-colors: active)').matches")
    assert page.evaluate(UNSEEN) == []
    page.emulate_media(forced_colors="none")


def keys_step_play_and_rewind(page: Page) -> None:
    page.get_by_role("button", name="Rewind").click()
    wait_for_steps(page, 0)
    page.get_by_role("button", name="Rewind").evaluate("() => document.activeElement.blur()")
    for key, name, count in (("s", "Step", 1), ("s", "Step", 2), ("b", "Back", 1)):
        button = page.get_by_role("button", name=f"{name} Shortcut {key}")
        expect(button).to_be_enabled()  # it is not while a step is taken
        page.keyboard.press(key)
        wait_for_steps(page, count)
    page.keyboard.press("p")
    wait_until(page, "() => document.querySelector('[class*=_pause] button') !== null")
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    page.keyboard.press("0")
    wait_for_steps(page, 0)


def every_other_section_is_drawn(page: Page) -> None:
    """Each section begins by itself and is cancelled once it has results, in one look each."""
    for place, section in enumerate(SECTIONS[1:]):
        size, scheme = LOOKS[place % len(LOOKS)]
        look_at(page, size, scheme)
        page.get_by_role("radio", name=section.name, exact=True).click()
        expect(page.get_by_text(section.about)).to_be_visible()
        # Figures are shown while it runs; a conclusion follows only on an idle machine.
        drawn = page.locator(f".st-key-cache_{section.key}_notice, .stMain table")
        expect(drawn.first).to_be_visible(timeout=RUNS_MS)
        cancel_run(page)
        wait_for_look(page, size, scheme)
        wait_until(page, FITS)
        assert broken_rules(page) == [], (section.name, size, scheme)


def wait_for_steps(page: Page, count: int) -> None:
    """Wait until the transport shows `count` steps."""
    expect(page.locator(SAID)).to_have_text(re.compile(rf"^{count} "))


def a_saved_trace_opens(page: Page, folder: Path) -> None:
    """Read in the browser, handed over through the guard, made again by the model."""
    page.keyboard.press("s")
    wait_for_steps(page, 1)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Trace", exact=True).click()
    saved.value.save_as(folder / "trace.json")
    page.keyboard.press("0")
    wait_for_steps(page, 0)
    page.get_by_role("button", name="Open a trace").click()
    page.get_by_label("Trace file (JSON)").set_input_files(folder / "trace.json")
    expect(page.get_by_text("identical in all 1 step.")).to_be_visible(timeout=RUNS_MS)
    wait_for_steps(page, 1)
    assert broken_rules(page) == [], "with the field of a trace open"
