"""Token strip, candidates table, search and branches, each mounted alone on a page of its own."""

import base64
import json
import mimetypes
from collections.abc import Collection, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from playwright.sync_api import Browser, Dialog, Locator, Page, Route, expect

from tests.ui import hostile
from ui.components.step.rows import pack_row
from ui.labels import token_label

STEP = Path(__file__).resolve().parents[2] / "ui" / "components" / "step"
ORIGIN = "http://panels.test"
STYLES = ("base", "page", "strip", "table")
PANELS = ("strip", "branches", "table", "search")

PAGE = f"""<!doctype html><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{"".join(f'<link rel="stylesheet" href="/css/{name}.css">' for name in STYLES)}
<body style="margin: 16px">
<section class="dv">{"".join(f'<div data-part="{name}"></div>' for name in PANELS)}</section>
"""

# A vocabulary of 16,384 tokens with exponentially falling scores, shaped by temperature, top-k and
# top-p, so that every figure of the view agrees with every other.
FIXTURE = """
export const calls = [];
export const answers = { find: () => Promise.resolve([]) };
export const actions = {};
for (const name of ['inspect', 'force', 'set', 'settle', 'show', 'switch_branch']) {
  actions[name] = (...given) => { calls.push([name, ...given]); };
}
actions.find = query => { calls.push(['find', query]); return answers.find(query); };
actions.tokenize = () => Promise.resolve([]);

const WORDS = ['␣Paris', '␣the', '␣a', '␣located', '␣in', '␣one', '␣known', '␣Lyon', '␣called',
  '␣now'];
const PROMPT = ['The', '␣capital', '␣of', '␣France', '␣is'];
const VOCAB = 16384;
const ROW = { vocab: VOCAB, possible: VOCAB, values: new Float32Array(1), ids: [], seen_ids: [] };

export function make_step(place, changes = {}) {
  return {
    id: 260 + place, label: WORDS[place % WORDS.length], special: false, partial: false,
      forced: false,
    probability: [0.9, 0.6, 0.3, 0.1, 0.02, 0.001][place % 6], model_probability: 0.03,
      rank: place % 6 + 1,
    u: 0.4, entropy: 2.02, model_entropy: 3.5, survivors: 7, ...changes,
  };
}

export function make_state(length, changes = {}) {
  return {
    session: 'a1b2', run: 1, branch: 1, model: { vocab_size: VOCAB },
      prompt: 'The capital of France is', chat: false,
    prompt_tokens: PROMPT.map((label, id) => ({ id, label, special: false })),
    steps: Array.from({ length }, (_, place) => make_step(place)), branches: [], index: length - 1,
      row: ROW,
    settings: { repetition_penalty: 1, temperature: 0.9, top_k: 8, top_p: 0.9, min_p: 0, seed: 0 },
    limits: { max_tokens: 64, stop_strings: [] }, mode: 'paused', manual: false, slow: false,
      speed: 4, point: null,
    row_count: 15, stop: null, error: '', notice: '', enlarged: null, ...changes,
  };
}

/** The options' names are the view's; `chosen` is a rank. */
export function make_view(options = {}) {
  const { kept = 7, chosen = 1, row_count = 15, labels = [], index = 4, is_pending = false,
    temperature = 0.9 } = options;
  const points = ['raw', 'temperature', 'top_k', 'top_p', 'renormalised',
    'drawn'].map(name => ({ name, label: name }));
  const point = options.point ?? points.length - 1;
  const logits = Array.from({ length: VOCAB }, (_, at) => 13.1 - 1.1 * Math.log(1 + 1.2 * at));
  const softmax = scores => {
    const weights = scores.map(score => Math.exp(score - scores[0]));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return weights.map(weight => weight / total);
  };
  const raw = softmax(logits);
  const probs = point === 0 ? raw : softmax(logits.map(logit => logit / temperature));
  const survivors = point < 2 ? VOCAB : point === 2 ? kept + 1 : kept;
  const mass = probs.slice(0, survivors).reduce((sum, prob) => sum + prob, 0);
  let cumulative = 0;
  const row_of = at => {
    const is_kept = at < survivors;
    const before = probs.slice(0, at + 1).reduce((sum, prob) => sum + prob, 0);
    return {
      rank: at + 1, id: 1000 + at, label: labels[at] ?? WORDS[at] ?? `␣w${at}`, logit: logits[at],
      score: point === 0 ? logits[at] : logits[at] / temperature, raw_prob: raw[at],
        prob: probs[at], cumulative: before,
      removed_by: is_kept ? null : at === survivors && point > 2 ? 'top_p' : 'top_k',
      final_prob: point < 4 ? null : is_kept ? probs[at] / mass : 0, chosen: at === chosen - 1,
    };
  };
  const rows = Array.from({ length: row_count }, (_, at) => row_of(at));
  for (const row of rows) cumulative += row.prob;
  return {
    index, is_pending, vocab: VOCAB, exact: true, points, point, rows, kept: survivors,
    others: {
      count: VOCAB - row_count, kept: Math.max(0, survivors - row_count), prob: 1 - cumulative,
        removed_by: point < 2 ? null : 'top_k',
      final_prob: point < 4 ? null : Math.max(0, 1 - rows.reduce((sum,
        row) => sum + row.final_prob, 0)),
    },
    cut: point < 2 ? null : { after_rank: survivors, stage: point === 2 ? 'top_k' : 'top_p',
      kept: survivors, mass },
    draw: { u: 0.5, rank: 1, id: 1000, label: '␣Paris', from: 0, to: 0.5, same: true },
    chosen: is_pending ? null : row_of(chosen - 1), greedy: false, as_recorded: true,
  };
}
"""

