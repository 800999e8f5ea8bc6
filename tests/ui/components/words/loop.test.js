// The loop band's texts for each stage: a figure, and a sentence for slow motion.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  box_label,
  figure_of,
  hint,
  more_of,
  point_sentence,
  was_greedy,
} from '../../../../ui/components/js/words/loop.js';
import { table } from '../chains.js';
import { bare, logits_of, make_row, make_state, make_step, settings_of, view_of } from '../fixtures.js';

/**
 * @import { State, Value, View } from '../../../../ui/components/js/types.js'
 */

const LOGITS = logits_of(0.5, 0.3, 0.15, 0.05);

/**
 * @param {Record<string, Value>} values
 * @param {{step?: Parameters<typeof make_row>[1]} & Partial<State>} [more]
 */
function shown(values, { step, ...more } = {}) {
  const state = make_state({ row: make_row(LOGITS, step), settings: settings_of(values), ...more });
  const view = /** @type {View} */ (view_of(state));
  return {
    state,
    view,
    figure: (/** @type {string} */ key) => bare(figure_of(key, state, view)),
    /** Return the sentence at the point after that number of samplers. */
    says: (/** @type {number} */ point) => {
      const at = { ...state, point };
      return bare(point_sentence(at, /** @type {View} */ (view_of(at))));
    },
  };
}

test('every box has a figure', () => {
  const values = { logit_bias: { bias: [[2, 1]] }, banned: { sequences: [[3]] }, temperature: 0.7, top_k: 2 };
  const { figure, view } = shown(values);
  const boxes = ['tokens', 'forward', ...view.points.map(({ name }) => name), 'append'];
  assert.deepEqual(boxes.map(figure), [
    '1 of 1,024',
    '1 read at once',
    '4 tokens',
    '1 raised',
    '1 banned',
    '÷ 0.7',
    '2 left',
    'sum is 1', // with a temperature in between, the remaining tokens have no earlier share
    'u = 0.5000',
    'to come',
  ]);
  assert.equal(shown({ top_k: 2 }).figure('renormalised'), '80.00 % → 1');
  assert.equal(shown({ top_k: 2 }, { digits: 'few' }).figure('renormalised'), '80 % → 1');
  assert.deepEqual(
    ['raw', 'top_k', 'drawn'].map(key => box_label(key, table)),
    ['Logits', 'Top-k', 'Draw'],
  );
});

test('figures show samplers that did nothing or left nothing', () => {
  assert.equal(shown({ presence_penalty: 1 }).figure('presence_penalty'), 'none here');
  assert.equal(shown({ temperature: 0 }).figure('temperature'), 'greedy');
  assert.equal(shown({ top_k: 1, banned: { sequences: [[0]] } }).figure('banned'), 'none left');
  assert.match(
    shown({ dynamic_temperature: { low: 0.5, high: 1.5, exponent: 1 } }).figure('dynamic_temperature'),
    /^÷ 1\.\d\d$/,
  );
});

test('the walk reports its stage and its effect', () => {
  const { says } = shown({ temperature: 0.5, top_k: 2 });
  assert.match(says(0), /^Stage 1 of 5: logits\. .* “␣Paris” leads with −0\.69, 0\.51 ahead of “␣the”\.$/);
  assert.match(says(1), /^Stage 2 of 5: temperature\. Temperature divides all scores by 0\.5/);
  assert.match(says(2), /^Stage 3 of 5: top-k\. Top-k keeps the top 2 tokens/);
  assert.match(says(3), /^Stage 4 of 5: softmax\. The 2 tokens left had 93\.\d\d %/);
  assert.equal(says(4), 'Stage 5 of 5: draw. u = 0.5000 falls into [0.0000, 0.7353), the stretch of “␣Paris”.');
  assert.match(shown({}).says(1), /“␣Paris” has 50\.00 %\.$/);
  const between = shown({ top_k: 3, temperature: 0.5, top_p: 0.5 });
  assert.match(between.says(4), /The one token left now has the whole probability/);
  const step = { is_pending: false, chosen: 1, u: 0.6, recorded_settings: settings_of({}) };
  const what_if = shown({ top_k: 1 }, { step, steps: [make_step(1, { u: 0.6 })], is_what_if: true });
  assert.match(what_if.says(3), /would fall into \[0\.0000, 1\.0000\), .* In fact it picked “␣the”\.$/);
  const manual = shown({}, { manual: true });
  assert.match(bare(hint(manual.state, manual.view)), /^Proposed: “␣Paris”\. Press Enter or Step/);
});

test('a forced and a greedy step say so', () => {
  const step = { is_pending: false, chosen: 1, forced: true, u: null };
  const by_hand = shown({}, { step, steps: [make_step(1, { forced: true, u: null })] });
  assert.equal(by_hand.figure('drawn'), 'by hand');
  assert.match(by_hand.says(2), /“␣the” was chosen by hand; no number was drawn\.$/);
  const taken = shown({}, { step: { ...step, forced: false }, steps: [make_step(1, { u: null })] });
  assert.ok(was_greedy(taken.state, taken.view));
  assert.equal(taken.figure('drawn'), 'taken greedily');
});

test('the forward pass figure covers prefill, cache, reuse and two texts', () => {
  const recorded = (/** @type {Parameters<typeof make_step>[1]} */ taken, /** @type {Partial<State>} */ more = {}) => {
    const step = { is_pending: false, chosen: 1 };
    const { state, view, figure } = shown({}, { step, steps: [make_step(1, taken)], ...more });
    return [figure('forward'), more_of('forward', state, view)];
  };
  assert.deepEqual(recorded({ is_prefill: true, positions: 9 }), ['9 read at once', '3.00 ms']);
  assert.deepEqual(recorded({ positions: 9 }), ['8 from cache + 1 new', '3.00 ms']);
  assert.deepEqual(recorded({ reused: true }), ['not needed again', '']);
  assert.deepEqual(recorded({ positions: 9, network_ms: 1 }), ['8 from cache + 1 new', '2.00 ms on the server']);
  const negative_tokens = [{ id: 1, label: 'a', special: false }];
  assert.deepEqual(recorded({ positions: 9, negative_forward_ms: 2 }, { negative_tokens }), [
    '8 + 8 from cache',
    '3.00 ms, 2 passes',
  ]);
});
