// The cost of steps: bytes of the KV cache and milliseconds, for every kind of step.

import '../../harness.js';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describe, texts } from '../../../../../ui/components/js/parts/charts/cost.js';
import { make_state, make_step } from '../../fixtures.js';

/**
 * @import { State, Step } from '../../../../../ui/components/js/types.js'
 */

/** Positions of traces in the data. */
const CACHE = { in_use: 0, negative: 1, held: 2, predicted: 3, this_step: 4, hover: 5 };
const PREFILL = { settings: 8, model: 10, above: 13, hover: 15 };
const DECODE = {
  other: 16,
  draw: 17,
  settings: 18,
  network: 19,
  model: 20,
  negative: 21,
  reused: 22,
  above: 23,
  this_step: 24,
  hover: 25,
};

/** @param {Partial<Step>[]} taken @param {Partial<State>} [more] */
function drawn(taken, more = {}) {
  const steps = taken.map(step => make_step(1, step));
  const { data, figures } = describe(make_state({ steps, index: steps.length - 1, ...more }), {
    memory: {},
    is_calm: true,
  });
  const said = texts(make_state({ steps, index: steps.length - 1, ...more }));
  assert.deepEqual(said, { kv_cache: figures.kv_cache.text, latency: figures.latency.text }, 'between two drawings');
  /** Return the heights of bars that are apart from each other. @param {number} trace */
  const heights = trace => data[trace].y.filter((_, place) => place % 4 === 1);
  return { data, figures, heights, cache: figures.kv_cache.text, latency: figures.latency.text };
}
const PREFILLED = { is_prefill: true, total_ms: 20, forward_ms: 18, positions: 8 };

test('the parts of a step are stacked, and prefills are drawn separately', () => {
  const { heights, data, latency } = drawn([PREFILLED, { forward_ms: 3, shape_ms: 0.5, draw_ms: 0.25, total_ms: 4 }]);
  assert.deepEqual(heights(PREFILL.model), [18]);
  const sums = [DECODE.model, DECODE.settings, DECODE.draw, DECODE.other].map(trace => heights(trace)[0]);
  assert.deepEqual(sums, [3, 3.5, 3.75, 4]);
  assert.match(data[DECODE.hover].hovertext?.[0] ?? '', /^step 2: 4\.00 ms<br>model 3\.00 ms<br>/);
  assert.match(data[PREFILL.hover].hovertext?.[0] ?? '', /^step 1 \(prefill\): 20\.0 ms<br>model 18\.0 ms/);
  assert.equal(latency, '4.00 ms · mean 250 tokens/s');
});

test('the network is apart from the server’s own time', () => {
  const { heights, data, figures } = drawn([PREFILLED, { forward_ms: 3, network_ms: 2, shape_ms: 0.5, total_ms: 4 }]);
  assert.deepEqual([heights(DECODE.model), heights(DECODE.network), heights(DECODE.settings)], [[1], [3], [3.5]]);
  assert.match(data[DECODE.hover].hovertext?.[0] ?? '', /<br>server 1\.00 ms, network and JSON 2\.00 ms<br>/);
  assert.ok(!figures.latency.absent.includes('network'));
  assert.ok(drawn([PREFILLED, {}]).figures.latency.absent.includes('network'));
});

test('a step with recorded logits is marked and excluded from the speed', () => {
  const { data, latency, figures } = drawn([
    PREFILLED,
    { total_ms: 4 },
    { reused: true, forward_ms: 0, total_ms: 0.5 },
  ]);
  assert.deepEqual(data[DECODE.reused].x, [2.55, 3.45, null]);
  assert.equal(latency, '0.50 ms, no pass needed · mean 250 tokens/s');
  assert.match(figures.latency.summary, /no pass needed: the logits were recorded/);
});

test('a first step from recorded logits leaves the prefill bar empty', () => {
  const reused = { reused: true, forward_ms: 0, shape_ms: 0.3, total_ms: 0.6 };
  for (const first of [reused, { ...reused, is_prefill: true, negative_forward_ms: 2, total_ms: 4.6 }]) {
    const { heights, data } = drawn([first, { total_ms: 40 }]);
    assert.deepEqual(heights(PREFILL.model - 4), [0]);
    assert.deepEqual(data[PREFILL.hover].y, [0]);
    assert.match(data[PREFILL.hover].hovertext?.[0] ?? '', /no pass needed: the logits were recorded/);
  }
});