# A double of the view's functions that the search asks; their own tests are elsewhere.
VIEW_DOUBLE = """
export function candidate(state, view, { id, raw_rank }) {
  const is_kept = raw_rank <= state.settings.top_k;
  return {
    rank: raw_rank + (state.settings.repetition_penalty > 1 ? 2 : 0),
    prob: 1 / (raw_rank + 1), cumulative: 0.9, removed_by: is_kept ? null : 'top_k',
    final_prob: is_kept ? 0.125 : 0,
  };
}
export const trace_of = (state, { raw_rank }) => [
  { name: 'raw', rank: raw_rank, score: 1, prob: 0.1, removed: false },
  { name: 'top_k', rank: null, score: 1, prob: 0, removed: true },
];
export const admit = (state, { id, raw_rank }) => raw_rank > 5000 ? null : { setting: 'top_k',
  value: raw_rank };
"""


MADE_UP = {
    "/": (PAGE, "text/html"),
    "/js/fixture.js": (FIXTURE, "text/javascript"),
    "/js/view.js": (VIEW_DOUBLE, "text/javascript"),
}


def serve(route: Route) -> None:
    """The component's own files, but for those that this module makes up."""
    answer(route, MADE_UP)


def serve_with_real_view(route: Route) -> None:
    answer(route, MADE_UP.keys() - {"/js/view.js"})


def answer(route: Route, made_up: Collection[str]) -> None:
    path = urlsplit(route.request.url).path
    if path in made_up:
        body, content_type = MADE_UP[path]
        route.fulfill(body=body, content_type=f"{content_type}; charset=utf-8")
    elif (STEP / path.lstrip("/")).is_file():
        content_type = mimetypes.guess_type(path)[0] or "application/octet-stream"
        route.fulfill(body=(STEP / path.lstrip("/")).read_bytes(), content_type=content_type)
    else:
        route.fulfill(status=404, body="")


MOUNT = """async () => {
  const fixture = await import('/js/fixture.js');
  const parts = {};
  for (const name of ['strip', 'branches', 'table', 'search']) {
    const { create } = await import(`/js/${name}.js`);
    parts[name] = create(document.querySelector(`[data-part=${name}]`), fixture.actions);
  }
  Object.assign(window, fixture, { parts });
  window.show = (state, view) => {
    Object.assign(window, { state, view });
    for (const part of Object.values(parts)) part.update(state, view);
  };
}"""


@pytest.fixture(scope="module")
def desktop_page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1000, "height": 900})
    context.route("**/*", serve)
    yield context.new_page()
    context.close()


@pytest.fixture
def page(desktop_page: Page) -> Iterator[Page]:
    yield from mounted(desktop_page)


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True
    )
    context.route("**/*", serve)
    yield from mounted(context.new_page())
    context.close()


def mounted(page: Page) -> Iterator[Page]:
    """The panels on a fresh document; an uncaught exception or a dialog fails the test."""
    problems: list[str] = []

    def on_error(error: object) -> None:
        problems.append(str(error))

    def on_dialog(dialog: Dialog) -> None:
        problems.append(dialog.message)
        dialog.dismiss()

    page.set_default_timeout(5_000)
    page.on("pageerror", on_error)
    page.on("dialog", on_dialog)
    page.goto(f"{ORIGIN}/")
    page.evaluate(MOUNT)
    yield page
    page.remove_listener("pageerror", on_error)
    page.remove_listener("dialog", on_dialog)
    assert problems == []


def show(page: Page, state: str = "make_state(5)", view: str = "make_view()") -> None:
    page.evaluate(f"show({state}, {view})")


def calls(page: Page, name: str) -> list:
    return page.evaluate("name => calls.filter(call => call[0] === name)", name)


def tokens(page: Page) -> Locator:
    return page.get_by_role("list", name="Tokens", exact=True).get_by_role("listitem")


def table(page: Page) -> Locator:
    return page.get_by_role("table", name="Candidates", exact=True)


def force_buttons(page: Page) -> Locator:
    return table(page).get_by_role("button", name="Force ")


def search_field(page: Page) -> Locator:
    return page.get_by_role("searchbox", name="Search the vocabulary", exact=True)


# --- token strip ---------------------------------------------------------------------------------


def test_strip_has_one_item_per_token_with_its_facts(page: Page) -> None:
    show(page, "make_state(5, {index: 2})")
    expect(tokens(page)).to_have_count(10)
    expect(page.locator("li.generated")).to_have_count(5)
    expect(page.locator("li[aria-current=true]")).to_have_text("␣a")
    title = page.locator("li.generated").nth(2).get_attribute("title")
    assert title.startswith("token 3, id 262, 30.00 %, rank 3")
    assert page.locator("li[tabindex='0'], .dv-slot[tabindex='0']").count() == 1


