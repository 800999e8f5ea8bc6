// Arrays of messages: rows at any offset, results after them, labels once per vocabulary.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { raw_rank_of } from '../../../../ui/components/js/kernel/row.js';
import { read_message, take_in, take_row } from '../../../../ui/components/js/wire/message.js';
import { make_state } from '../fixtures.js';
import { packed, packed_runs } from '../packed.js';

const ROW = {
  vocab: 6,
  possible: 6,
  exact: false,
  light: true,
  runs: 3,
  known: 2,
  told: { highest: 3, total: 1.5, entropy_bits: 0.7 },
  labels: [
    [4, 'four'],
    [1, 'one'],
  ],
};
const RUNS = packed_runs(new Float32Array([3, 2, -1]), new Uint32Array([1, 1, 4]));
const ARRAYS = [RUNS, new Uint16Array([4, 1])];
const SIZE = Math.ceil(RUNS.length / 4) * 4 + 4;
const TEXT = { model: { source: 'm' }, prompt: '', prompt_tokens: [] };
const STATE = {
  kind: 'state',
  run: 'r',
  text: null,
  branch: 1,
  first: 0,
  length: 0,
  steps: [],
  row_key: 'k',
  row: ROW,
};

/** Return a state after these messages. @param {object[]} messages @returns {any} */
function state_after(...messages) {
  const state = { run: '', branch: 0, steps: [], row: null, row_key: '' };
  for (const message of messages) assert.ok(take_in(state, read_message(packed(message, ARRAYS))));
  return state;
}

test('bytes may start at any offset in their buffer', () => {
  const bytes = packed(STATE, ARRAYS);
  const shifted = new Uint8Array(bytes.length + 3);
  shifted.set(bytes, 3);
  const row = /** @type {any} */ (read_message(shifted.subarray(3)).row);
  assert.deepEqual([...row.values], [3, 2, -1]);
  assert.deepEqual([...row.ids], [4, 1]);
  assert.deepEqual([row.total, row.entropy_bits], [1.5, 0.7]);
});

test('sampler results are read from the bytes after the row', () => {
  const outcomes = [
    { name: 'new', kept: 'mask', mask: [0, 3] },
    { name: 'other', kept: 'row', row: [4, 2, 3] },
  ];
  const shaped = { settings: {}, outcomes, draw: null, offset: SIZE };
  const mask = new Uint8Array([5, 6, 7]);
  const [given_values, given_counts] = [new Float32Array([3, 2]), new Uint32Array([1, 2])];
  const order = new Uint32Array([9, 4, 6]);
  const given = [packed_runs(given_values, given_counts), order];
  const message = read_message(packed({ ...STATE, shaped }, [...ARRAYS, mask, ...given]));
  const [masked, other] = /** @type {any} */ (message.shaped).outcomes;
  assert.deepEqual([...masked.mask], [5, 6, 7]);
  const { values, counts } = other.runs;
  assert.deepEqual([values, counts, other.order], [given_values, given_counts, order]);
  const standing = { chosen: 0, standing: [4, 2] };
  const state = make_state();
  take_row(state, read_message(packed({ ...STATE, step: standing }, ARRAYS)));
  assert.ok(state.row);
  assert.deepEqual([state.row_key, raw_rank_of(state.row, 0), state.row.labels.get(1)], ['k', 4, 'one']);
});

test('the whole row keeps earlier results and labels, a new row does not', () => {
  const shaped = { settings: {}, outcomes: [{ name: 'top_k' }], draw: null, offset: SIZE };
  const state = state_after({ ...STATE, text: TEXT, shaped });
  const whole = { ...ROW, exact: true, light: undefined, labels: [[5, 'five']] };
  take_row(state, read_message(packed({ kind: 'answer', row_key: 'k', row: whole }, ARRAYS)));
  assert.equal(state.row.exact, true);
  assert.deepEqual(state.row.shaped?.outcomes, [{ name: 'top_k' }]);
  assert.deepEqual([...state.row.labels.keys()], [4, 1, 5]);
  assert.ok(take_in(state, read_message(packed({ ...STATE, row_key: 'l' }, ARRAYS))));
  assert.equal(state.row.shaped, null, 'a new row starts without them');
});

test('a new model drops the labels of the old one', () => {
  const other = { ...TEXT, model: { source: 'o' } };
  const state = state_after({ ...STATE, text: TEXT }, { ...STATE, run: 's', text: other, row: { ...ROW, labels: [] } });
  assert.equal(state.labels.size, 0);
});
