// Logits and softmax over the same tokens: bars, lines where samplers stop, hover texts and captions.

import '../../harness.js';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describe } from '../../../../../ui/components/js/parts/charts/distribution.js';
import { bare, guided, logits_of, recorded, shown } from '../../fixtures.js';

/**
 * @import { State, Value } from '../../../../../ui/components/js/types.js'
 */

/** Start of the traces in the data. */
const LOGITS = { kept: 0, removed: 1, chosen: 2, lines: 3, hover: 4 };
const SOFTMAX = { model: 5, removed: 6, final: 7, chosen: 8, lines: 9, hover: 10 };

/** @param {State} state @param {number} [places] number of bars that fit */
function drawn(state, places = 12) {
  const { data, figures } = describe(state, { memory: {}, places, is_calm: true });
  const marks = (/** @type {string} */ key) => figures[key].marks.map(({ x, text }) => [x, text]);
  return { data, figures, marks, text: (/** @type {string} */ key) => bare(figures[key].text) };
}
/** @param {Record<string, Value>} values @param {Parameters<typeof shown>[1]} [more] */
const of = (values, more) => drawn(shown(values, more));

/** Round probabilities to four digits. @param {(number | null)[]} values */
const rounded = values => values.map(value => value && Number(value.toFixed(4)));

/** Return the heights over each token, lowest first. @param {ReturnType<typeof drawn>['data']} data */
function heights_of(data) {
  const bars = [SOFTMAX.model, SOFTMAX.removed, SOFTMAX.final, SOFTMAX.chosen].map(trace => rounded(data[trace].y));
  return bars[0].map((_, place) => bars.map(heights => heights[place]).filter(height => height !== null));
}

test('both charts mark the chosen token even if a sampler removes it', () => {
  const { data } = drawn(recorded({ top_k: 1 }));
  assert.deepEqual(rounded(data[SOFTMAX.chosen].y), [null, 0.3, null, null]);
  assert.deepEqual(rounded(data[SOFTMAX.removed].y), [null, null, 0.2, 0.1]);
  const is_there = (/** @type {number} */ trace) => data[trace].y.map(value => value !== null);
  for (const state of /** @type {const} */ (['removed', 'chosen']))
    assert.deepEqual(is_there(LOGITS[state]), is_there(SOFTMAX[state]));
});

test('the bars of each token match the columns of the table', () => {
  const columns = (/** @type {State} */ { view }) =>
    view?.rows.map(row => rounded(row.removed_by ? [row.model_prob] : [row.model_prob, row.final_prob]));
  /** @type {Record<string, Value>[]} */
  const chains = [{ temperature: 0.5, top_p: 0.8 }, { temperature: 0 }, { min_p: 0.6, temperature: 2 }];
  for (const values of chains) {
    const state = recorded(values);
    assert.deepEqual(heights_of(drawn(state).data), columns(state), JSON.stringify(values));
  }
  assert.deepEqual(heights_of(of({ top_k: 2 }).data), [[0.4, 0.5714], [0.3, 0.4286], [0.2], [0.1]]);
});

test('the second bar shows the samplers so far before the draw', () => {
  const { data, figures } = of({ temperature: 0.5 }, { point: 1 });
  assert.deepEqual(heights_of(data)[0], [0.4, 0.5333]);
  assert.equal(figures.softmax.renamed?.['after settings'], 'so far');
});

test('hover texts give escaped labels, figures and the fate of the token', () => {
  const { data, figures } = drawn(recorded({ temperature: 0.5, top_k: 2 }));
  assert.deepEqual(figures.softmax.labels, ['␣Paris', '␣the', '␣a', '␣London']);
  assert.deepEqual(data[LOGITS.hover].hovertext?.slice(1, 3), [
    'rank 2, ␣the, id 1<br>score −2.408 (scores after temperature)<br>logit −1.204, kept, chosen',
    'rank 3, ␣a, id 2<br>score −3.219 (scores after temperature)<br>logit −1.609, removed by top-k',
  ]);
  assert.equal(
    data[SOFTMAX.hover].hovertext?.[1],
    'rank 2, ␣the, id 1<br>model’s probability 30.00 %<br>after score changes 30.00 %' +
      '<br>after settings 36.00 %<br>kept, chosen',
  );
  const hostile = of({}, { step: { labels: new Map([[0, '<b>&']]) } });
  assert.match(hostile.data[SOFTMAX.hover].hovertext?.[0] ?? '', /^rank 1, &lt;b&gt;&amp;, id 0<br>/);
});

