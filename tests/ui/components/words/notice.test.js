// The sentence most worth a look: its choice, and its truth for the view.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { find_loop, notice } from '../../../../ui/components/js/words/notice.js';
import { bare, logits_of, make_row, make_state, make_step, settings_of, view_of } from '../fixtures.js';

/**
 * @import { State, Value } from '../../../../ui/components/js/types.js'
 */

const CLEAR = logits_of(0.6, 0.25, 0.15, 1e-12, 1e-12);
const HALVES = logits_of(0.5025, 0.4975, 1e-9);
const ALWAYS = { threshold: 0.2, probability: 1 };

/**
 * Return the sentence for a future step, with these samplers on in this order.
 *
 * @param {Record<string, Value>} values
 * @param {{logits?: number[], step?: Parameters<typeof make_row>[1]} & Partial<State>} [more]
 */
function said(values, { logits = CLEAR, step, ...more } = {}) {
  const state = make_state({ row: make_row(logits, step), settings: settings_of(values), ...more });
  return bare(notice(state, view_of(state)));
}

/**
 * Return the sentence for a recorded step.
 *
 * @param {Parameters<typeof make_step>[1]} taken
 * @param {Record<string, Value>} [values]
 */
function said_of(taken, values = {}) {
  const step = { is_pending: false, chosen: 1, forced: taken?.forced ?? false, recorded_settings: settings_of(values) };
  return said(values, { step, steps: [make_step(1, taken)] });
}

test('the notice says how certain the model is', () => {
  const flat = Array(23).fill(0);
  assert.match(said({}, { logits: flat }), /uncertain: 4\.52 bits, like 23 equally likely tokens\.$/);
  assert.match(said({}, { logits: flat, digits: 'few' }), /uncertain: 4\.5 bits,/);
  assert.match(said({}, { logits: logits_of(0.97, 0.03) }), /almost certain: “␣Paris” has 97\.00 %/);
  const close = said({}, { logits: logits_of(0.41, 0.4, 0.19) });
  assert.match(close, /between two tokens: “␣Paris” 41\.00 %, “␣the” 40\.00 %/);
  assert.equal(notice(make_state(), null), '', 'without a view');
});

test('an unlikely draw comes first', () => {
  const unlikely = said_of({ probability: 0.0125, rank: 6 });
  assert.equal(unlikely, 'An unlikely draw: “␣the” (rank 6) had a chance of 1 in 80.');
  const raised = said_of({ probability: 0.3, model_probability: 0.004, rank: 60 });
  assert.equal(raised, 'The model gave “␣the” (rank 60) a chance of 1 in 250; the settings made that 30.00 %.');
});

test('the notice says whether a forced token could be drawn', () => {
  assert.match(
    said_of({ forced: true }, { top_k: 1 }),
    /^“␣the” \(rank 2\) .* could not be drawn: top-k removes it\.$/,
  );
  assert.match(said_of({ forced: true }), /A draw would pick it in 25\.00 % of cases\.$/);
});

test('a loop is found and reported with a remedy', () => {
  const loop = [3, 4, 3, 4, 3, 4, 3, 4];
  assert.deepEqual(find_loop(loop), { length: 2, times: 4 });
  assert.deepEqual(find_loop([1, 2, ...Array(8).fill(5)]), { length: 1, times: 8 });
  assert.equal(find_loop([3, 4, 3, 4, 3, 4]), null); // six tokens are too few
  const steps = loop.map(id => make_step(id));
  const sentence = said({}, { steps, index: 8, step: { index: 8 } });
  assert.match(sentence, /the last 2 tokens came 4 times in a row\. A penalty on repetition/);
});

test('the notice describes only the tokens that are left', () => {
  assert.match(said({ top_k: 2, xtc: ALWAYS }, { point: 2 }), /^1 token holds 25\.00 % of the probability\. /);
  assert.doesNotMatch(said({ xtc: ALWAYS }, { logits: HALVES, point: 1 }), /“␣Paris” leads/);
  // Scores moved after a cut: the leader is the token that leads there, not the earlier leader.
  const moved = said({ top_k: 2, logit_bias: { bias: [[1, 3]] } }, { point: 2 });
  assert.match(moved, /^“␣the” leads with 89\.33 %, “␣Paris” follows .* after logit bias is 0\.49 bits\.$/);
  const sentence = said({ temperature: 0.7, xtc: ALWAYS, epsilon_cutoff: 0.00001 }, { point: 2 });
  assert.doesNotMatch(sentence, /“␣Paris” leads/, 'it is removed');
});