def test_strip_marks_forced_special_and_partial_tokens_in_words(page: Page) -> None:
    marks = "make_step(0, {forced: true}), make_step(1, {special: true, label: '</s>'}), "
    marks += "make_step(2, {partial: true, label: '<0xE2>'})"
    show(page, f"make_state(0, {{steps: [{marks}], index: 0}})")
    for number, (name, words) in enumerate(
        [("forced", "forced"), ("special", "special"), ("partial", "part of a character")]
    ):
        item = page.locator("li.generated").nth(number)
        assert name in item.get_attribute("class").split()
        assert words in item.get_attribute("title")
    # Each mark has a shape of its own: no two look alike without colour.
    borders = page.evaluate(
        """Array.from(document.querySelectorAll('li.generated'),
             li => getComputedStyle(li).borderTopStyle)"""
    )
    assert borders == ["dashed", "double", "solid"]


def test_strip_marks_prompt_tokens_that_are_bytes(page: Page) -> None:
    labels = ["<0xF0>", "␣<0xE2><0x80>", "␣is", "<0x41>"]
    prompt = f"{json.dumps(labels)}.map((label, id) => ({{ id, label, special: false }}))"
    show(page, f"make_state(1, {{prompt_tokens: {prompt}}})")
    items = page.locator("li.prompt")
    for item, is_partial in zip(items.all(), (True, True, False, False), strict=True):
        assert ("partial" in item.get_attribute("class").split()) == is_partial
        assert ("part of a character" in item.get_attribute("title")) == is_partial


def test_clicks_and_keys_in_the_strip_inspect_steps(page: Page) -> None:
    show(page, "make_state(5, {index: 2})")
    page.evaluate(
        """() => { actions.inspect = index => {
          calls.push(['inspect', index]);
          show({ ...state, index }, view);
        }; }"""
    )
    page.locator("li.generated").nth(1).click()
    assert calls(page, "inspect") == [["inspect", 1]]
    page.locator("li[aria-current=true]").focus()
    for key in ("ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowLeft", "End", "Home"):
        page.keyboard.press(key)
    assert [index for _, index in calls(page, "inspect")] == [1, 2, 1, 0, 0, 5, 0]
    assert page.evaluate("document.activeElement === document.querySelectorAll('li.generated')[0]")
    page.locator(".dv-slot").click()
    assert calls(page, "inspect")[-1] == ["inspect", 5]
    expect(page.locator(".dv-slot")).to_have_attribute("aria-current", "true")
    expect(page.locator("li[aria-current]")).to_have_count(0)


def test_enter_on_a_token_inspects_it_and_accepts_nothing(page: Page) -> None:
    """With the page's own keys listening, for which Enter accepts a proposed token."""
    show(page, "make_state(5, {manual: true, index: 2})")
    page.evaluate(
        """async () => {
          const { listen } = await import('/js/keys.js');
          Object.assign(actions, { is_busy: () => false, proceed: () => calls.push(['proceed']) });
          listen(document.querySelector('.dv'), actions, () => true);
        }"""
    )
    page.locator("li.generated").nth(3).focus()
    page.keyboard.press("Enter")
    page.locator(".dv-slot").focus()
    page.keyboard.press("Enter")
    assert [index for _, index in calls(page, "inspect")] == [3, 5]
    assert calls(page, "proceed") == []


def test_slot_shows_a_proposal_and_goes_when_the_text_is_over(page: Page) -> None:
    slot = page.locator(".dv-slot")
    show(page)
    expect(slot).to_have_text("?")
    show(page, "make_state(5, {manual: true, index: 5})", "make_view({is_pending: true, index: 5})")
    expect(slot).to_have_text("␣Paris")
    expect(slot).to_have_accessible_name("proposed token ␣Paris")
    expect(tokens(page)).to_have_count(10)  # the slot is not a token yet
    over = "{reason: 'end', sentence: 'The text is over.', is_over: true}"
    show(page, f"make_state(5, {{stop: {over}}})")
    expect(slot).to_be_hidden()


def test_line_end_tokens_break_the_line(page: Page) -> None:
    show(page, "make_state(0, {steps: [make_step(0, {label: '⏎⏎'}), make_step(1)], index: 1})")
    first, second = (page.locator("li.generated").nth(at).bounding_box() for at in (0, 1))
    assert second["y"] >= first["y"] + 20
    left = page.locator(".dv-tokens li").first.bounding_box()["x"]
    assert second["x"] == pytest.approx(left, abs=1)
    show(page, "make_state(2)")  # the same items with other tokens: back on one line
    first, second = (page.locator("li.generated").nth(at).bounding_box() for at in (0, 1))
    assert second["y"] == first["y"]


def test_right_to_left_tokens_stay_in_their_order(page: Page) -> None:
    show(
        page,
        "make_state(0, {steps: ['␣שלום', '␣עולם', '.', '␣ok'].map((label, at) => "
        "make_step(at, {label})), index: 3})",
    )
    lefts = [item.bounding_box()["x"] for item in page.locator("li.generated").all()]
    assert lefts == sorted(lefts)