test('a prefill is drawn on the scale of the other steps', () => {
  for (const [total_ms, top] of [
    [10, 40],
    [116, 116],
    [4000, 160],
  ]) {
    const steps = [make_step(1, { ...PREFILLED, total_ms }), make_step(1, { total_ms: 40 })];
    const { axes, data, figures } = describe(make_state({ steps, index: 1 }), { memory: {}, is_calm: true });
    const scale = axes.yaxis2.range?.[1] ?? 0;
    assert.equal(scale, axes.yaxis3.range?.[1]);
    assert.ok(top <= scale && scale <= 2 * top, `${scale} for ${top}`);
    assert.deepEqual(data[PREFILL.above].x, total_ms > scale ? [1] : []);
    assert.equal(/1 of the steps are above the axis/.test(figures.latency.summary), total_ms > scale);
  }
});

test('a few slow steps exceed the axis instead of flattening the rest', () => {
  const usual = Array(30).fill({ total_ms: 4 });
  const { data, figures } = drawn([PREFILLED, ...usual, { total_ms: 400 }]);
  assert.deepEqual(data[DECODE.above].x, [32]);
  assert.match(figures.latency.summary, /1 of the steps are above the axis, up to 400\.0 ms\./);
  assert.ok(figures.latency.absent.includes('no pass needed') && !figures.latency.absent.includes('above the axis'));
});

test('the cache chart shows bytes in use, reserved and predicted', () => {
  const step = { positions: 9, cache_bytes: 9216, cache_bytes_held: 16384, formula_bytes: 9000 };
  const { data, heights, cache, figures } = drawn([step], { cache_formula: '2 × layers' });
  assert.deepEqual(
    [heights(CACHE.in_use), data[CACHE.held].y, data[CACHE.predicted].y],
    [[9216], [16384, 16384], [9000, 9000]],
  );
  assert.equal(cache, '9.0 KiB for 9 positions');
  const [{ y, text }] = figures.kv_cache.marks;
  assert.deepEqual([y, text], [16384, 'reserved 16.0 KiB'], 'the line says what it is');
  assert.equal(
    data[CACHE.hover].hovertext?.[0],
    'step 1: 9.0 KiB in use, 9 positions<br>reserved 16.0 KiB<br>predicted 8.8 KiB',
  );
  assert.match(figures.kv_cache.summary, /Predicted by 2 × layers\.$/);
  assert.match(drawn([{ formula_bytes: null }]).figures.kv_cache.summary, /This model has no formula\.$/);
});

test('guidance shows the share of the negative prompt', () => {
  const step = {
    positions: 9,
    cache_bytes: 9216,
    negative_cache_bytes: 1024,
    negative_forward_ms: 1,
    formula_bytes: null,
  };
  const { cache, heights, data } = drawn([PREFILLED, step], {
    negative_tokens: Array(3).fill({ id: 1, label: 'a', special: false }),
  });
  assert.equal(cache, '9.0 KiB for 9 + 11 positions');
  assert.match(data[CACHE.hover].hovertext?.[1] ?? '', /including 1\.0 KiB for the negative prompt<br>/);
  assert.deepEqual([heights(CACHE.negative), heights(DECODE.negative)], [[0, 1024], [1]]);
  assert.match(data[DECODE.hover].hovertext?.[0] ?? '', /two passes, 2\.00 ms and 1\.00 ms \(negative prompt\)/);
});

test('both charts mark the inspected step, and each point knows its step', () => {
  const { data } = drawn([PREFILLED, {}, {}], { index: 1 });
  for (const chart of [CACHE, DECODE]) assert.deepEqual(data[chart.this_step].x, [1.55, 2.45]);
  assert.deepEqual(
    [CACHE, DECODE].flatMap(chart => data[chart.hover].customdata),
    [0, 1, 2, 1, 2],
  );
});

test('a long text is drawn as one area that keeps every peak', () => {
  const taken = Array.from({ length: 2000 }, (_, place) => ({ cache_bytes: place === 777 ? 9e6 : 1000 }));
  const { data } = drawn(taken);
  assert.ok(data[CACHE.in_use].x.length <= 1000);
  assert.equal(Math.max(...data[CACHE.in_use].y.map(Number)), 9e6);
  assert.equal(data[CACHE.hover].x.length, 2000);
  assert.ok(
    drawn([]).data.every(({ x }) => x.length === 0),
    'without steps',
  );
});
