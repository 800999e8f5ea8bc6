"""Token strip, branches, candidates table and search on a page of their own: no server, no model.

The view is made up here, of one vocabulary whose figures agree with each other. What the search
asks of the view's arithmetic has a double; that arithmetic has tests of its own.
"""

import mimetypes
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Dialog, Locator, Page, Route

STEP = Path(__file__).resolve().parents[2] / "ui" / "components"
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
    index, is_pending, vocab: VOCAB, exact: true, points, point, ranked: Math.min(point, 1), rows,
    kept: survivors, leaders: rows.slice(0, 2), model_leaders: rows.slice(0, 2), emptied_by: null,
    stages: [],
    others: {
      count: VOCAB - row_count, kept: Math.max(0, survivors - row_count), prob: 1 - cumulative,
        removed_by: point < 2 ? null : 'top_k',
      final_prob: point < 4 ? null : Math.max(0, 1 - rows.reduce((sum,
        row) => sum + row.final_prob, 0)),
    },
    cut: point < 2 ? null : { first_rank: 1, after_rank: survivors, above: [],
      stage: point === 2 ? 'top_k' : 'top_p', kept: survivors, mass },
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
"""

ADMIT_DOUBLE = """
export function* admission(state, { raw_rank }) {
  return raw_rank > 5000 ? { blocked_by: ['top_k', 'top_p'] }
    : { setting: 'top_k', value: raw_rank };
}
"""

MADE_UP = {
    "/": (PAGE, "text/html"),
    "/js/fixture.js": (FIXTURE, "text/javascript"),
    "/js/view/view.js": (VIEW_DOUBLE, "text/javascript"),
    "/js/view/admit.js": (ADMIT_DOUBLE, "text/javascript"),
}


def serve(route: Route) -> None:
    """The component's own files, but for those that this module makes up."""
    answer(route, MADE_UP)


def serve_with_real_view(route: Route) -> None:
    answer(route, MADE_UP.keys() - {"/js/view/view.js", "/js/view/admit.js"})


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


@contextmanager
def desktop(browser: Browser) -> Iterator[Page]:
    """A page as wide as the main column, in a context of its own."""
    context = browser.new_context(viewport={"width": 1000, "height": 900})
    context.route("**/*", serve)
    yield context.new_page()
    context.close()


@contextmanager
def phone_page(browser: Browser) -> Iterator[Page]:
    """A page as narrow as a phone, for fingers."""
    context = browser.new_context(
        viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True
    )
    context.route("**/*", serve)
    yield context.new_page()
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


FOUND = """() => { answers.find = () => Promise.resolve([
  { id: 7, label: '␣Paris', raw_rank: 3, logit: 12.5 }, { id: 8, label: '␣Parma', raw_rank: 212,
    logit: 3.25 },
  { id: 9, label: 'par', raw_rank: 9000, logit: -4.5 },
]); }"""


def matches(page: Page) -> Locator:
    return page.get_by_role("list", name="Matches").get_by_role("listitem")


TWO_BRANCHES = """make_state(5, { branches: [
  { number: 1, parent: null, departs_at: 0, length: 20, text: '␣Paris.', current: false },
  { number: 2, parent: 1, departs_at: 4, length: 12, text: '␣London' + '␣is'.repeat(60),
    current: true },
] })"""