test('only active samplers are credited with moving the leader', () => {
  assert.match(
    said({ dry: { multiplier: 0.8, base: 1.75, allowed_length: 2, last_n: -1, breakers: [] }, temperature: 0.7 }),
    /^Temperature 0\.7 raised “␣Paris” from 60\.00 % to /,
  );
  assert.match(
    said({ repetition_penalty: 1.5, logit_bias: { bias: [[0, -2]] }, temperature: 0.7 }),
    /^Repetition penalty, logit bias and temperature together /,
  );
  const own = said({ dynamic_temperature: { low: 0.2, high: 0.4, exponent: 1 } });
  assert.match(own, /^Dynamic temperature \(T = 0\.32\) raised “␣Paris”/);
  assert.match(
    said({ banned: { sequences: [[1], [300, 301]] } }),
    /^Banned words \(1 token banned\) raised “␣Paris” from 60\.00 % to 80\.00 %/,
  );
});

test('an empty result names the sampler and a remedy', () => {
  assert.match(
    said({ temperature: 0, banned: { sequences: [[0]] } }),
    /Banned words removed the last token\. Move Banned words in front of Temperature/,
  );
  assert.match(
    said({ min_p: 0.9, typical_p: 0.9, banned: { sequences: [[0]] } }),
    /Move Banned words in front of Min-p/,
  );
  // At a point that still has tokens, the sentence is about that point.
  assert.doesNotMatch(said({ temperature: 0, banned: { sequences: [[0]] } }, { point: 1 }), /No token is left/);
  const all = { banned: { sequences: [[0], [1], [2]] } };
  assert.match(said(all, { logits: [3, 2, 1] }), /Remove a token from Banned words, or switch it off\.$/);
});

test('the greedy choice is compared with ties and draws', () => {
  assert.match(
    said({ temperature: 0 }, { logits: HALVES }),
    /^Greedy hides a near tie: “␣Paris” 50\.25 %, “␣the” 49\.75 %/,
  );
  // Equal scores are not a near tie: a rule decides between them.
  for (const logits of [
    [3, 3, 1],
    [0, 2, 2, 2],
  ]) {
    const tie = said({ temperature: 0 }, { logits });
    assert.match(tie, /^An exact tie: “␣\w+” and “␣\w+” have the same score\. Greedy takes the lower id every time\.$/);
  }
  assert.match(said({ repetition_penalty: 1.2, temperature: 0 }, { logits: [3, 3, 1] }), /^(?!An exact tie)/);
  // The model's favourite is banned, and the two remaining tokens are far apart.
  const banned = said({ banned: { sequences: [[0]] }, temperature: 0 });
  assert.match(banned, /^Greedy takes “␣the” every time\. .* 25\.00 % of cases\.$/);
  // A different step may draw a different number.
  const by_chance = said({ xtc: { threshold: 0.2, probability: 0.5 }, temperature: 0 }, { step: { xtc_u: 0.1 } });
  assert.doesNotMatch(by_chance, /every time/);
});

test('cuts that remove nothing are named', () => {
  const rests = { threshold: 0.2, probability: 0.5 };
  assert.match(
    said({ xtc: rests, top_k: 5 }, { step: { xtc_u: 0.9 } }),
    /^XTC and top-k remove nothing here: 5 tokens/,
  );
  assert.equal(said({ epsilon_cutoff: 1e-19 }), 'Epsilon cutoff removes nothing here: 5 tokens are left.');
});

test('odds without the cut-offs appear only if they hold', () => {
  assert.match(said({ top_k: 1 }), /Without the cut-offs, 40\.00 % of draws would pick one of the other 4\.$/);
  assert.match(said({ top_k: 1 }, { digits: 'few' }), /^1 token holds 60 % .*, 40 % of draws/);
  // With a temperature after the cut, draws without the cut would have different odds than before it.
  assert.doesNotMatch(said({ top_k: 1, temperature: 2 }), /Without the cut-offs/);
  assert.doesNotMatch(said({ top_k: 2, banned: { sequences: [[0]] } }), /Without the cut-offs/);
});
