"""The step page is one screen: related parts are in sight together, and nothing moves."""

from collections.abc import Callable
from itertools import cycle

import pytest
from playwright.sync_api import Page, expect

from tests.browser.step_page import (
    FIVE_ON,
    PATIENCE_MS,
    button,
    choose_example,
    choose_setting,
    figure,
    force_buttons,
    generated,
    set_samplers,
    settle,
    slider,
    start,
    take_steps,
    wait_for,
    wait_for_scheme,
    wait_until,
)

OPEN = "Once upon a time, there was a little"
ALWAYS = [f"[data-part={part}]" for part in ("transport", "strip", "line", "settings", "prompt")]
COSTS = ["[data-figure=kv_cache]", "[data-figure=latency]"]
SAMPLING = [
    *COSTS,
    "[data-figure=logits]",
    "[data-figure=softmax]",
    "[data-part=loop]",
    ".dv-right",
]
CHOSEN = ["tr.chosen", "[data-part=strip] [aria-current=true]"]
CUT_LINES = [f"[data-figure={name}] .dv-chart-marks span" for name in ("logits", "softmax")]

# Elements that leave the window or are cut off: `must` entirely, all others at their sides.
OUT_OF_SIGHT = """
must => {
  const found = [];
  const is_shown = node => node.checkVisibility({ visibilityProperty: true });
  const named = node => [node.closest('[data-part]')?.dataset.part, node.tagName,
    node.getAttribute('class'), node.getAttribute('aria-label') ?? node.textContent.slice(0, 30)];
  for (const node of [document.documentElement, document.querySelector('.stMain')]) {
    const { scrollWidth, clientWidth, scrollHeight, clientHeight } = node;
    if (scrollWidth > clientWidth) found.push(`the page scrolls sideways: ${scrollWidth}`);
    if (must.length && scrollHeight > clientHeight) found.push(`the page scrolls: ${scrollHeight}`);
  }
  for (const selector of must) {
    const nodes = [...document.querySelectorAll(selector)].filter(is_shown);
    if (!nodes.length) found.push(`nothing is ${selector}`);
    for (const node of nodes) {
      const box = node.getBoundingClientRect();
      let [top, bottom] = [0, innerHeight];
      for (let near = node.parentElement; near.closest('.dv'); near = near.parentElement) {
        if (getComputedStyle(near).overflowY === 'visible') continue;
        const around = near.getBoundingClientRect();
        [top, bottom] = [Math.max(top, around.top), Math.min(bottom, around.bottom)];
      }
      if (box.top < top - 1 || box.bottom > bottom + 1) found.push(`cut off: ${named(node)}`);
    }
  }
  // These scroll or end with an ellipsis on purpose, or are drawn beyond their box.
  const own_way = '.dv-line, .dv-said, .dv-prompt-text, .dv-strip-box, .dv-spoken, .dv-chart-layer,'
    + ' .dv-chart-labels, option, details:not([open]) > :not(summary)'
    + (must.length ? '' : ', .dv-loop-track');
  for (const node of document.querySelectorAll('.dv *')) {
    if (!is_shown(node) || node.closest(own_way)) continue;
    const { left, right, width } = node.getBoundingClientRect();
    if (width && (left < -1 || right > innerWidth + 1)) found.push(`outside: ${named(node)}`);
    const { overflowX, textOverflow } = getComputedStyle(node);
    const is_cut = node.clientWidth && node.scrollWidth > node.clientWidth + 1;
    if (is_cut && overflowX !== 'visible' && textOverflow !== 'ellipsis') {
      found.push(`its sides are cut off: ${named(node)}`);
    }
  }
  return found;
}
"""
PLACES = """
() => [...document.querySelectorAll('.dv [data-part], .dv figure, [data-part=transport] button,'
  + ' .dv-sampler, .dv-candidates thead')].filter(node => node.checkVisibility()).map(node => {
    const { x, y, width, height } = node.getBoundingClientRect();
    const name = node.dataset.part ?? node.getAttribute('aria-label') ?? node.className;
    return [name, ...[x, y, width, height].map(Math.round)].join(' ');
  })
"""
KEPT = "document.querySelectorAll('.dv [data-part], .dv-rows tr, .dv figure, .dv-sampler')"

