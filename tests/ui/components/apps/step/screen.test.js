// The drawing of the step page's parts: what is drawn while tokens run by.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Screen } from '../../../../../ui/components/js/apps/step/screen.js';
import { recorded } from '../../fixtures.js';
import '../../harness.js';

/** @import { State } from '../../../../../ui/components/js/types.js' */

const frame = () => new Promise(resolve => requestAnimationFrame(resolve));

/** A screen of two parts, and the names of those that it has drawn. @param {State['mode']} mode */
function drawn_in(mode) {
  const state = /** @type {State} */ ({ ...recorded(), model: {}, mode });
  /** @type {string[]} */
  const names = [];
  const part = (/** @type {string} */ name) => /** @type {const} */ ([name, { update: () => names.push(name) }]);
  const nothing = () => {};
  const parts = new Map([part('table'), part('strip')]);
  const screen = new Screen(document.createElement('div'), state, parts, () => true, nothing, nothing);
  return { screen, names };
}

test('while tokens run by, the parts that were just drawn rest, and then catch up', async () => {
  const { screen, names } = drawn_in('playing');
  screen.redraw('step');
  assert.deepEqual(names, ['table', 'strip']);
  await frame();
  screen.redraw('step');
  assert.deepEqual(names, ['table', 'strip', 'strip']);
  while (names.length < 5) await frame();
  assert.deepEqual(names.slice(-2), ['table', 'strip']);
  screen.destroy();
});

test('as a slider moves, table and charts are drawn at once, and the other parts soon after', async () => {
  const { screen, names } = drawn_in('paused');
  for (let move = 0; move < 20 && !names.includes('strip'); move += 1) {
    screen.redraw('slide');
    await frame();
  }
  assert.deepEqual([names[0], names.filter(name => name === 'strip').length], ['table', 1]); // while it still moves
  screen.redraw('slide');
  screen.redraw('step');
  await frame();
  assert.deepEqual(names.slice(-2), ['table', 'strip']);
  const { length } = names;
  await new Promise(resolve => setTimeout(resolve, 60));
  assert.equal(names.length, length);
  screen.destroy();
});

test('a single step is drawn whole', async () => {
  const { screen, names } = drawn_in('paused');
  for (let step = 0; step < 3; step += 1) {
    screen.redraw('step');
    await frame();
  }
  assert.deepEqual(names, Array.from({ length: 3 }, () => ['table', 'strip']).flat());
  screen.destroy();
});
