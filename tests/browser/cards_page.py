"""The stage cards, the loop band and the Notice line on a page of their own: no server, no model.

The page makes a row of scores and lets the component's own arithmetic shape it, so that the cards
show what they show in the app. `window.t` changes the state as the app does, and tells what the
parts have asked for.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, Route

STEP = Path(__file__).resolve().parents[2] / "ui" / "components"
ORIGIN = "http://step.localhost"  # trusted by browsers, which a clipboard needs
STYLES = ("base", "page", "card_parts", "cards", "loop")
TYPES = {".js": "text/javascript", ".css": "text/css"}

PAGE = f"""<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">
{"".join(f'<link rel="stylesheet" href="/css/{name}.css">' for name in STYLES)}
<body style="margin: 12px"><section class="dv" data-theme="light">
<div id="loop" data-part="loop"></div><div id="notice" data-part="notice"></div>
<div id="cards" data-part="cards" style="max-width: 372px"></div></section>
<script type="module" src="/fixture.js"></script>"""

FIXTURE = r"""
import * as cards from '/js/parts/cards/cards.js';
import * as loop from '/js/parts/loop.js';
import { STAGES } from '/js/words/catalogue.js';
import { find_loop, create as create_notice } from '/js/words/notice.js';
import { chain_of, DEFAULT_ORDER, is_same_chain } from '/js/kernel/shape.js';
import { make_view } from '/js/view/view.js';

const VOCAB = 16384;
const LEADERS = ['␣Paris', '␣the', '␣a', '␣located', '␣in', '␣one', '␣known', '␣Lyon', '␣called',
  '␣now', '␣home', '␣also', '␣not', '<b>&amp;</b>', '␣London'];
const LOGITS = Float64Array.from({ length: VOCAB }, (_, i) => 13.1 - 0.9 * Math.log2(i + 1));
const label_of = id => LEADERS[id] ?? `t${id}`;

/** A row as unpack_row makes it. */
function row_of(logits) {
  const scores = Float32Array.from(logits);
  const possible = [...scores.keys()].filter(id => scores[id] > -Infinity);
  const ids = Uint32Array.from(possible.sort((a, b) => scores[b] - scores[a] || a - b));
  const values = [];
  const counts = [];
  for (const id of ids) {
    if (values.at(-1) === scores[id]) counts[counts.length - 1]++;
    else {
      values.push(scores[id]);
      counts.push(1);
    }
  }
  return {
    vocab: scores.length, possible: ids.length, exact: true, ids,
    values: Float32Array.from(values), counts: Uint32Array.from(counts),
    seen_ids: new Uint32Array(0), seen_ranks: new Uint32Array(0), seen_values: new Float32Array(0),
    labels: new Map(LEADERS.map((label, id) => [id, label])),
  };
}

const PLAIN = row_of(LOGITS);
let row_made_of = LOGITS;
let row_made = PLAIN;

export const state = {
  session: 's', run: 'r', branch: 1,
  model: { name: 'm', vocab_size: VOCAB, context_length: 1024, eos_ids: [9] },
  stage_defaults: { dry: { multiplier: 0.8, base: 1.75, allowed_length: 2, last_n: -1,
    breakers: [9, 40] }, logit_bias: { bias: [] }, banned: { sequences: [] } },
  prompt_tokens: [20, 21, 22, 2, 1].map(id => ({ id, label: label_of(id), special: false })),
  steps: [], branches: [], index: 0, row: null,
  settings: { order: ['repetition_penalty', 'temperature', 'top_k', 'top_p', 'min_p'],
    repetition_penalty: 1, temperature: 0.9, top_k: 8, top_p: 0.9, min_p: 0, seed: 7 },
  limits: { max_tokens: 64, stop_strings: [] },
  mode: 'paused', manual: false, slow: false, speed: 4, point: null, row_count: 15, stop: null,
};

export function step_of(id, changes = {}) {
  return {
    id, label: label_of(id), special: false, partial: false, forced: false, reused: false,
    probability: 0.5, model_probability: 0.4, rank: id + 1, u: 0.58713, entropy: 2, survivors: 7,
    forward_ms: 6.1, total_ms: 6.7, positions: 5, ...changes,
  };
}

/** The row of the state's step. `recorded`: what it was taken with; if absent, as it is now. */
function shown_row({ logits = LOGITS, pending = false, u = 0.58713, undrawn = false,
  recorded = null, xtc_u = 0, mirostat = null }) {
  if (logits.some((z, id) => z !== row_made_of[id]) || logits.length !== row_made_of.length) {
    [row_made_of, row_made] = [logits, row_of(logits)];
  }
  const step = pending ? null : state.steps[state.index];
  return {
    ...row_made, index: state.index, is_pending: pending, chosen: step?.id ?? null,
    forced: step?.forced ?? false, u: undrawn ? null : u, xtc_u, mirostat,
    recorded_settings: pending ? null : recorded ?? { ...state.settings },
  };
}

export const calls = [];
export const answers = { tokenize: [], snippets: [] };
let options = {};
const log = name => (...values) => calls.push([name, ...values]);
const actions = {
  settle: log('settle'), next_stage: log('next_stage'), skip_stages: log('skip_stages'),
  set(changes) { calls.push(['set', changes]); Object.assign(state.settings, changes); update(); },
  show(changes) { calls.push(['show', changes]); Object.assign(state, changes); update(); },
  tokenize(text) { calls.push(['tokenize', text]); return Promise.resolve(answers.tokenize); },
  snippets() { calls.push(['snippets']); return Promise.resolve(answers.snippets); },
};
const parts = [cards, loop, { create: create_notice }].map((part, place) =>
  part.create(document.getElementById(['cards', 'loop', 'notice'][place]), actions));

