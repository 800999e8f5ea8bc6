// Words about a chain as a whole.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as words from '../../../../ui/components/js/words/chain.js';
import { table } from '../chains.js';
import { bare, make_row, make_state, make_step, settings_of, view_of } from '../fixtures.js';

/**
 * @import { Value, View } from '../../../../ui/components/js/types.js'
 */

const ALWAYS = { threshold: 0.2, probability: 1 };

/**
 * The view of scores 4, 3, 2, 1: softmax .64 .24 .09 .03.
 *
 * @param {Record<string, Value>} values
 * @param {object} [more]
 */
function shown(values, more = {}) {
  return /** @type {View} */ (
    view_of(make_state({ row: make_row([4, 3, 2, 1]), settings: settings_of(values), ...more }))
  );
}

/** @param {Record<string, Value>} values @param {object} [more] */
const order = (values, more) => words.default_order_text(shown(values, more), table);

test('a non-default order is compared with the default one', () => {
  // At T = 2: .46 .28 .17 .10, so the nucleus of .8 grows from 2 to 3.
  assert.equal(order({ temperature: 2, top_p: 0.8 }), '');
  assert.equal(
    order({ top_p: 0.8, temperature: 2 }),
    'In the default order (temperature, top-p) 3 tokens would be left instead of 2, and the same u draws the same token.',
  );
  assert.match(order({ top_k: 2, temperature: 2 }), /the result is the same here\.$/);
});

test('equal counts are not described as equal tokens', () => {
  // Two reach .2, so XTC removes the first; top-k keeps the second.
  const other = 'In the default order (top-k, XTC) another token is left.';
  assert.equal(order({ xtc: ALWAYS, top_k: 1 }), other);
  // A forced token has no u for comparing draws.
  assert.equal(order({ xtc: ALWAYS, top_k: 1 }, { row: make_row([4, 3, 2, 1], { u: null }) }), other);
  assert.equal(
    order({ temperature: 2, logit_bias: { bias: [[3, 2]] } }),
    'In the default order (logit bias, temperature) the same 4 tokens are left, with other probabilities, ' +
      'and the same u draws another token.',
  );
});

test('the comparison covers orders that leave no token', () => {
  assert.equal(
    order({ temperature: 0, banned: { sequences: [[0]] } }),
    'In the default order (banned words, temperature) 1 token would be left, where none is left now.',
  );
  assert.equal(
    order({ top_k: 2, banned: { sequences: [[0], [1], [2], [3]] } }),
    'In the default order (banned words, top-k) no token would be left either.',
  );
});

/**
 * Return the words for a what-if with these values, on a step recorded with the others.
 *
 * @param {Record<string, Value>} values
 * @param {Record<string, Value>} recorded
 */
function what_if(values, recorded) {
  const step = { is_pending: false, chosen: 1, u: 0.9, recorded_settings: settings_of(recorded) };
  const more = { row: make_row([4, 3, 2, 1], step), steps: [make_step(1)], is_what_if: true };
  const found = shown(values, more).what_if;
  return found && bare(words.what_if_text(found, table));
}

test('a what-if names the changed settings and the actual token', () => {
  assert.equal(what_if({ temperature: 2 }, {}), 'temperature differs from this step’s own. It took “␣the”.');
  assert.equal(
    what_if({ temperature: 2, top_k: 2 }, { top_k: 3 }),
    'temperature and top-k differ from this step’s own. It took “␣the”.',
  );
  assert.equal(what_if({ top_k: 2 }, { top_k: 2 }), null);
});

test('a what-if says when only the order differs', () => {
  const values = { temperature: 2, top_p: 0.8 };
  assert.equal(
    what_if({ top_p: 0.8, temperature: 2 }, values),
    'The order of top-p and temperature differs from this step’s own. It took “␣the”.',
  );
});
