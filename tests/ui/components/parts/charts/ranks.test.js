// By rank: the running sum with u on it, and the curve of probabilities.

import '../../harness.js';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describe } from '../../../../../ui/components/js/parts/charts/ranks.js';
import { speak } from '../../../../../ui/components/js/words/say.js';
import { bare, recorded, shown } from '../../fixtures.js';

/**
 * @import { State, Value } from '../../../../../ui/components/js/types.js'
 */

/** Positions of traces in the data. */
const SUMS = { before: 0, after: 1, lines: 2, levels: 3, u: 4 };
const CURVE = { removed: 5, model: 6, kept: 7, points: 8, lines: 9, chosen: 10 };

/** @param {State} state */
function drawn(state) {
  const { data, figures } = describe(state, { memory: {}, is_calm: true });
  return { data, figures, text: (/** @type {string} */ key) => bare(figures[key].text) };
}
/** @param {Record<string, Value>} values @param {Parameters<typeof shown>[1]} [more] */
const of = (values, more) => drawn(shown(values, more));

/** @param {(number | null)[]} values */
const rounded = values => values.map(value => value && Number(value.toFixed(4)));

test('the running sum climbs over all ranks, before and after settings', () => {
  const { data } = of({ top_k: 2 });
  assert.deepEqual(rounded(data[SUMS.before].y), [0, 0.4, 0.7, 0.9, 1]);
  assert.deepEqual(rounded(data[SUMS.after].y), [0, 0.5714, 1, 1, 1]);
  assert.equal(
    data[SUMS.before].hovertext?.[3],
    'rank 3, ␣a: 20.00 %<br>up to here 90.00 %<br>model’s own at this rank 20.00 %<br>removed',
  );
});

test('u is drawn as a line to the token it hits', () => {
  const { data, figures, text } = of({ top_k: 2 });
  assert.deepEqual([...data[SUMS.u].x.slice(1), ...data[SUMS.u].y], [1, 1, 0.5, 0.5, 0]);
  assert.equal(text('cumulative'), '2 of 4 kept, which hold 70.00 % · u = 0.500 falls on rank 1, “␣Paris”');
  assert.equal(figures.cumulative.marks[0].text, 'u = 0.500');
  assert.match(of({}).text('cumulative'), /^nothing is removed · u = 0\.500 falls on rank 2, “␣the”$/);
  assert.match(of({ temperature: 0 }).text('cumulative'), /temperature 0: the first rank, no draw$/);
  const early = of({ top_k: 2 }, { point: 0 });
  assert.match(early.text('cumulative'), /no draw at this point$/);
  assert.deepEqual(early.figures.cumulative.absent, ['after settings']);
});

test('a sampler’s share is drawn as a level up to its rank', () => {
  const { data, text } = of({ top_p: 0.6 });
  assert.deepEqual([data[SUMS.levels].x[1], data[SUMS.levels].y.slice(0, 2)], [2, [0.6, 0.6]]);
  assert.match(text('cumulative'), /^top-p 0\.6 is reached at rank 2 /);
  assert.match(
    of({ top_k: 3, top_p: 0.6 }).text('cumulative'),
    /^top-p 0\.6 of the remaining probability is reached at rank 2 /,
  );
});

test('removed ranks are drawn as a separate area down to the axis', () => {
  const { data, figures, text } = drawn(recorded({ top_k: 2 }));
  assert.deepEqual(data[CURVE.kept].x, [1, 2, null]);
  assert.deepEqual(data[CURVE.removed].x, [3, 4, 4, 3, 3, null]);
  assert.deepEqual(data[CURVE.lines].x, [2, 2, null]);
  assert.deepEqual([data[CURVE.chosen].x, rounded(data[CURVE.chosen].y)], [[2], [0.3]]);
  assert.equal(text('rank_curve'), '2 of 4 kept, which hold 70.00 % · “␣the” at rank 2');
  assert.deepEqual(figures.rank_curve.absent, []);
  assert.deepEqual([of({ top_k: 1 }).data[CURVE.points].x, data[CURVE.points].x], [[1], []], 'one token is a point');
  const empty = of({}, { row: null });
  assert.ok(empty.data.every(({ x }) => x.length === 0) && empty.text('rank_curve') === 'no scores here');
});

test('curve ticks use the number format of the language', t => {
  t.after(() => speak({}));
  speak({ '1,024.5': '1.024,5' });
  const { axes } = describe(shown(), { memory: {}, is_calm: true });
  assert.equal(axes.yaxis2.ticktext[2], '0,01 %');
});