test('lines mark the cuts at both ends of the kept tokens', () => {
  const { data, marks } = of({ top_k: 3, xtc: { threshold: 0.25, probability: 1 } }, { step: { xtc_u: 0 } });
  assert.deepEqual(marks('softmax'), [
    [0.5, 'XTC'],
    [2.5, 'top-k 3'],
  ]);
  assert.deepEqual(marks('softmax'), marks('logits'));
  assert.deepEqual(data[SOFTMAX.lines].x, [0.5, 0.5, null, 2.5, 2.5, null]);
});

test('labels report a cut beyond the bars and gaps before a cut', () => {
  const beyond = drawn(shown({ top_k: 3 }), 2);
  assert.deepEqual(beyond.marks('softmax'), [[1.5, 'top-k 3: rank 3 ▸']]);
  assert.deepEqual(beyond.data[SOFTMAX.lines].x, []);
  const five = { logits: logits_of(0.4, 0.3, 0.15, 0.1, 0.05) };
  assert.deepEqual(of({ top_k: 4, banned: { sequences: [[1]] }, top_p: 0.8 }, five).marks('softmax'), [
    [2.5, 'top-p 0.8 (with gaps)'],
    [3.5, 'top-k 4'],
  ]);
});

test('a chosen token beyond the visible bars becomes the last bar', () => {
  const far = drawn(recorded({}, { step: { chosen: 3 } }), 3);
  assert.deepEqual(far.figures.softmax.labels, ['␣Paris', '␣the', '… ␣London']);
  assert.deepEqual(rounded(far.data[SOFTMAX.chosen].y), [null, null, 0.1]);
  const cut = drawn(recorded({ top_k: 3 }, { step: { chosen: 3 } }), 3);
  assert.deepEqual(cut.marks('softmax'), [[2.5, 'top-k 3: rank 3 ▸']]);
  assert.deepEqual(drawn(recorded({ top_k: 2 }, { step: { chosen: 3 } }), 3).marks('softmax'), [[1.5, 'top-k 2']]);
});

test('captions describe the scores and the uncertainty', () => {
  const { text, figures } = of({ top_k: 2 });
  assert.equal(text('logits'), 'raw scores: highest −0.92, 0.29 ahead');
  assert.match(of({ temperature: 0.5 }).text('logits'), /^after temperature: highest /);
  assert.match(of({ temperature: 0.5, repetition_penalty: 1.2 }).text('logits'), /^scores after 2 samplers: highest /);
  assert.equal(text('softmax'), 'uncertainty 1.85 → 0.99 bits');
  assert.match(
    bare(figures.softmax.summary),
    /uncertainty: model 1\.85 bits, after settings 0\.99 bits; 2 of 4 kept, which hold 70\.00 %\.$/,
  );
  assert.match(of({ temperature: 0.5 }).figures.softmax.summary, /all 4 tokens kept\.$/);
  assert.match(of({ top_k: 2 }, { digits: 'few' }).text('logits'), /highest −0\.9, 0\.3 ahead$/);
  assert.equal(of({ banned: { sequences: [[0], [1], [2], [3]] } }).text('softmax'), 'no tokens left');
});

test('under guidance nothing is called the model’s own', () => {
  const { data, text, figures } = drawn(guided(2));
  assert.match(text('logits'), /^logits under guidance: highest /);
  assert.match(figures.softmax.summary, /uncertainty: under guidance /);
  assert.match(data[SOFTMAX.hover].hovertext?.[0] ?? '', /<br>under guidance 55\.26 %<br>/);
  assert.deepEqual(figures.softmax.renamed, { 'model’s own': 'under guidance' });
  assert.match(drawn(guided(1)).figures.softmax.summary, /uncertainty: model /);
});

test('slow motion shows no probabilities at the logits stage', () => {
  const { data, text, figures } = of({ top_k: 2 }, { slow: true, point: 0 });
  assert.equal(text('softmax'), 'no probabilities yet: the softmax makes them from the scores');
  assert.deepEqual(heights_of(data), [[], [], [], []]);
  assert.equal(figures.softmax.absent.length, 2);
});

test('impossible tokens and missing scores have no bars', () => {
  const { data } = of({}, { logits: [2, 1, -Infinity, 0] });
  assert.doesNotMatch(JSON.stringify(data), /NaN|Infinity/);
  assert.equal(data[SOFTMAX.model].y.length, 3);
  const empty = of({}, { row: null });
  assert.ok(empty.data.every(({ x }) => x.length === 0));
  assert.deepEqual(['logits', 'softmax'].map(empty.text), ['no scores here', 'no scores here']);
});