def test_legend_names_what_is_coloured(page: Page) -> None:
    show(page)
    legend = page.locator(".dv-strip-legend")
    expect(legend).to_contain_text("80–100 %")
    select = page.get_by_role("combobox", name="Colour tokens by")
    assert page.locator("li.generated").first.get_attribute("class").split()[2] == "dv-shade-5"
    select.select_option(label="the model’s own probability")  # 3 % for each
    assert page.locator("li.generated").first.get_attribute("class").split()[2] == "dv-shade-1"
    select.select_option(label="entropy after temperature")  # 2.02 bits
    expect(legend).to_contain_text("below 0.5 bits")
    assert page.locator("li.generated").first.get_attribute("class").split()[2] == "dv-shade-3"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_shade_and_removed_row_is_legible(page: Page, theme: str) -> None:
    page.evaluate("theme => document.querySelector('.dv').dataset.theme = theme", theme)
    show(page, "make_state(6)")
    pairs = page.evaluate(
        """() => {
          const css = (selector, name) =>
            Array.from(document.querySelectorAll(selector), found => getComputedStyle(found)[name]);
          const ground =
            getComputedStyle(document.querySelector('.dv')).getPropertyValue('--dv-panel').trim();
          const probe = document.createElement('i');
          probe.style.background = ground;
          document.body.append(probe);
          const panel = getComputedStyle(probe).backgroundColor;
          const inks = css('li.generated', 'color');
          const shades = css('li.generated', 'backgroundColor').map((shade, at) => [inks[at],
            shade]);
          return [...shades, [css('tr.removed .dv-bar', 'color')[0], panel]];
        }"""
    )
    assert len(pairs) == 7
    for ink, ground in pairs:
        assert contrast(ink, ground) >= 4.5, (ink, ground)


