// The drawing of the step page's parts: what is drawn first, and while tokens run by.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Screen } from '../../../../../ui/components/js/apps/step/screen.js';
import { recorded } from '../../fixtures.js';
import '../../harness.js';

/** @import { State } from '../../../../../ui/components/js/types.js' */

const frame = () => new Promise(resolve => requestAnimationFrame(resolve));

/**
 * A screen of some parts, and the names of those that it has drawn.
 * @param {State['mode']} mode
 * @param {string[]} [parts]
 */
function drawn_in(mode, parts = ['table', 'strip']) {
  const state = /** @type {State} */ ({ ...recorded(), model: {}, mode });
  /** @type {string[]} */
  const names = [];
  const part = (/** @type {string} */ name) => /** @type {const} */ ([name, { update: () => names.push(name) }]);
  const nothing = () => {};
  const root = document.createElement('div');
  const screen = new Screen(root, state, new Map(parts.map(part)), () => true, nothing, nothing);
  return { screen, state, names };
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

test('a single step draws token and table at once, and the other parts soon after', async () => {
  const { screen, state, names } = drawn_in('paused', ['table', 'loop', 'strip']);
  screen.redraw('step');
  assert.deepEqual(names.splice(0), ['table', 'loop', 'strip']); // opened, not stepped
  await frame();
  state.steps = [...state.steps, state.steps[0]];
  screen.redraw('step');
  assert.deepEqual(names, ['table', 'strip']);
  while (names.length < 3) await frame();
  assert.equal(names[2], 'loop');
  screen.redraw('step'); // the same length: an error, or another step looked at
  assert.deepEqual(names.slice(3), ['table', 'loop', 'strip']);
  screen.destroy();
});

test('a step while a slider’s other parts are due draws everything', async () => {
  const { screen, state, names } = drawn_in('paused', ['table', 'samplers', 'strip']);
  screen.redraw('slide');
  assert.deepEqual(names.splice(0), ['table', 'samplers']);
  await frame();
  state.steps = [...state.steps, state.steps[0]];
  screen.redraw('step');
  assert.deepEqual(names, ['table', 'samplers', 'strip']);
  screen.destroy();
});
