"""The search and the draw on a page of their own, over a real row: no server, no model.

The row is packed as the server packs it, and the component's own arithmetic shapes it. `window.t`
changes the state, as sliders and steps do, and tells what the parts have asked for.
"""

import base64
import mimetypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from playwright.sync_api import Browser, Page, Route

from engine.ranking import RankedRow
from ui.components.rows import pack_row

STEP = Path(__file__).resolve().parents[2] / "ui" / "components"
ORIGIN = "http://draw.test"
STYLES = ("base", "page", "table", "draw", "why")

PAGE = f"""<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">
{"".join(f'<link rel="stylesheet" href="/css/{name}.css">' for name in STYLES)}
<body style="margin: 12px"><section class="dv" data-theme="light">
<div data-part="search"></div><div data-part="draw"></div></section>
<script type="module" src="/fixture.js"></script>"""

FIXTURE = r"""
import * as draw from '/js/parts/draw/draw.js';
import * as search from '/js/parts/search/search.js';
import { unpack_row } from '/js/kernel/row.js';
import { make_view } from '/js/view/view.js';

export const calls = [];
export const answers = { find: [], tokenize: [] };
export const state = {
  session: 's', run: 'r', branch: 1, row_key: 'k', index: 0, row: null, prompt_tokens: [],
  steps: [],
  model: { vocab_size: 0, eos_ids: [] }, mode: 'paused', manual: false, slow: false, point: null,
  row_count: 15,
  settings: { order: ['repetition_penalty', 'temperature', 'top_k', 'top_p', 'min_p'],
    repetition_penalty: 1, temperature: 1, top_k: 0, top_p: 1, min_p: 0, seed: 7 },
};
const log = name => (...given) => { calls.push([name, ...given]); };
const actions = {
  settle: log('settle'), force: log('force'),
  set(changes) { calls.push(['set', changes]); update({ settings: changes }, 'slide'); },
  show(changes) { calls.push(['show', changes]); update(changes); },
  find(query) { calls.push(['find', query]); return Promise.resolve(answers.find); },
  tokenize(text) { calls.push(['tokenize', text]); return Promise.resolve(answers.tokenize); },
};
const parts = [[search, 'search'], [draw, 'draw']].map(([{ create }, name]) =>
  create(document.querySelector(`[data-part=${name}]`), actions));

export function update({ settings, row, ...changes } = {}, reason = 'step') {
  Object.assign(state, changes);
  Object.assign(state.settings, settings);
  if (row === null) state.row = null;
  else Object.assign(state.row ?? {}, row);
  const view = state.row && make_view(state);
  for (const part of parts) part.update(state, view, reason);
}

/** Another step: its row as the server packed it, and what came with it. */
export function show_row({ header, data, labels, step, ...row }) {
  const bytes = Uint8Array.from(atob(data), character => character.charCodeAt(0));
  state.row = {
    ...unpack_row(header, bytes.buffer, 0), labels: new Map(labels), index: 0, is_pending: !step,
    chosen: step?.id ?? null, forced: step?.forced ?? false, xtc_u: 0, mirostat: null,
    recorded_settings: step ? { ...state.settings } : null, ...row,
  };
  state.steps = step ? [step] : [];
  state.model.vocab_size = header.vocab;
  update();
}
window.t = { state, calls, answers, update, show_row };
document.body.dataset.ready = 'true';
"""


@contextmanager
def draw_page(browser: Browser, **options: object) -> Iterator[Page]:
    """The page in a context of its own; errors in it are raised where the block ends.

    Args:
        options: of Playwright's `new_context`.
    """
    context = browser.new_context(**{"viewport": {"width": 1440, "height": 1000}, **options})
    try:
        page = context.new_page()
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.route(f"{ORIGIN}/**", _serve)
        open_draw(page)
        yield page
        assert problems == []
    finally:
        context.close()


def open_draw(page: Page) -> None:
    """Load the page, or load it anew."""
    page.goto(f"{ORIGIN}/")
    page.wait_for_selector("body[data-ready]")


def _serve(route: Route) -> None:
    path = urlsplit(route.request.url).path
    if path == "/":
        route.fulfill(body=PAGE, content_type="text/html")
    elif path == "/fixture.js":
        route.fulfill(body=FIXTURE, content_type="text/javascript; charset=utf-8")
    elif (STEP / path.lstrip("/")).is_file():
        kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
        route.fulfill(body=(STEP / path.lstrip("/")).read_bytes(), content_type=kind)
    else:
        route.fulfill(status=404, body="")


def show_row(page: Page, logits: np.ndarray, labels: dict[int, str], **row: object) -> None:
    """Another step's row.

    Args:
        row: what came with it: `u`, and `step` (the recorded one), without which it is to come.
    """
    header, data = pack_row(logits, seen=[], exact=True)
    header.pop("leading_ids", None)
    given = {"header": header, "data": base64.b64encode(data).decode()}
    page.evaluate("given => t.show_row(given)", {**given, "labels": [*labels.items()], **row})


def update(page: Page, **changes: object) -> None:
    """Change the state; `settings` and `row` are merged into what is there."""
    page.evaluate("changes => t.update(changes)", changes)


def answer(page: Page, kind: str, logits: np.ndarray, tokens: dict[int, str]) -> None:
    """What `find` or `tokenize` answers from now on."""
    ranked = RankedRow(logits)
    found = [
        {
            "id": token,
            "label": label,
            "raw_rank": ranked.rank(token),
            "logit": float(logits[token]) if np.isfinite(logits[token]) else None,
        }
        for token, label in tokens.items()
    ]
    page.evaluate("([kind, found]) => { t.answers[kind] = found; }", [kind, found])


def calls(page: Page, name: str) -> list:
    """What was asked for under this name."""
    return page.evaluate("name => t.calls.filter(call => call[0] === name)", name)
