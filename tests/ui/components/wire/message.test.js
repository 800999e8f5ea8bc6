// Incoming messages and their changes to the state.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { take_in, take_row } from '../../../../ui/components/js/wire/message.js';
import { make_row, make_state } from '../fixtures.js';

const TEXT = {
  model: { source: 'm' },
  prompt: 'a',
  chat: false,
  before: [],
  from_cache: 0,
  prompt_tokens: [[1, 'a', false]],
  strategy: null,
  negative_prompt: null,
  negative_tokens: null,
  stage_defaults: {},
  settings: {},
  limits: {},
};
/** @type {any} */
const MESSAGE = {
  run: 'new',
  branch: 0,
  first: 0,
  length: 1,
  steps: [[5, 'b']],
  step_fields: ['id', 'label'],
  index: 0,
  row_key: '',
  row: null,
  text: TEXT,
};

test('a message that builds on unknown state is rejected', () => {
  const state = make_state();
  assert.equal(take_in(state, { ...MESSAGE, text: null }), false);
  assert.equal(take_in(state, { ...MESSAGE, run: 'r', branch: 1, first: 3 }), false);
  assert.equal(take_in(state, { ...MESSAGE, row_key: 'k' }), false); // a row that never arrived
  assert.equal(state.run, 'r');
});

test('steps are cut off and added where the message says', () => {
  const state = make_state();
  assert.ok(take_in(state, MESSAGE));
  assert.deepEqual([state.run, state.steps.map(step => step.id), state.prompt_tokens[0].label], ['new', [5], 'a']);
  assert.ok(take_in(state, { ...MESSAGE, text: null, first: 1, length: 2, steps: [[6, 'c']] }));
  assert.deepEqual(
    state.steps.map(step => step.id),
    [5, 6],
  );
  assert.ok(take_in(state, { ...MESSAGE, text: null, first: 1, length: 1, steps: [] }));
  assert.deepEqual(
    state.steps.map(step => step.id),
    [5],
  );
});

test('a late row for another step is ignored', () => {
  const row = make_row([2, 1]);
  const state = make_state({ row, row_key: 'new' });
  take_row(state, /** @type {any} */ ({ row_key: 'old', row: null }));
  assert.equal(state.row, row);
  take_row(state, /** @type {any} */ ({ row_key: '', row: null }));
  assert.equal(state.row, null);
});
