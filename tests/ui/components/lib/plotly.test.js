// Ranges of axes: round, quick to grow and slow to shrink, so that two steps can be compared.

import '../harness.js';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faded, nice_above, steady_span, steady_top } from '../../../../ui/components/js/lib/plotly.js';

test('nice_above rounds up to a round number', () => {
  assert.deepEqual([0, 0.7, 1, 1.01, 23, 0.0031, 10].map(nice_above), [1, 0.8, 1, 1.5, 30, 0.004, 10]);
});

/** Drop the last digits, which may not be round. @param {number} value */
const plain = value => Number(value.toFixed(9));

test('an axis grows at once but shrinks late during a run', () => {
  const axis = {};
  assert.equal(plain(steady_top(axis, 0.5, true)), 0.6);
  assert.equal(plain(steady_top(axis, 0.7, true)), 0.8);
  assert.equal(plain(steady_top(axis, 0.5, true)), 0.8); // more than half is used
  assert.equal(plain(steady_top(axis, 0.1, true)), 0.15); // less than half
  const running = {};
  steady_top(running, 0.8, true);
  for (let step = 1; step < 8; step++) assert.equal(steady_top(running, 0.1, false), 1);
  assert.equal(plain(steady_top(running, 0.1, false)), 0.15);
});

test('an axis without a zero keeps the end that fits', () => {
  const axis = {};
  const [low, high] = steady_span(axis, 2, 8, true);
  assert.ok(low < 2 && high >= 8);
  const [same, grown] = steady_span(axis, 2, 12, true);
  assert.equal(same, low);
  assert.ok(grown >= 12);
  assert.deepEqual(steady_span(axis, 3, 11, true), [same, grown]);
});

test('faded adds opacity to a hex colour', () => {
  assert.equal(faded('#0072b2', 0.5), 'rgba(0,114,178,0.5)');
  assert.equal(faded('red', 0.5), 'red');
});
