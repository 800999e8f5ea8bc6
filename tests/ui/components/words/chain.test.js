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
  assert.match(
    order({ top_p: 0.8, temperature: 2 }),
    /\(temperature, top-p\) 3 tokens .* instead of 2, and the same u draws the same token/,
  );
  assert.match(order({ top_k: 2, temperature: 2 }), /the result is the same here\.$/);
  // Two reach .2, so XTC removes the first; top-k keeps the second.
  assert.match(order({ xtc: ALWAYS, top_k: 1 }), /\(top-k, XTC\) a different token is left\.$/);
  // A forced token has no u for comparing draws.
  const forced = order({ xtc: ALWAYS, top_k: 1 }, { row: make_row([4, 3, 2, 1], { u: null }) });
  assert.match(forced, /a different token is left\.$/);
  assert.match(
    order({ temperature: 2, logit_bias: { bias: [[3, 2]] } }),
    /the same 4 tokens are left, with other probabilities, and the same u draws a different token/,
  );
  assert.match(order({ temperature: 0, banned: { sequences: [[0]] } }), /1 token .*; now none is left/);
  const all = { sequences: [[0], [1], [2], [3]] };
  assert.match(order({ top_k: 2, banned: all }), /no token would be left either/);
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
  assert.match(what_if({ temperature: 2 }, {}) ?? '', /^temperature differs .* It took “␣the”\.$/);
  assert.match(what_if({ temperature: 2, top_k: 2 }, { top_k: 3 }) ?? '', /^temperature and top-k differ/);
  assert.equal(what_if({ top_k: 2 }, { top_k: 2 }), null);
  const turned = what_if({ top_p: 0.8, temperature: 2 }, { temperature: 2, top_p: 0.8 });
  assert.match(turned ?? '', /^The order of top-p and temperature differs/);
});