export function update(changes = {}, next_options = options, reason = 'step') {
  options = next_options;
  const { settings, ...rest } = changes;
  Object.assign(state, rest);
  Object.assign(state.settings, settings);
  state.row = options.none ? null : shown_row(options);
  const view = make_view(state);
  for (const part of parts) part.update(state, view, reason);
  return view;
}

/** How many changes of the DOM one more update of these parts makes. */
export function changes_of(places, settings) {
  const seen = [];
  const observer = new MutationObserver(records => seen.push(...records));
  const everything = { subtree: true, childList: true, attributes: true, characterData: true };
  observer.observe(document.body, everything);
  const next = { ...state, settings: { ...state.settings, ...settings } };
  for (const place of places) parts[place].update(next, make_view(next), 'slide');
  seen.push(...observer.takeRecords());
  observer.disconnect();
  const added = seen.flatMap(record => [...record.addedNodes]);
  const rebuilt = added.filter(node => node.nodeType === Node.ELEMENT_NODE).length;
  return { changes: seen.length, rebuilt };
}

state.steps = [step_of(0)];
update();
window.t = { state, actions, answers, calls, update, step_of, find_loop, changes_of, LOGITS, STAGES,
  DEFAULT_ORDER, chain_of, is_same_chain, parts };
document.body.dataset.ready = 'true';
"""


@contextmanager
def cards_page(browser: Browser, **options: object) -> Iterator[Page]:
    """The page in a context of its own; errors in it are raised where the block ends.

    Args:
        options: of Playwright's `new_context`.
    """
    context = browser.new_context(**{"viewport": {"width": 1440, "height": 1000}, **options})
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    page.route(f"{ORIGIN}/**", _serve)
    open_cards(page)
    yield page
    context.close()
    assert problems == []


def open_cards(page: Page) -> None:
    """Load the page, or load it anew."""
    page.goto(f"{ORIGIN}/")
    page.wait_for_selector("body[data-ready]")


def _serve(route: Route) -> None:
    path = route.request.url.removeprefix(ORIGIN)
    if path == "/":
        route.fulfill(body=PAGE, content_type="text/html")
    elif path == "/fixture.js":
        route.fulfill(body=FIXTURE, content_type=TYPES[".js"])
    elif path == "/favicon.ico":
        route.fulfill(status=204)
    else:
        file = STEP / path.lstrip("/")
        route.fulfill(body=file.read_text(), content_type=TYPES[file.suffix])


def slider(page: Page, name: str) -> Locator:
    return page.get_by_role("slider", name=name, exact=True)


def exact(page: Page, name: str) -> Locator:
    label = name if name == "Seed" else f"{name}, exact value"
    return page.get_by_role("spinbutton", name=label, exact=True)


def card(page: Page, name: str) -> Locator:
    return page.get_by_role("group", name=f"Card: {name}", exact=True)


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def update(page: Page, changes: str = "{}", options: str = "{}") -> None:
    """Change the state, as a message of the server's or a click would."""
    page.evaluate(f"void t.update({changes}, {options})")


def calls(page: Page) -> list:
    """What was called since the last time, as [name, value...]."""
    return page.evaluate("t.calls.splice(0)")


def path(page: Page, picture: str, name: str) -> str:
    """One path of a stage's picture."""
    return page.locator(f"svg[data-picture={picture}] .dv-geo-{name}").get_attribute("d")


def bars(page: Page, picture: str, name: str) -> int:
    return path(page, picture, name).count("M")


# --- every stage ---------------------------------------------------------------------------------

DRY = "{multiplier: 0.8, base: 1.75, allowed_length: 2, last_n: -1, breakers: [9, 40]}"

# Every stage on, with a text that gives each something to do.
ALL = f"""{{settings: {{order: [...t.DEFAULT_ORDER],
  logit_bias: {{bias: [[0, -3], [14, 5]]}}, repetition_penalty: 1.3, presence_penalty: 0.5,
  frequency_penalty: 0.4, dry: {DRY}, no_repeat_ngram: 2,
  banned: {{sequences: [[3], [1, 4]]}}, min_new_tokens: 5, temperature: 0.9,
  dynamic_temperature: {{low: 0.5, high: 1.5, exponent: 1}}, top_h: 0.6, top_k: 60, top_p: 0.95,
  min_p: 0.01, typical_p: 0.9, epsilon_cutoff: 0.0009, eta_cutoff: 0.002, top_n_sigma: 2,
  tail_free: 0.95, xtc: {{threshold: 0.05, probability: 0.5}}, mirostat: {{tau: 3, eta: 0.1}}}},
  steps: [0, 1, 2, 1, 2].map(id => t.step_of(id)), index: 4}}"""


def alone(page: Page, name: str, changes: str = "{}", options: str = "{}") -> None:
    """This stage only, as it is set in `ALL`."""
    page.evaluate(
        f"""name => {{
          const all = {ALL};
          const settings = {{ ...all.settings, order: [name] }};
          for (const stage of t.STAGES) if (stage.name !== name) settings[stage.name] = stage.off;
          t.update({{ ...all, settings: {{ ...settings, ...{changes} }} }}, {options});
        }}""",
        name,
    )


def label(page: Page, name: str) -> str:
    return page.evaluate("name => t.STAGES.find(stage => stage.name === name).label", name)
