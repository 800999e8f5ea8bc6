// Contrastive search: its candidates as a table, at the alpha on the slider.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '../../../../ui/components/js/parts/contrastive.js';
import { make_state } from '../fixtures.js';
import { live, text_of } from '../harness.js';

const CANDIDATES = [
  { token_id: 1, label: '␣the', probability: 0.6, penalty: 0.9, nearest: 0, nearest_label: '␣the', score: 0 },
  { token_id: 2, label: '<b>', probability: 0.3, penalty: 0.1, nearest: 1, nearest_label: '␣a', score: 0 },
];
const SEARCHED = {
  index: 0,
  candidates: CANDIDATES,
  chosen: 1,
  penalty_alpha: 0.6,
  passes: 2,
  prefill_ms: 0,
  forward_ms: 3,
  score_ms: 1,
};

/** @param {number} penalty_alpha */
function page_of(penalty_alpha) {
  const draft = { ...make_state().draft, is_search: true, penalty_alpha };
  const page = live(create, make_state({ searched: SEARCHED, draft }));
  const rows = () =>
    page
      .all('row')
      .slice(1)
      .map(row => Array.from(row.children, text_of).slice(0, 5));
  return { ...page, rows };
}

test('the table shows the figures of each candidate and marks the best', () => {
  const page = page_of(0.6);
  assert.deepEqual(page.rows(), [
    ['␣the', '60.00 %', '0.900', '␣the #1', '−0.300'],
    ['▶ <b>', '30.00 %', '0.100', '␣a #2', '0.060'],
  ]);
  assert.match(page.text(), /Step 1: 2 forward passes; 3\.00 ms for the 2 candidates, 1\.00 ms to score them\.$/);
  assert.equal(page.root.querySelectorAll('td b, th b').length, 0);
  const names = page_of(0)
    .rows()
    .map(([token]) => token);
  assert.deepEqual(names, ['▶ ␣the', '✓ <b>'], 'another alpha, another winner');
  const early = page_of(0.6);
  early.change({ searched: null });
  assert.deepEqual([early.all('table'), early.text()], [[], ''], 'before the first step');
});