def contrast(first: str, second: str) -> float:
    """WCAG contrast of two colours as the browser writes them: rgb(0, 0, 0)."""
    low, high = sorted(map(luminance, (first, second)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    parts = [float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_long_texts_append_without_touching_what_stands(page: Page) -> None:
    result = page.evaluate(
        """() => {
          const box = document.querySelector('.dv-strip-box');
          show(make_state(2000), make_view());
          const seen = [];
          const observer = new MutationObserver(records => seen.push(...records));
          observer.observe(box, { childList: true, subtree: true, characterData: true });
          const before = document.querySelector('li.generated');
          const steps = [...state.steps, make_step(2000)];
          parts.strip.update({ ...state, steps, index: 2000 }, view);
          seen.push(...observer.takeRecords());
          const added = seen.reduce((sum, record) => sum + record.addedNodes.length, 0);
          return {
            added, same: before === document.querySelector('li.generated'),
            at_end: box.scrollTop + box.clientHeight >= box.scrollHeight - 12, page: window.scrollY,
          };
        }"""
    )
    assert result["added"] == 1
    assert result["same"] and result["at_end"] and result["page"] == 0
    expect(tokens(page)).to_have_count(2006)


def test_strip_follows_the_newest_unless_scrolled_up(page: Page) -> None:
    show(page, "make_state(900)")
    box = page.locator(".dv-strip-box")
    button = page.get_by_role("button", name="to the newest")
    expect(button).to_be_hidden()
    assert box.bounding_box()["height"] < 320
    box.hover()
    page.mouse.wheel(0, -400)
    expect(button).to_be_visible()
    top = box.evaluate("box => box.scrollTop")
    show(page, "make_state(901)")
    assert box.evaluate("box => box.scrollTop") == top
    button.click()
    expect(button).to_be_hidden()
    show(page, "make_state(902, {index: 902})")
    assert box.evaluate("box => box.scrollTop + box.clientHeight - box.scrollHeight") > -12
    assert page.evaluate("window.scrollY") == 0


def test_focus_in_the_strip_survives_a_rewind(page: Page) -> None:
    show(page)
    page.locator("li[aria-current=true]").focus()
    show(page, "make_state(2)")
    assert page.evaluate("document.activeElement.getAttribute('aria-current')") == "true"


# --- candidates ----------------------------------------------------------------------------------


def test_table_has_one_row_per_token_and_one_for_the_others(page: Page) -> None:
    show(page)
    expect(force_buttons(page)).to_have_count(15)
    expect(table(page).get_by_role("columnheader")).to_have_text(
        [
            "rank",
            "token",
            "id",
            "score 11.0 to 14.6",
            "after temperature 0–50 %",
            "cumulative",
            "stage",
            "in the draw 0–50 %",
        ],
        use_inner_text=False,
    )
    first = table(page).get_by_role("row").nth(1)
    assert "chosen" in first.get_attribute("class").split()
    expect(first).to_contain_text("►")
    expect(first).to_contain_text("chosen")
    expect(table(page).get_by_role("row").last).to_contain_text("16,369 others")
    removed = table(page).get_by_role("row").nth(8)
    expect(removed).to_contain_text("removed by top-p")
    expect(removed).to_contain_text("0 %")
    assert "removed" in removed.get_attribute("class").split()


def test_headings_and_figures_fit_the_point_of_the_chain(page: Page) -> None:
    show(page, view="make_view({point: 0})")
    heads = table(page).get_by_role("columnheader")
    expect(heads.nth(3)).to_have_text("logit 9.9 to 13.1")
    expect(heads.nth(4)).to_contain_text("probability")
    first = table(page).get_by_role("row").nth(1).get_by_role("cell")
    expect(first.nth(2)).to_have_text("13.10")
    expect(first.last).to_have_text("–")
    expect(page.locator(".dv-cut")).to_be_hidden()
    show(page, view="make_view({point: 1})")
    expect(heads.nth(3)).to_contain_text("score")
    expect(first.nth(2)).to_have_text("14.56")
    expect(first.nth(2)).to_have_attribute("title", "logit 13.10")


def test_cut_line_lies_below_the_last_kept_row_and_moves_none_that_is_kept(page: Page) -> None:
    rows = page.locator(".dv-rows tr")
    box_of_table = page.locator(".dv-table-box").bounding_box
    places = height = None
    for kept in (1, 7, 12, 15):
        show(page, view=f"make_view({{kept: {kept}}})")
        line = page.locator(".dv-cut")
        verb = "holds" if kept == 1 else "hold"
        text = f"cut-off: nucleus ends here · {kept} of 16,384 tokens {verb} "
        expect(line).to_contain_text(text)
        row = rows.nth(kept - 1).bounding_box()
        box = line.bounding_box()
        assert box["y"] + box["height"] / 2 == pytest.approx(row["y"] + row["height"], abs=1.5)
        now = [item.bounding_box()["y"] for item in rows.all()]
        places = places or [now[0] + at * row["height"] for at in range(15)]
        assert now[:kept] == pytest.approx(places[:kept], abs=0.5)
        height = height or box_of_table()["height"]  # the room for the line's words is always there
        assert box_of_table()["height"] == pytest.approx(height, abs=0.5)
    show(page, view="make_view({kept: 212})")
    expect(page.locator(".dv-cut")).to_contain_text("top-p ends at rank 212")


BAR_SHARE = "bar => Number(bar.style.getPropertyValue('--share'))"


def test_a_slide_moves_the_bars_and_never_shrinks_their_scale(page: Page) -> None:
    def slide(temperature: float, *, index: int = 4, reason: str = "slide") -> float:
        page.evaluate(
            """([temperature, index, reason]) => parts.table.update(make_state(5, { index }),
              make_view({ temperature, index }), reason)""",
            [temperature, index, reason],
        )
        return page.locator(".dv-rows .dv-c-prob .dv-bar").first.evaluate(BAR_SHARE)

    scale = table(page).get_by_role("columnheader").nth(4).locator(".dv-range")
    show(page)
    expect(scale).to_have_text("0–50 %")
    warm, warmer = slide(1.2), slide(2)
    expect(scale).to_have_text("0–50 %")
    assert warm > 1.5 * warmer > 0
    slide(0.4)
    expect(scale).to_have_text("0–100 %")
    assert slide(2) == pytest.approx(warmer / 2, abs=1e-3)
    expect(scale).to_have_text("0–100 %")
    slide(2, reason="step")  # the server's answer to the settled slider is the same step
    expect(scale).to_have_text("0–100 %")
    # Another step: chosen anew, with room for the model's own probabilities.
    assert slide(2, index=3, reason="step") == pytest.approx(warmer, abs=1e-3)
    expect(scale).to_have_text("0–50 %")


def test_a_sum_that_exceeds_the_scale_has_a_broken_bar(page: Page) -> None:
    bar = page.locator(".dv-others .dv-c-prob .dv-bar")
    show(page)
    expect(bar).not_to_contain_class("dv-broken")
    page.evaluate("view.others.prob = 0.83; show(state, view)")
    expect(bar).to_have_text("83.00 %")
    expect(bar).to_contain_class("dv-broken")
    expect(page.locator(".dv-rows .dv-broken")).to_have_count(0)


def test_bars_of_scores_reach_from_the_lowest_to_the_highest_row(page: Page) -> None:
    show(page)
    bars = page.locator(".dv-rows .dv-c-logit .dv-bar")
    assert (bars.first.evaluate(BAR_SHARE), bars.last.evaluate(BAR_SHARE)) == (1, 0)


def test_only_what_forces_a_token_looks_as_if_it_did(page: Page) -> None:
    show(page)
    row = table(page).get_by_role("row").nth(3)
    ground = "cell => [getComputedStyle(cell).backgroundColor, getComputedStyle(cell).cursor]"
    stage = row.locator(".dv-c-stage")
    page.mouse.move(0, 0)
    at_rest = stage.evaluate(ground)
    stage.hover()
    assert stage.evaluate(ground) == at_rest
    button = row.get_by_role("button")
    before, _ = button.evaluate(ground)
    button.hover()
    after, cursor = button.evaluate(ground)
    assert before != after and cursor == "pointer"


@pytest.mark.parametrize("device", ["page", "phone"])
def test_what_stands_below_the_table_stays_where_it_is(
    device: str, request: pytest.FixtureRequest
) -> None:
    page = request.getfixturevalue(device)
    foot = page.locator(".dv-table-foot")
    places = set()
    for options in ("point: 0", "kept: 1", "kept: 7", "kept: 15", "kept: 212"):
        for chosen in (1, 40):
            show(page, view=f"make_view({{{options}, chosen: {chosen}}})")
            places.add(round(foot.bounding_box()["y"], 1))
    assert len(places) == 1, places


def test_focus_stays_on_its_rank_while_tokens_change(page: Page) -> None:
    show(page)
    force_buttons(page).nth(2).focus()
    handle = force_buttons(page).nth(2).element_handle()
    show(page, view="make_view({kept: 3, labels: ['x', 'y', 'z']})")
    assert page.evaluate("button => document.activeElement === button", handle)
    page.keyboard.press("Enter")
    assert calls(page, "force") == [["force", 1002]]
    expect(force_buttons(page).nth(2)).to_have_accessible_name("Force z")


def test_double_click_forces_once_and_a_changed_row_not_at_all(page: Page) -> None:
    show(page)
    force_buttons(page).nth(1).dblclick()
    assert calls(page, "force") == [["force", 1001]]
    force_buttons(page).nth(3).hover()
    page.mouse.down()
    show(page, view="make_view({index: 5})")  # a step of a playing text came in between
    page.mouse.up()
    assert calls(page, "force") == [["force", 1001]]


def test_chosen_token_beyond_the_rows_has_a_row_of_its_own(page: Page) -> None:
    show(page)
    height = page.locator("[data-part=table]").bounding_box()["height"]
    show(page, view="make_view({chosen: 40})")
    last = table(page).get_by_role("row").last
    expect(last).to_contain_text("40")
    expect(last).to_contain_text("␣w39")
    expect(last).to_contain_text("chosen")
    assert page.locator("[data-part=table]").bounding_box()["height"] == pytest.approx(
        height, abs=1
    )
    show(page)
    expect(force_buttons(page)).to_have_count(15)


def test_number_of_rows_is_a_choice(page: Page) -> None:
    show(page, "make_state(5, {row_count: 17})", "make_view({row_count: 17})")
    select = page.get_by_role("combobox", name="Rows")
    expect(select).to_have_value("17")
    select.select_option("30")
    assert calls(page, "show") == [["show", {"row_count": 30}]]


def test_hostile_labels_are_shown_literally_everywhere(page: Page) -> None:
    labels = json.dumps([token_label(text) for text in hostile.HOSTILE])
    number = len(hostile.HOSTILE)
    page.evaluate(
        "labels => { answers.find = () => Promise.resolve(labels.slice(0, 12).map("
        "(label, id) => ({ id, label, raw_rank: id + 1, logit: 1 }))); }",
        json.loads(labels),
    )
    branches = f"{labels}.map((text, at) => ({{number: at + 1, parent: at || null, departs_at: at,"
    branches += " length: 3, text, current: at === 0}))"
    show(
        page,
        f"make_state(0, {{steps: {labels}.map((label, at) => make_step(at, {{label}})), index: 0,"
        f" branches: {branches}, row_count: {number}}})",
        f"make_view({{row_count: {number}, labels: {labels}}})",
    )
    search_field(page).fill("x")
    expect(page.get_by_role("list", name="Matches").get_by_role("listitem")).to_have_count(12)
    expected = json.loads(labels)
    assert page.locator("li.generated").all_text_contents() == expected
    assert page.locator(".dv-force").all_text_contents() == expected
    assert page.locator(".dv-search-results .dv-token").all_text_contents() == expected[:12]
    assert page.locator(".dv script, .dv img, .dv b, .dv i").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_step_rebuilds_no_row_and_the_same_step_changes_nothing(page: Page) -> None:
    result = page.evaluate(
        """() => {
          const view_of = kept => make_view({ kept, row_count: 30 });
          const state = make_state(5, { row_count: 30 });
          show(state, view_of(7));
          const seen = [];
          const observer = new MutationObserver(records => seen.push(...records));
          observer.observe(document.querySelector('[data-part=table]'),
            { childList: true, subtree: true, characterData: true, attributes: true });
          const changes_of = kept => {
            parts.table.update(state, view_of(kept), 'step');
            return observer.takeRecords();
          };
          const again = changes_of(7).length;
          const elements = changes_of(12).flatMap(record => [...record.addedNodes])
            .filter(node => node.nodeType === Node.ELEMENT_NODE);
          return { again, rebuilt: elements.length };
        }"""
    )
    assert result == {"again": 0, "rebuilt": 0}


# --- search --------------------------------------------------------------------------------------

FOUND = """() => { answers.find = () => Promise.resolve([
  { id: 7, label: '␣Paris', raw_rank: 3, logit: 12.5 }, { id: 8, label: '␣Parma', raw_rank: 212,
    logit: 3.25 },
  { id: 9, label: 'par', raw_rank: 9000, logit: -4.5 },
]); }"""


def matches(page: Page) -> Locator:
    return page.get_by_role("list", name="Matches").get_by_role("listitem")


def test_search_says_what_became_of_a_token_and_what_admits_it(page: Page) -> None:
    page.evaluate(FOUND)
    show(page)
    expect(search_field(page)).to_have_attribute("placeholder", "search all 16,384 tokens")
    search_field(page).press_sequentially("par", delay=10)
    expect(matches(page)).to_have_count(3)
    assert calls(page, "find") == [["find", "par"]]  # three keys, one question
    expect(page.get_by_role("status")).to_have_text("3 tokens match “\u2068par\u2069”.")
    expect(matches(page).nth(0)).to_contain_text(
        "id 7 · rank 3 · logit 12.50 · probability 25.00 %"
    )
    expect(matches(page).nth(0)).to_contain_text("kept, 12.50 % in the draw")
    expect(matches(page).nth(1)).to_contain_text(
        "removed by top-k; the smallest change that would admit it: top-k 212"
    )
    expect(matches(page).nth(2)).to_contain_text("no change of one setting would admit it")
    matches(page).nth(1).get_by_role("button", name="Set top-k 212").click()
    assert calls(page, "set") == [["set", {"top_k": 212}]]
    assert len(calls(page, "settle")) == 1
    matches(page).nth(2).get_by_role("button", name="Force par").click()
    assert calls(page, "force") == [["force", 9]]


def test_matches_follow_settings_and_steps(page: Page) -> None:
    page.evaluate(FOUND)
    show(page)
    search_field(page).fill("par")
    expect(matches(page)).to_have_count(3)
    apply = matches(page).nth(1).get_by_role("button", name="Set top-k 212")
    apply.focus()
    page.evaluate("show({ ...state, settings: { ...state.settings, top_k: 212 } }, view)")
    expect(matches(page).nth(1)).to_contain_text("kept")
    expect(apply).to_have_count(0)
    expect(matches(page).nth(1).get_by_role("button", name="Force")).to_be_focused()
    assert len(calls(page, "find")) == 1
    page.evaluate("show({ ...state, index: 3, mode: 'playing' }, view)")
    assert len(calls(page, "find")) == 1  # not while playing
    page.evaluate("show({ ...state, mode: 'paused' }, view)")
    assert len(calls(page, "find")) == 2


def test_a_match_tells_its_rank_by_logit_where_it_ranks_elsewhere(page: Page) -> None:
    page.evaluate(FOUND)
    show(page)
    search_field(page).fill("par")
    page.evaluate(
        "show({ ...state, settings: { ...state.settings, repetition_penalty: 2 } }, view)"
    )
    expect(matches(page).nth(0)).to_contain_text("id 7 · rank 5 · rank by logit 3 · logit 12.50")
    page.evaluate("show(state, null)")
    expect(matches(page).nth(0)).to_contain_text("id 7 · rank by logit 3 · logit 12.50")


def test_a_long_list_of_matches_scrolls_by_itself(page: Page) -> None:
    page.evaluate(
        """() => { answers.find = query => Promise.resolve(Array.from({ length: 12 }, (_, id) =>
            ({ id, label: `${query}${id}`, raw_rank: id + 1, logit: 1 }))); }"""
    )
    show(page)
    search_field(page).fill("a")
    expect(matches(page)).to_have_count(12)
    box = page.get_by_role("list", name="Matches")
    assert 140 <= box.bounding_box()["height"] <= 230
    matches(page).last.get_by_role("button", name="Force").focus()
    assert box.evaluate("box => box.scrollTop") > 0
    page.evaluate("show({ ...state, index: 3 }, view)")  # the same question at another step
    expect(matches(page)).to_have_count(12)
    page.wait_for_timeout(50)
    assert box.evaluate("box => box.scrollTop") > 0
    search_field(page).fill("b")
    expect(matches(page).first).to_contain_text("b0")
    assert box.evaluate("box => box.scrollTop") == 0


def test_only_the_words_of_removal_are_in_the_colour_of_the_cut(page: Page) -> None:
    page.evaluate(FOUND)
    show(page)
    search_field(page).fill("par")
    expect(page.locator(".dv-match-removed").nth(1)).to_have_text("removed by top-k")
    fate = matches(page).nth(1).locator(".dv-match-fate")
    expect(fate).to_contain_text("the smallest change")
    colours = fate.locator("span").evaluate_all(
        "all => all.map(each => getComputedStyle(each).color)"
    )
    muted = matches(page).nth(1).locator(".dv-match-figures")
    assert colours[1] == muted.evaluate("each => getComputedStyle(each).color") != colours[0]


def test_search_clears_and_says_when_nothing_matches_or_fails(page: Page) -> None:
    show(page)
    search_field(page).fill("<b>zzz</b>")
    status = page.get_by_role("status")
    expect(status).to_have_text("No token of the vocabulary matches “\u2068<b>zzz</b>\u2069”.")
    search_field(page).press("Escape")
    expect(status).to_have_text("")
    expect(search_field(page)).to_have_value("")
    page.evaluate("() => { answers.find = () => Promise.reject(new Error('no answer')); }")
    search_field(page).fill("x")
    expect(status).to_have_text("The search did not work: no answer")


def test_search_tells_that_there_are_more_and_that_there_is_nothing_to_search(page: Page) -> None:
    page.evaluate(
        """() => { answers.find = query => Promise.resolve(query === 'over' ? null
          : Array.from({ length: Number(query) }, (_, id) =>
            ({ id, label: `t${id}`, raw_rank: id + 1, logit: 1 }))); }"""
    )
    show(page)
    status = page.get_by_role("status")
    for query, sentence, shown in (
        ("12", "12 tokens match “\u206812\u2069”.", 12),
        ("13", "The first 12 of more than 12 tokens that match “\u206813\u2069”.", 12),
        ("over", "There are no scores here to search in; press Back first.", 0),
    ):
        search_field(page).fill(query)
        expect(status).to_have_text(sentence)
        expect(page.locator(".dv-search-results li")).to_have_count(shown)


def test_a_late_answer_never_replaces_a_newer_one(page: Page) -> None:
    page.evaluate(
        """() => { answers.find = query => new Promise(resolve => {
          setTimeout(resolve, query === 'a' ? 300 : 0, [{ id: 1, label: query, raw_rank: 1,
            logit: 0 }]);
        }); }"""
    )
    show(page)
    search_field(page).fill("a")
    search_field(page).press("Enter")
    search_field(page).fill("ab")
    search_field(page).press("Enter")
    expect(matches(page).locator(".dv-token")).to_have_text(["ab"])
    page.wait_for_timeout(400)
    expect(matches(page).locator(".dv-token")).to_have_text(["ab"])


REAL = """async ({ header, data, labels }) => {
  const [{ unpack_row }, { make_view }] = await Promise.all([import('/js/row.js'),
    import('/js/view.js')]);
  const buffer = Uint8Array.from(atob(data), letter => letter.charCodeAt(0)).buffer;
  const row = { ...header, ...unpack_row(header, buffer, 0) };
  Object.assign(row, {
    labels: new Map(labels.map((label, place) => [row.ids[place], label])), index: 5,
      is_pending: true, chosen: null,
    forced: false, u: 0.5, recorded_settings: null,
  });
  answers.find = () => Promise.resolve([40, 400].map(rank => (
    { id: row.ids[rank - 1], label: `␣rank${rank}`, raw_rank: rank, logit: expand(row)[rank - 1] }
  )));
  function expand({ values, counts }) {
    return Array.from(values).flatMap((value, run) => Array(counts[run]).fill(value));
  }
  const state = make_state(5, { row, index: 5 });
  state.settings.top_p = 1;  // one cut only, so that one change can undo it
  actions.set = changes => {
    calls.push(['set', changes]);
    const next = { ...window.state, settings: { ...window.state.settings, ...changes } };
    show(next, make_view(next));
  };
  show(state, make_view(state));
}"""


def test_applying_the_smallest_change_admits_the_token(browser: Browser) -> None:
    """With the real view over a real row: what the search promises comes true."""
    scores = np.random.default_rng(3).normal(0, 3, 1000).astype(np.float32)
    header, data = pack_row(scores, seen=None, exact=True)
    del header["leading_ids"]
    given = {
        "header": header,
        "data": base64.b64encode(data).decode(),
        "labels": [f"␣t{rank}" for rank in range(1, 257)],
    }
    context = browser.new_context(viewport={"width": 1000, "height": 900})
    context.route("**/*", serve_with_real_view)
    for page in mounted(context.new_page()):
        page.evaluate(REAL, given)
        expect(force_buttons(page)).to_have_count(15)
        expect(table(page).get_by_role("row").last).to_contain_text("985 others")
        search_field(page).fill("rank")
        expect(matches(page)).to_have_count(2)
        for number in range(2):
            match = matches(page).nth(number)
            expect(match).to_contain_text("removed by top-k; the smallest change")
            match.get_by_role("button", name="Set ").click()
            expect(match).not_to_contain_text("removed by top-k")
    context.close()


# --- branches ------------------------------------------------------------------------------------

TWO_BRANCHES = """make_state(5, { branches: [
  { number: 1, parent: null, departs_at: 0, length: 20, text: '␣Paris.', current: false },
  { number: 2, parent: 1, departs_at: 4, length: 12, text: '␣London' + '␣is'.repeat(60),
    current: true },
] })"""


def test_branches_appear_once_there_are_two(page: Page) -> None:
    group = page.get_by_role("radiogroup", name="Branches")
    show(page)
    expect(group).to_be_hidden()
    show(page, TWO_BRANCHES)
    first, second = group.get_by_role("radio").all()
    expect(first).to_have_text("1: from the start ␣Paris. 20 tokens")
    expect(second).to_contain_text("2: departs at token 5 with ␣London␣is")
    expect(second).to_contain_text("12 tokens")
    expect(second).to_be_checked()
    expect(first).not_to_be_checked()
    second.focus()
    page.keyboard.press("ArrowLeft")
    expect(first).to_be_focused()
    page.keyboard.press("Enter")
    assert calls(page, "switch_branch") == [["switch_branch", 1]]


# --- a phone -------------------------------------------------------------------------------------


def test_a_phone_shows_the_essential_columns_without_scrolling_sideways(phone: Page) -> None:
    phone.evaluate(FOUND)
    show(phone, TWO_BRANCHES.replace("make_state(5,", "make_state(40,"), "make_view({chosen: 40})")
    search_field(phone).fill("par")
    expect(matches(phone)).to_have_count(3)
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    heads = table(phone).get_by_role("columnheader")
    expect(heads).to_have_count(5)
    for cell in table(phone).get_by_role("row").nth(2).get_by_role("cell").all():
        box = cell.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    assert force_buttons(phone).first.bounding_box()["height"] >= 36
    for button in matches(phone).get_by_role("button").all():
        assert button.bounding_box()["height"] >= 36