# Charts follow a new size some frames later.
CHARTS_FIT = """
() => [...document.querySelectorAll('.dv-charts')].filter(panel => panel.clientWidth)
  .every(panel => {
    const svg = panel.querySelector('.main-svg');
    return svg && Math.abs(panel.clientWidth - svg.clientWidth) <= 2;
  })
"""
ONCE_ALL_IS_DRAWN = f"""
async ([must, patience]) => {{
  const fit = {CHARTS_FIT}, find = {OUT_OF_SIGHT}, until = performance.now() + patience;
  for (;;) {{
    const found = fit() ? find(must) : ['the charts have another size'];
    if (!found.length || performance.now() > until) return found;
    await new Promise(resolve => setTimeout(resolve, 25));
  }}
}}
"""
NEWEST = """
() => ['.dv-strip-box', 'li.generated:nth-last-child(1 of li.generated)', '.dv-slot']
  .map(selector => document.querySelector(selector).getBoundingClientRect())
  .map(({ top, bottom }) => ({ top, bottom }))
"""

Sight = Callable[..., None]


@pytest.fixture
def page(step_page: Page) -> Page:
    """The step page as it opens."""
    return step_page


@pytest.fixture
def in_sight(page: Page) -> Sight:
    """Fail unless all elements of these selectors are in sight once the page is drawn."""

    def check(*selectors: str) -> None:
        settle(page)
        assert page.evaluate(ONCE_ALL_IS_DRAWN, [selectors, PATIENCE_MS]) == []

    return check


def resize(page: Page, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})


def resize_open(page: Page, size: tuple[int, int]) -> None:
    """Resize an opened page and wait until it is drawn in this size."""
    resize(page, size)
    wait_until(page, "width => innerWidth === width", size[0])
    settle(page)
    wait_until(page, CHARTS_FIT)


def show(page: Page, look: str) -> None:
    """Show the page in light or dark."""
    page.emulate_media(color_scheme=look)
    wait_for_scheme(page, look)


def run_to(page: Page, count: int) -> None:
    choose_setting(page, "spinbutton", "Max tokens", str(count))
    button(page, "Run to end").click()
    expect(generated(page)).to_have_count(count)


def compare_by_hand(page: Page) -> None:
    """Compare a past step with a different temperature."""
    generated(page).nth(7).click()
    wait_for(page, "view.index === 7")
    slider(page, "Temperature").fill("1.7")
    wait_for(page, "view.what_if")


@pytest.mark.parametrize(
    ("size", "looks"),
    [
        ((1280, 720), ("dark",)),
        pytest.param((1280, 720), ("light",), marks=pytest.mark.long),
        pytest.param((1440, 900), ("light", "dark"), marks=pytest.mark.long),
    ],
    ids=str,
)
def test_all_parts_are_visible_in_every_state(page: Page, in_sight: Sight, size, looks):
    """Switch between light and dark for each state."""
    resize(page, size)
    following = cycle(looks)

    def in_next_look(*selectors: str) -> None:
        show(page, next(following))
        in_sight(*selectors)

    # On a smaller screen, the column of samplers scrolls within its place.
    samplers = ["[data-sampler]"] if size == (1440, 900) else []
    in_next_look(*ALWAYS, *SAMPLING, *samplers)

    set_samplers(page, **FIVE_ON)
    in_next_look(*ALWAYS, *SAMPLING, *samplers, *CUT_LINES)
    run_to(page, 20)
    in_next_look(*ALWAYS, *SAMPLING, *samplers, *CUT_LINES, *CHOSEN)
    compare_by_hand(page)
    in_next_look(*ALWAYS, *SAMPLING, *CUT_LINES, *CHOSEN)

    choose_example(page, "Guidance")
    take_steps(page, 2)
    in_next_look(*ALWAYS, *SAMPLING, *CHOSEN)
    for picture in ("Guidance", "Draw", "By rank"):
        page.get_by_role("tab", name=picture, exact=True).click()
        in_next_look(*ALWAYS, *COSTS, *CHOSEN)

    choose_example(page, "Contrastive search")
    take_steps(page, 2)
    in_next_look(*ALWAYS, *COSTS, "[aria-label='Candidates of the search'] tr")


