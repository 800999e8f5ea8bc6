// The table of candidates: its columns at each point, and forcing a token.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '../../../../../ui/components/js/parts/table/table.js';
import { guided, logits_of, make_row, recorded, shown, view_of } from '../../fixtures.js';
import { changes_in, click, live, mount, pointer, text_of } from '../../harness.js';
import { read_hostile } from '../../vectors.js';

/**
 * @import { State } from '../../../../../ui/components/js/types.js'
 */

const COLUMNS = ['rank', 'token', 'logit', 'model', 'prob', 'final'];
/** .4 .3 .2 .05, and 16 that share the rest. */
const TWENTY = logits_of(0.4, 0.3, 0.2, 0.05, ...Array(16).fill(0.05 / 16));

/** @param {State} state */
function page_of(state) {
  const page = live(create, state);
  const cell = (/** @type {Element} */ row, /** @type {string} */ name) =>
    text_of(/** @type {Element} */ (row.querySelector(`.dv-c-${name}`)));
  return {
    ...page,
    heads: () => page.all('columnheader').map(text_of),
    row: (/** @type {number} */ place) => page.all('row')[place + 1],
    cells: (/** @type {number} */ place, columns = COLUMNS) =>
      columns.map(name => cell(page.all('row').at(place < 0 ? place : place + 1) ?? page.root, name)),
    forced: () => page.taken('force').map(([, id]) => id),
  };
}

test('each row shows figures from logit to final probability', () => {
  const page = page_of(recorded({ top_k: 2 }));
  const heads = ['logit−2.3 … −0.9', 'model’s own0 to 100 %', 'after scores change0 to 100 %'];
  assert.deepEqual(page.heads(), ['rank', 'token', 'id', ...heads, 'cumulative', 'after settings0 to 100 %']);
  assert.deepEqual(page.cells(0), ['1', '␣Paris', '−0.92', '40.00 %', '40.00 %', '57.14 %']);
  assert.deepEqual(page.cells(1), ['►chosen, 2', '␣the', '−1.20', '30.00 %', '30.00 %', '42.86 %']);
  assert.deepEqual(page.cells(2), ['3', '␣a', '−1.61', '20.00 %', '20.00 %', 'removed by top-k']);
  assert.deepEqual(page.cells(3, ['id', 'cumulative']), ['3', '100.00 %']);
  assert.deepEqual(
    [1, 2].map(place => page.row(place).className),
    ['chosen', 'removed dv-after-line'],
  );
  page.change({ digits: 'few' });
  assert.deepEqual(page.cells(0), ['1', '␣Paris', '−0.9', '40 %', '40 %', '57 %']);
});

test('the table says which token its candidates are for', () => {
  const page = page_of(recorded({}));
  const whose = () => page.root.querySelector('.dv-whose')?.textContent?.replaceAll(/[\u2066-\u2069]/g, '');
  assert.equal(whose(), 'Candidates for ␣the');
  page.change(recorded({}, { step: { chosen: 3 } }));
  assert.equal(whose(), 'Candidates for ␣London');
  page.change(shown({}));
  assert.equal(whose(), 'Candidates for the next token');
});

test('tokens removed at temperature 0 are attributed to greedy', () => {
  const page = page_of(recorded({ temperature: 0 }));
  assert.equal(page.cells(1, ['final'])[0], 'removed by greedy');
  page.change(recorded({ top_k: 2, temperature: 0 }));
  assert.deepEqual(
    [1, 2].map(place => page.cells(place, ['final'])[0]),
    ['removed by greedy', 'removed by top-k'],
  );
});

test('headings and figures fit the point of the chain', () => {
  const page = page_of(shown({ temperature: 0.5, top_k: 2 }, { point: 0 }));
  assert.deepEqual(page.cells(0), ['1', '␣Paris', '−0.92', '40.00 %', '40.00 %', '–']);
  page.change({ point: 1 });
  assert.match(page.heads().slice(3, 6).join(), /^score−4\.6 … −1\.8,model’s own.*,after temperature/);
  assert.deepEqual(page.cells(0), ['1', '␣Paris', '−1.83', '40.00 %', '53.33 %', '–']);
  assert.equal(page.row(0).querySelector('.dv-c-logit')?.getAttribute('title'), 'logit −0.92');
  page.change({ point: null });
  assert.equal(page.cells(0)[5], '64.00 %');
  const slow = page_of(shown({ top_k: 2 }, { slow: true, point: 0, columns: ['cumulative'] }));
  assert.deepEqual(slow.cells(0), ['1', '␣Paris', '−0.92', '–', '–', '–'], 'before the softmax');
  assert.equal(slow.root.querySelector('.dv-table')?.className, 'dv-table dv-no-id dv-no-prob');
  for (const [scale, head] of /** @type {[number, RegExp][]} */ ([
    [2, /^under guidance/],
    [1, /^model’s own/],
  ]))
    assert.match(page_of(guided(scale)).heads()[4], head);
});

