// Incoming messages and their changes to the state.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { raw_rank_of } from '../../../../ui/components/js/kernel/row.js';
import { read_message, take_in, take_row } from '../../../../ui/components/js/wire/message.js';
import { make_row, make_state } from '../fixtures.js';
import { packed } from '../packed.js';

const TEXT = {
  model: { source: 'm' },
  prompt: 'a',
  chat: false,
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

test('a row brings its arrays, the engine’s results and its token’s rank', () => {
  const arrays = [Float32Array.of(3, 2), Uint32Array.of(1, 3), Uint16Array.of(7, 8)];
  const row = {
    vocab: 9,
    possible: 4,
    exact: false,
    runs: 2,
    known: 2,
    told: { highest: 3, total: 2.1, entropy_bits: 1.5 },
    labels: [[7, '␣a']],
  };
  const mask = Uint8Array.of(5);
  const outcomes = [{ name: 'x', kept: 'mask', mask: [0, 1] }];
  const header = {
    row_key: 'k',
    row,
    shaped: { settings: {}, outcomes, draw: null, offset: 20 },
    step: { chosen: 1, standing: [4, 2] },
  };
  const state = make_state();
  take_row(state, read_message(packed(header, [...arrays, mask])));
  assert.ok(state.row);
  assert.deepEqual([...state.row.values, ...state.row.counts, ...state.row.ids], [3, 2, 1, 3, 7, 8]);
  assert.deepEqual([state.row.total, state.row.entropy_bits], [2.1, 1.5]);
  assert.deepEqual([...(state.row.shaped?.outcomes[0].mask ?? [])], [5]);
  assert.deepEqual([raw_rank_of(state.row, 1), state.row.labels.get(7)], [4, '␣a']);
  assert.equal(state.row_key, 'k');
});

test('a late row for another step is ignored', () => {
  const row = make_row([2, 1]);
  const state = make_state({ row, row_key: 'new' });
  take_row(state, /** @type {any} */ ({ row_key: 'old', row: null }));
  assert.equal(state.row, row);
  take_row(state, /** @type {any} */ ({ row_key: '', row: null }));
  assert.equal(state.row, null);
});
