// The transport: each button's request, and the buttons enabled in each state.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '../../../../ui/components/js/parts/transport.js';
import { make_step, recorded, shown } from '../fixtures.js';
import { choose, live } from '../harness.js';

/**
 * @import { State } from '../../../../ui/components/js/types.js'
 */

/** List the enabled buttons. @param {State} state */
function open_buttons(state) {
  const page = live(create, state);
  return page
    .all('button')
    .filter(each => !each.hasAttribute('disabled'))
    .map(each => each.textContent);
}

test('each button triggers its action and names its key', () => {
  const page = live(create, recorded({}));
  for (const button of page.all('button')) button.click();
  assert.deepEqual(page.taken(), [
    ['rewind'],
    ['back'],
    ['step'],
    ['toggle_play'],
    ['run_to_end'],
    ['reroll'],
    ['toggle', 'slow'],
  ]);
  const keys = page.all('button').map(each => each.getAttribute('aria-keyshortcuts'));
  assert.deepEqual(keys, ['0', 'B', 'S', 'P', 'E', 'D', 'L']);
});

const ALL = ['Rewind', 'Back', 'Step', 'Play', 'Run to end', 'Re-roll', 'Slow motion'];
const OVER = { reason: 'end', sentence: 'Over.', is_over: true, at_limit: true };

/** @param {...string} shut */
const all_but = (...shut) => ALL.filter(name => !shut.includes(name));

/** The page, and its enabled buttons. @type {[State, string[]][]} */
const CASES = [
  [recorded({}), ALL],
  [shown({}), all_but('Rewind', 'Back', 'Re-roll')],
  [recorded({}, { mode: 'playing' }), all_but('Play', 'Run to end').toSpliced(3, 0, 'Pause')],
  [recorded({}, { stop: OVER }), all_but('Step', 'Play', 'Run to end')],
  [recorded({}, { stop: OVER, drafted: true }), all_but('Play', 'Run to end')],
  [recorded({}, { stop: { ...OVER, is_over: false } }), all_but('Play', 'Run to end')],
  [recorded({}, { manual: true }), all_but('Play', 'Run to end')],
  [recorded({}, { slow: true }), all_but('Play', 'Run to end')],
  [recorded({ temperature: 0 }, { greedy: true }), all_but('Re-roll')],
  [shown({}, { manual: true, steps: [make_step(1)] }), all_but('Play', 'Run to end', 'Re-roll')],
  [recorded({}, { strategy: { top_k: 4, penalty_alpha: 0.6 } }), all_but('Re-roll', 'Slow motion')],
];
test('only usable buttons are enabled', () => {
  for (const [number, [state, open]] of CASES.entries()) assert.deepEqual(open_buttons(state), open, `case ${number}`);
});

test('the speed list selects the value nearest to the stored one', () => {
  const page = live(create, recorded({}));
  const field = page.one('combobox', 'Speed');
  choose(field, '16');
  assert.deepEqual(page.taken(), [['show', { speed: 16 }]]);
  const shown = [3, 7, 17, 0].map(speed => {
    page.change({ speed });
    return field.value;
  });
  assert.deepEqual(shown, ['2', '8', '0', '0']);
});
