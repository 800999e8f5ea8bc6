"""Nothing is cut off, covered or broken within a word: every page, at any width, in any language.

A browser's zoom makes the window narrower by its factor, so widths represent zooms as well: 853
pixels are a projector of 1280 at 150 %. The long form takes every page and every state of the step
page at all widths, in both languages. The short one takes each state and a few pages at one or two
of a few widths, in the language with the longer words.
"""

from itertools import cycle
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.step_page import cancel_run, go_on_to, settle, state, wait_for, wait_until
from ui.shell.navigation import HOME, PAGES
from ui.words.language import LANGUAGES

FEW_WIDTHS = [360, 853, 1280]
ALL_WIDTHS = [*range(360, 1500, 60), 1600, 1920, 2240, 2560, 3200]
OTHERS = [f"/{Path(file).stem}" for file in PAGES if file != HOME]
SOME = ("/diffusion", "/speculative")  # which no other short form opens
RUNS_MS = 240_000  # on a busy machine
SETTLES_MS = 6_000  # a fault that outlasts this is real: charts follow a new size late

FAULTS = Path(__file__).with_name("legible.js").read_text("utf-8").partition("export default ")[2]
ONCE_IT_STANDS = f"""
async patience => {{
  const find = {FAULTS.strip().removesuffix(";")};
  const frame = () => new Promise(done => requestAnimationFrame(() => setTimeout(done, 60)));
  const until = performance.now() + patience;
  await frame();
  for (;;) {{
    await frame();
    const found = find();
    if (!found.length || performance.now() > until) return found;
  }}
}}
"""
IS_DRAWN = """
() => document.querySelector('.stMain')?.innerText.length > 200
  && !document.querySelector('[data-testid=stSkeleton]')
"""
RUNS = """
() => [...document.querySelectorAll('[data-testid=stProgress], [class*=_cancel] button')]
  .some(node => node.checkVisibility())
"""

# States of the step page; each starts from the previous one.
FIVE = "{ repetition_penalty: 1.2, temperature: 0.9, top_k: 12, top_p: 0.97, min_p: 0.02 }"
IN_ORDER = f"state.table.order.filter(name => name in {FIVE})"
PROMPT = "actions.draft({ prompt: 'The football player\\nkicked the ball and\\n' })"
STATES = {
    "new": f"{PROMPT}, actions.start()",
    "five samplers": f"actions.set({{ ...{FIVE}, order: {IN_ORDER} }})",
    "a step": "actions.step()",
    "another step": "actions.step()",
    "what if": "actions.inspect(1), actions.set({ temperature: 1.7 })",
    "by rank": "actions.show({ picture: 'ranks' })",
    "draw": "actions.show({ picture: 'draw' })",
    "enlarged": "actions.show({ picture: 'distribution', enlarged: true })",
    "slow motion": "actions.show({ enlarged: false }), actions.toggle('slow', true)",
    "a stage": "actions.next_stage()",
    "greedy": "actions.toggle('slow', false), actions.set({ temperature: 0 })",
    "all columns": "actions.show({ columns: ['id', 'prob', 'cumulative'] })",
    "guidance": "actions.try_example(state.examples.list.find(each => each.negative_prompt))",
    "under guidance": "actions.show({ columns: [], picture: 'guidance' }), actions.step()",
    "contrastive search": "actions.try_example(state.examples.list.find(each => each.strategy))",
    "a step of it": "actions.step()",
}


def sizes_of(widths: list[int]) -> list[tuple[int, int]]:
    return [(width, 740 if width < 700 else max(480, width * 9 // 16)) for width in widths]


def faults(page: Page, size: tuple[int, int], shown: str) -> list[tuple[str, int, str]]:
    """List the faults in a window of a given size, each with the state and the width."""
    width, height = size
    page.set_viewport_size({"width": width, "height": height})
    wait_until(page, "width => innerWidth === width", width)
    return [(shown, width, fault) for fault in page.evaluate(ONCE_IT_STANDS, SETTLES_MS)]


def speak(page: Page, app_url: str, language: str) -> None:
    cookie = {"name": "decoding-visualiser-language", "value": language, "url": app_url}
    page.context.add_cookies([cookie])


@pytest.mark.parametrize(
    ("language", "is_full"),
    [
        pytest.param([*LANGUAGES][-1], False, id="some"),
        *(pytest.param(each, True, id=each, marks=pytest.mark.long) for each in LANGUAGES),
    ],
)
def test_every_page_can_be_read_at_any_width(page: Page, app_url, language, is_full):
    speak(page, app_url, language)
    page.goto("/")
    wait_for(page, "state.run && state.view")
    expect(page.locator("html")).to_have_attribute("lang", language)
    all_sizes = sizes_of(ALL_WIDTHS if is_full else FEW_WIDTHS)
    found, sizes, wider = [], cycle(all_sizes), cycle(all_sizes[1:])
    for name, deed in STATES.items():
        state(page, f"({deed}, null)")
        settle(page)
        for size in all_sizes if is_full else [next(sizes)]:
            found += faults(page, size, name)
    for path in OTHERS if is_full else SOME:
        go_on_to(page, path)
        wait_until(page, IS_DRAWN)
        if is_full:
            page.wait_for_timeout(2_000)
            wait_until(page, f"() => !({RUNS})()")
        for size in all_sizes if is_full else [all_sizes[0], next(wider)]:
            found += faults(page, size, path)
        cancel_run(page)  # it would continue behind the next page
    assert found == []


def test_check_finds_every_kind_of_illegible_text(page: Page):
    """Find each kind of fault once, and nothing else."""
    page.set_content(
        """
        <style>div { font: 16px/20px monospace; white-space: nowrap; width: 80px }</style>
        <div class="stMain" style="width: auto; white-space: normal">
          <div style="overflow: hidden">cut at the side</div>
          <div style="overflow: hidden; text-overflow: ellipsis">with an ellipsis</div>
          <div style="overflow: auto">scrolls to the side</div>
          <div style="overflow: hidden; height: 12px">low</div>
          <div>below</div><div style="margin-top: -14px">above</div>
          <button style="margin-left: -1em">on</button><button style="margin-left: -1em">by</button>
          <button style="width: 40px; overflow-wrap: anywhere">broken</button>
          <input value="123456789" style="width: 40px">
          <div style="overflow: hidden"><span class="dv-token">a long token of a text</span></div>
          <div style="position: fixed; top: 0; background: #fff">below</div>
        </div>
        """
    )
    kinds = sorted(
        fault.partition("“")[0].strip(" :") for fault in page.evaluate(ONCE_IT_STANDS, 0)
    )
    assert kinds == [
        "cover each other",
        "cover each other",
        "ends with an ellipsis",
        "has no room for",
        "is cut above or below",
        "is cut at its side",
        "the word",
    ]
