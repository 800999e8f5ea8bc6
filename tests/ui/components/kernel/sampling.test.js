// Many draws from one distribution: the generator, the stretches, the counts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ranking, Survivors } from '../../../../ui/components/js/kernel/ranking.js';
import * as sampling from '../../../../ui/components/js/kernel/sampling.js';

const { mean_deviation, MOST_STRETCHES, Sampling, splitmix64, stretches_of, uniform_numbers, xoshiro128 } = sampling;

/** @template T @param {() => T} next @param {number} number */
const many = (next, number) => Array.from({ length: number }, next);

test('the generator is splitmix64 and xoshiro128**', () => {
  // The first five numbers that the generator's authors give for this seed.
  assert.deepEqual(many(splitmix64(1234567), 5), [
    6457827717110365317n,
    3203168211198807973n,
    9817491932198370423n,
    4593380528125082431n,
    16408922859458223821n,
  ]);
  // The first numbers that the reference implementation gives for this state.
  assert.deepEqual(many(xoshiro128([1, 2, 3, 4]), 6), [11520, 0, 5927040, 70819200, 2031721883, 1637235492]);
  const uniform = many(uniform_numbers(42), 20000);
  assert.ok(uniform.every(u => u >= 0 && u < 1));
  // Seed 42 is fixed: the mean of 20,000 lies within five standard errors of a half.
  const mean = uniform.reduce((sum, u) => sum + u, 0) / uniform.length;
  assert.ok(Math.abs(mean - 0.5) < 5 / Math.sqrt(12 * uniform.length));
  assert.equal(new Set(uniform).size, uniform.length);
});

test('the mean deviation of a count matches the binomial distribution', () => {
  for (const [draws, prob] of [
    [1, 0.3],
    [10, 0.5],
    [50, 0.02],
    [200, 0.4],
    [7, 0.999],
  ]) {
    let chance = (1 - prob) ** draws;
    let expected = 0;
    for (let count = 0; count <= draws; count++) {
      expected += chance * Math.abs(count - draws * prob);
      chance *= ((draws - count) / (count + 1)) * (prob / (1 - prob));
    }
    assert.ok(Math.abs(mean_deviation(draws, prob) - expected) < 1e-9 * Math.max(1, expected));
  }
  assert.deepEqual([mean_deviation(10, 0), mean_deviation(10, 1)], [0, 0]);
});

// Runs of 1, 3, 50 and 200 equal scores; the first 200 scores are kept.
const VALUES = [2, 1, 0, -1.5];
const COUNTS = [1, 3, 50, 200];
const [STOP, NUMBER] = [200, 2000];
const RUNS = { values: Float32Array.from(VALUES), counts: Uint32Array.from(COUNTS) };
const final = new Survivors(new Ranking(/** @type {any} */ ({}), RUNS, 0), STOP);
const weights = VALUES.flatMap((value, run) => Array(COUNTS[run]).fill(Math.exp(value))).slice(0, STOP);
const total = weights.reduce((sum, weight) => sum + weight, 0);
const probs = weights.map(weight => weight / total);

test('counts and deviations match a direct computation', () => {
  const drawn = new Sampling(final, 3);
  drawn.draw(NUMBER / 2);
  drawn.draw(NUMBER / 2);
  const counts = Array(probs.length).fill(0);
  for (const u of many(uniform_numbers(3), NUMBER)) {
    let sum = 0;
    counts[probs.findIndex(prob => (sum += prob) > u)] += 1;
  }
  assert.equal(drawn.total, NUMBER);
  for (const [place, count] of counts.entries()) assert.equal(drawn.counts.get(1 + place) ?? 0, count);
  const variation = probs.reduce((sum, prob, place) => sum + Math.abs(counts[place] / NUMBER - prob), 0) / 2;
  assert.ok(Math.abs(drawn.variation - variation) < 1e-12);
  const usual = probs.reduce((sum, prob) => sum + mean_deviation(NUMBER, prob), 0) / NUMBER / 2;
  assert.ok(Math.abs(drawn.usual_variation - usual) < 1e-9);
  for (const stretch of stretches_of(final, 199)) {
    const [from, to] = [stretch.first - 1, stretch.last];
    const share = probs.slice(from, to).reduce((sum, prob) => sum + prob, 0);
    const { count, expected, sigma } = drawn.within(stretch);
    assert.equal(
      count,
      counts.slice(from, to).reduce((sum, each) => sum + each, 0),
    );
    assert.ok(Math.abs(expected - NUMBER * share) < 1e-6);
    assert.ok(Math.abs(sigma - Math.sqrt(NUMBER * share * (1 - share))) < 1e-6);
  }
});

test('stretches join without gaps, and the hit token has its own', () => {
  const stretches = stretches_of(final, 199);
  assert.deepEqual(
    stretches.slice(-3).map(({ first, last }) => [first, last]),
    [
      [9, 198],
      [199, 199],
      [200, 200],
    ],
  );
  assert.deepEqual([stretches[0].from, stretches.at(-1)?.to], [0, 1]);
  for (const [place, { to, last }] of stretches.slice(0, -1).entries()) {
    assert.deepEqual([to, last + 1], [stretches[place + 1].from, stretches[place + 1].first]);
  }
  assert.ok(stretches.length <= MOST_STRETCHES);
});
