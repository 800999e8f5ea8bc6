// A row of which only the likeliest tokens are known: how far the others can move a figure, and the button for all.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bound_of, create_coverage } from '../../../../../ui/components/js/parts/search/coverage.js';
import { logits_of, make_state, shown } from '../../fixtures.js';
import { click } from '../../harness.js';

const LISTED = [0.5, 0.3, 0.1];
const rest = 0.1;
const others = 5;
const evenly = Array(others).fill(rest / others);
const listed = { count: LISTED.length, rest, lowest: Math.log(0.1) };

/** The first token's share at a temperature. @param {number[]} probs @param {number} temperature */
function first_share(probs, temperature) {
  const scaled = probs.map(prob => prob ** (1 / temperature));
  return scaled[0] / scaled.reduce((sum, each) => sum + each, 0);
}

/** @param {number | undefined} temperature */
const scene = temperature =>
  shown({ temperature: temperature ?? 1, top_k: 3 }, { logits: logits_of(...LISTED, ...evenly), step: { listed } });

test('no possible tail moves a figure beyond the bound, and one reaches it', () => {
  for (const temperature of [0.5, 0.8, 1.5, 3]) {
    const { view } = scene(temperature);
    assert.ok(view);
    const bound = bound_of(view, listed);
    const tails = [evenly, [0.1, 0, 0, 0, 0], [0.06, 0.04, 0, 0, 0], [0.04, 0.03, 0.01, 0.01, 0.01]];
    const errors = tails.map(tail => Math.abs(first_share([...LISTED, ...tail], temperature) - view.rows[0].prob));
    assert.ok(Math.max(...errors) <= bound * (1 + 1e-5), `${errors} within ${bound} at ${temperature}`);
    assert.ok(Math.abs(errors[1] - bound) < 1e-5, 'all on one token is the other end');
  }
});

test('the line says the bound and asks the server for all tokens', () => {
  /** @type {string[]} */
  const asked = [];
  const { node, update } = create_coverage({ fetch_row: () => asked.push('row') });
  const [words, button] = node.children;
  const { model } = make_state();
  assert.ok(model);
  update({ ...scene(2), model: { ...model, gives_rows: true } });
  assert.match(words.textContent ?? '', /^3 of 8 scores; figures within ±6\.43\u00a0%$/);
  click(button);
  assert.deepEqual([asked, button.textContent], [['row'], 'Get all 8']);
  update({ ...scene(1), model: { ...model, gives_rows: false } });
  assert.equal(words.textContent, '3 of 8 scores; figures exact');
  assert.ok(button.classList.contains('dv-hidden'));
  update({ ...shown({ temperature: 2 }), model });
  assert.ok(node.classList.contains('dv-hidden'), 'all scores are known');
});