@pytest.mark.parametrize(
    ("size", "steps"),  # lines break in both
    [((1280, 720), 12), pytest.param((1440, 900), 20, marks=pytest.mark.long)],
    ids=str,
)
def test_steps_neither_move_nor_replace_elements(page: Page, size, steps):
    set_samplers(page, temperature=2, top_p=0.98)
    resize_open(page, size)
    start(page, OPEN)
    settle(page)
    force_buttons(page).nth(3).focus()
    before = page.evaluate(PLACES)
    page.evaluate(f"() => {{ for (const node of {KEPT}) node.is_old = true }}")
    for number in range(1, steps + 1):
        page.keyboard.press("s")
        wait_for(page, "state.steps.length === arg", number)
    settle(page)
    assert page.evaluate(PLACES) == before
    expect(force_buttons(page).nth(3)).to_be_focused()
    assert page.evaluate(f"() => [...{KEPT}].filter(node => !node.is_old).length") == 0


def test_phone_shows_picture_above_samplers_in_one_column(page: Page, in_sight: Sight):
    resize(page, (390, 844))
    following = cycle(["dark", "light"])

    def in_next_look() -> None:
        show(page, next(following))
        in_sight()

    the_step_chip_lies_within_the_line(page)
    set_samplers(page, **FIVE_ON)
    take_steps(page, 3)
    in_next_look()
    tops = {
        name: page.locator(name).first.bounding_box()["y"]
        for name in (
            "[data-part=strip]",
            "[data-part=picture]",
            "[data-part=samplers]",
            ".dv-table",
        )
    }
    assert list(tops.values()) == sorted(tops.values())
    slider(page, "Top-p").scroll_into_view_if_needed()
    for shown in (figure(page, "Softmax"), button(page, "Step"), slider(page, "Top-p")):
        expect(shown).to_be_in_viewport(ratio=1)
    for example in ("Guidance", "Contrastive search"):
        choose_example(page, example)
        take_steps(page, 1)
        in_next_look()


def the_step_chip_lies_within_the_line(page: Page) -> None:
    start(page, OPEN)
    take_steps(page, 2)
    for says in ("plain", "what-if"):
        if says == "what-if":
            set_samplers(page, temperature=1.5)
            wait_for(page, "view.what_if")
        settle(page)
        line = page.locator("[data-part=line]").bounding_box()
        chip = page.locator("[data-part=line] .dv-chip").bounding_box()
        assert line["y"] <= chip["y"], says
        assert chip["y"] + chip["height"] <= line["y"] + line["height"], says


def test_newest_token_stays_visible_at_line_breaks(page: Page):
    """On a low screen, the one visible line must hold the newest token, not the slot alone."""
    resize(page, (1280, 720))
    start(page, OPEN)
    lines = set()
    for count in range(1, 61):
        if lines == {False, True}:
            break
        page.keyboard.press("s")
        wait_for(page, "state.steps.length === arg", count)
        settle(page)
        box, newest, slot = page.evaluate(NEWEST)
        assert box["top"] - 1 <= newest["top"], "the newest token is above"
        assert newest["bottom"] <= box["bottom"] + 1, "it is below"
        lines.add(slot["top"] > newest["top"] + 10)
    assert lines == {False, True}, "the slot was never alone on a line, which proves nothing"
    expect(page.get_by_role("button", name="Jump to latest")).to_have_count(0)


def test_enlarged_picture_keeps_step_button_and_shrinks_back(page: Page):
    for size in ((1280, 720), (390, 844)):
        resize_open(page, size)
        start(page)  # on a phone, a growing text moves the parts below it
        take_steps(page, 1)
        before = figure(page, "Softmax").bounding_box()
        button(page, "Enlarge").click()
        expect(button(page, "Enlarge")).to_have_attribute("aria-pressed", "true")
        after = figure(page, "Softmax").bounding_box()
        assert after["width"] >= before["width"] * (1.5 if size[0] > 1000 else 1)
        expect(button(page, "Step")).to_be_in_viewport(ratio=1)
        take_steps(page, 1)
        page.keyboard.press("Escape")
        expect(button(page, "Enlarge")).to_have_attribute("aria-pressed", "false")
        assert figure(page, "Softmax").bounding_box() == before


def test_charts_are_redrawn_when_window_size_changes(page: Page):
    """A redraw waits for the current one; a fault would be an error in the console."""
    resize(page, (1440, 900))
    take_steps(page, 2)
    for size in ((1280, 720), (1440, 900), (1100, 700)):
        resize(page, size)
        settle(page)
    wait_until(page, "() => innerWidth === 1100")
    wait_until(page, CHARTS_FIT)
    panel = page.locator(".dv-charts-distribution").bounding_box()
    assert panel["x"] + panel["width"] <= 1100