test('share bars scale to the whole, logit bars to the shown range', () => {
  const page = page_of(shown({ top_k: 2 }));
  const shares = (/** @type {string} */ column) =>
    Array.from(page.root.querySelectorAll(`.dv-rows .dv-c-${column} .dv-track`), bar =>
      Number(/** @type {HTMLElement} */ (bar).style.getPropertyValue('--share')),
    );
  assert.deepEqual(shares('model'), [0.4, 0.3, 0.2, 0.1]);
  assert.deepEqual([shares('logit')[0], shares('logit').at(-1)], [1, 0]);
});

test('all other tokens share one row', () => {
  const last = (/** @type {Parameters<typeof shown>[0]} */ values) => {
    const page = page_of(shown(values, { logits: TWENTY }));
    page.update({ ...page.state, row_count: 3 });
    return page.cells(-1, ['token', 'model', 'prob', 'cumulative', 'final']);
  };
  assert.deepEqual(last({}), ['17 others', '10.00 %', '10.00 %', '100 %', '10.00 %']);
  assert.deepEqual(last({ top_k: 2 }), ['17 others', '10.00 %', '10.00 %', '100 %', 'removed by top-k']);
  assert.deepEqual(last({ top_k: 4 }), ['17 others, 1 kept', '10.00 %', '10.00 %', '100 %', '5.26 %']);
  assert.equal(last({ top_k: 4, top_p: 0.85 })[4], 'removed by several');
});

test('a chosen token beyond the rows has a row of its own', () => {
  const page = page_of(recorded({}, { logits: TWENTY, step: { chosen: 15, labels: new Map([[15, 'far']]) } }));
  page.update({ ...page.state, row_count: 3 });
  assert.deepEqual(page.cells(-1), ['►chosen, 16', 'far', '−5.77', '0.31 %', '0.31 %', '0.31 %']);
  page.change({ steps: [], row: make_row(TWENTY) });
  assert.equal(page.cells(-1, ['token'])[0], '5 others');
});

test('the rank shows whether the token was proposed or forced', () => {
  const said = (/** @type {State} */ state, place = 1) => page_of(state).cells(place, ['rank'])[0];
  assert.equal(said(shown({}, { manual: true })), '►proposed, 2');
  assert.equal(said(recorded({}, { taken: { forced: true } })), '►forced, 2');
  const forced = recorded({}, { logits: [1, -Infinity, 0], taken: { forced: true } });
  const page = page_of(forced);
  assert.deepEqual(page.cells(-1, ['logit', 'final']), ['−∞', 'impossible']);
});

test('a press forces a token once, unless its row changed', () => {
  const page = page_of(shown({}));
  const button = page.one('button', 'Force ␣the');
  click(button);
  click(button, 2);
  assert.deepEqual(page.forced(), [1]);
  pointer(button, 'pointerdown');
  page.change({ row: make_row([1, 2, 3, 4]) }); // a new step of a playing text
  button.dispatchEvent(new window.MouseEvent('click', { bubbles: true, detail: 1 }));
  assert.deepEqual(page.forced(), []);
  button.click(); // by the keyboard: the token read out is the one forced
  assert.deepEqual(page.forced(), [2]);
  assert.equal(button.getAttribute('aria-label'), 'Force ␣a');
  const read_only = mount((root, { fit_rows }) => create(root, { fit_rows }));
  read_only.update(shown({}));
  assert.deepEqual(read_only.all('button', /Force/), []);
});

test('focus stays on its rank, and rows are reused when tokens change', () => {
  const page = page_of(shown({}));
  const button = page.one('button', 'Force ␣the');
  button.focus();
  assert.equal(changes_in(page.root, () => page.change({})).number, 0);
  const stepped = changes_in(page.root, () => page.change({ row: make_row([1, 2, 3, 4]) }));
  assert.deepEqual([stepped.number > 0, stepped.made], [true, []]);
  assert.equal(document.activeElement, button);
});

test('hostile labels are rendered as text', () => {
  const labels = read_hostile();
  const row = make_row(Array(labels.length).fill(0), { labels: new Map(labels.entries()) });
  const state = shown({}, { row, row_count: labels.length });
  state.view = view_of(state);
  const page = page_of(state);
  assert.deepEqual(
    Array.from(page.root.querySelectorAll('.dv-force'), each => each.textContent),
    labels,
  );
  assert.equal(page.root.querySelectorAll('script, img, b').length, 0);
});
