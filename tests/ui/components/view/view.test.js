// The view of small rows with answers simple enough to verify: points of the chain, lines, what-ifs, missing results.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { candidate, make_view, unlabelled } from '../../../../ui/components/js/view/view.js';
import { logits_of, make_row, make_state, make_step, settings_of, view_of } from '../fixtures.js';

/**
 * @import { Scene, State, Value, View } from '../../../../ui/components/js/types.js'
 */

const FOUR = [4, 3, 2, 1]; // softmax: .64 .24 .09 .03
const ALWAYS = { threshold: 0.2, probability: 1 };

/**
 * @param {Record<string, Value>} values of the samplers that are on, in their order
 * @param {{logits?: number[], step?: Parameters<typeof make_row>[1]} & Partial<State>} [more]
 */
function shown(values, { logits = FOUR, step, ...more } = {}) {
  const state = make_state({ row: make_row(logits, step), settings: settings_of(values), ...more });
  return { state, view: /** @type {View} */ (view_of(state)) };
}

/** @param {View} view */
const on = view => view.samplers.filter(sampler => sampler.on);

test('each point shows the scores at that stage', () => {
  const values = { repetition_penalty: 2, temperature: 0.5, top_k: 3, top_p: 0.98 };
  const at = (/** @type {number} */ point) => shown(values, { point }).view;
  assert.deepEqual(
    at(0).points.map(point => point.kind),
    ['logits', ...Array(4).fill('sampler'), 'softmax', 'draw'],
  );
  assert.deepEqual(
    [0, 3, 4, 6].map(point => at(point).kept),
    [4, 3, 2, 2],
  );
  // The text is token 1, and the penalty halves its score; the temperature doubles all scores.
  const scores = [
    [4, 3, 2, 1],
    [4, 2, 1.5, 1],
    [8, 4, 3, 2],
  ];
  for (const [point, expected] of scores.entries())
    assert.deepEqual(
      at(point).rows.map(row => row.score),
      expected,
    );
  assert.ok(at(4).rows.every(row => row.final_prob === null) && at(4).curve.final.every(each => each === null));
  assert.deepEqual(
    [4, 5, 6].map(point => at(point).draw !== null),
    [false, false, true],
  );
  assert.deepEqual(
    [0, 1, 2, 6].map(point => at(point).score_changes),
    [[], ['repetition_penalty'], ...Array(2).fill(['repetition_penalty', 'temperature'])],
  );
});

test('no level marks a share after a cut and a new order', () => {
  const [line] = shown({ top_k: 3, logit_bias: { bias: [[2, 9]] }, top_p: 0.99999 }).view.mass_lines;
  assert.deepEqual([line.level, line.is_share], [null, true]);
});

test('a forced token without a logit ranks last', () => {
  const step = { is_pending: false, chosen: 1, forced: true, u: null };
  const { state, view } = shown({ top_k: 2 }, { logits: [1, -Infinity, 3, 2], step, steps: [make_step(1)] });
  const { chosen } = view;
  assert.deepEqual([chosen?.rank, chosen?.prob, chosen?.final_prob], [4, 0, 0]);
  assert.equal(candidate(state, view, { id: 1, raw_rank: 4, logit: null })?.rank, 4);
  assert.equal(view.others.count, 0);
});

test('the view draws nothing without tokens or a row', () => {
  const { view } = shown({ top_k: 1, banned: { sequences: [[0]] }, top_p: 0.9 });
  assert.deepEqual([view.emptied_by, view.kept, view.draw], ['banned', 0, null]);
  assert.deepEqual(
    view.rows.map(row => row.removed_by),
    ['banned', 'top_k', 'top_k', 'top_k'],
  );
  assert.ok(view.rows.every(row => row.final_prob === 0) && view.cut?.kept === 0);
  assert.equal(view_of(make_state()), null, 'without a row');
});

test('a sampler that is off keeps its place', () => {
  const order = ['top_p', 'logit_bias', 'temperature', 'dry', 'top_k'];
  const off = { logit_bias: { bias: [] }, temperature: 1, dry: null };
  const { view } = shown({}, { settings: { order, ...off, top_p: 0.8, top_k: 3, min_p: 0.9 } });
  assert.deepEqual(
    view.samplers.map(({ name, on }) => (on ? name : `no ${name}`)),
    ['top_p', 'no logit_bias', 'no temperature', 'no dry', 'top_k'],
  );
  assert.deepEqual(
    view.samplers.map(sampler => sampler.after),
    [2, 2, 2, 2, 2],
  );
});

test('the engine’s remarks hold only for their own settings', () => {
  const settings = settings_of({ temperature: 0, top_k: 2 });
  const list = [{ name: 'top_k', reason: 'temperature 0 has already left a single token', has_effect: false }];
  const remarks = { settings, list };
  const { view } = shown({}, { settings, remarks });
  assert.equal(view.samplers[1].no_effect, list[0].reason);
  const moved = shown({ temperature: 0.5, top_k: 2 }, { remarks }).view;
  assert.equal(moved.samplers[1].no_effect, null);
});

// --- recorded steps -------------------------------------------------------------------------------

const RECORDED = settings_of({ temperature: 1, top_k: 2 });
const STEP = { is_pending: false, chosen: 1, u: 0.9, recorded_settings: RECORDED };
const TAKEN = [make_step(1, { probability: 0.2689, u: 0.9, survivors: 2 })];

test('a recorded step is shown with its own settings', () => {
  const { view } = shown({ temperature: 0.2, top_k: 2, min_p: 0 }, { step: STEP, steps: TAKEN });
  assert.deepEqual([view.as_recorded, view.what_if], [true, null]);
  assert.deepEqual(
    on(view).map(({ name, value }) => [name, value]),
    [['top_k', 2]],
  );
  assert.deepEqual(
    view.samplers.map(sampler => sampler.name),
    ['temperature', 'top_k', 'min_p'],
  );
  assert.ok(Math.abs(Number(view.chosen?.final_prob) - 0.2689) < 1e-4);
  assert.deepEqual([view.draw?.id, view.draw?.same], [1, true]);
});

test('a what-if also tells the actual outcome', () => {
  const { view } = shown({ temperature: 0.2, top_k: 2 }, { step: STEP, steps: TAKEN, is_what_if: true });
  assert.equal(view.as_recorded, false);
  assert.deepEqual([view.draw?.id, view.draw?.same], [0, false]);
  const { id, label, probability, u, survivors, changed } = view.what_if ?? {};
  assert.deepEqual(
    { id, label, probability, u, survivors, changed },
    { id: 1, label: '␣the', probability: 0.2689, u: 0.9, survivors: 2, changed: ['temperature'] },
  );
  assert.deepEqual(
    view.rows.filter(row => row.chosen || row.drawn).map(row => [row.id, row.chosen, row.drawn]),
    [
      [0, false, true],
      [1, true, false],
    ],
  );
  // With the step's recorded settings, nothing is a what-if.
  assert.equal(shown({ temperature: 1, top_k: 2 }, { step: STEP, steps: TAKEN, is_what_if: true }).view.what_if, null);
  // A different order is a different chain.
  const turned = { ...STEP, recorded_settings: settings_of({ top_k: 2, top_p: 0.9 }) };
  const other = shown({ top_p: 0.9, top_k: 2 }, { step: turned, steps: TAKEN, is_what_if: true }).view;
  assert.deepEqual(other.what_if?.changed.toSorted(), ['top_k', 'top_p']);
});

test('the previous row stays until the row for the new scale arrives', () => {
  const at = (/** @type {Partial<State>} */ more) =>
    shown({}, { step: { ...STEP, scale: 2, recorded_scale: 2 }, steps: TAKEN, ...more }).view;
  assert.deepEqual([at({ guidance_scale: 3 }).missing, at({ guidance_scale: 3 }).is_guided], [null, true]);
  assert.equal(at({ guidance_scale: 3, is_what_if: true }).missing, 'guidance');
  assert.equal(at({ guidance_scale: 2, is_what_if: true }).missing, null);
  const moved = { ...STEP, scale: 3, recorded_scale: 2 };
  const { view } = shown(
    { temperature: 1, top_k: 2 },
    { step: moved, steps: TAKEN, is_what_if: true, guidance_scale: 3 },
  );
  assert.deepEqual([view.missing, view.what_if?.is_scale_changed, view.what_if?.changed], [null, true, []]);
});

test('manual mode proposes the token that would be drawn', () => {
  const view = shown({}, { step: { u: 0.9 }, manual: true }).view;
  assert.deepEqual([view.chosen?.id, view.draw?.id], [2, 2]);
  assert.equal(shown({}, { step: { u: 0.9 } }).view.chosen, null);
  assert.equal(shown({ temperature: 0 }, { manual: true }).view.chosen?.id, 0);
});

test('unlabelled lists the tokens on screen without a label', () => {
  const { state, view } = shown({}, { step: { labels: new Map([[0, 'a']]) } });
  assert.deepEqual([...new Set(unlabelled(state, view))].sort(), [1, 2, 3]);
  assert.equal(view.rows[1].label, 'id 1');
});

// --- samplers that only the server computes -------------------------------------------------------

/** @type {Scene['table']} */
const WITH_MADE_UP = (() => {
  const { table } = make_state();
  const made_up = {
    ...table.samplers.find(({ name }) => name === 'top_k'),
    name: 'made_up',
    label: 'Made up',
    in_text: 'made up',
  };
  return {
    ...table,
    samplers: [...table.samplers, /** @type {Scene['table']['samplers'][number]} */ (made_up)],
    order: [...table.order, 'made_up'],
  };
})();
const OUTCOME = {
  survivors: 2,
  mass_removed: 0.12,
  entropy_bits: 0.84,
  highest: Math.fround(Math.log(0.4)),
  mass: 1.3679,
  figures: { before: 4, after: 2 },
  case: '',
  kept: /** @type {const} */ ('window'),
  first: 0,
};
const LIKELY = { name: 'top_p', value: 0.999, ...OUTCOME, survivors: 4, mass: 1.5532 };

test('the last complete settings stay until the server computes a sampler', () => {
  const outcomes = [LIKELY, { name: 'made_up', value: 2, ...OUTCOME }];
  const settings = settings_of({ top_p: 0.999, made_up: 2 });
  const row = make_row(FOUR, { shaped: { settings, outcomes, draw: null, default_order: null } });
  const at = (/** @type {Record<string, Value>} */ values) =>
    /** @type {View} */ (make_view(make_state({ table: WITH_MADE_UP, row, settings: settings_of(values) })));
  const first = at({ top_p: 0.999, made_up: 2 });
  assert.deepEqual([first.missing, first.kept], [null, 2]);
  const moved = at({ top_p: 0.999, made_up: 3 });
  assert.deepEqual([moved.missing, moved.kept, moved.settings.made_up], ['made_up', 2, 2]);
  // The samplers before it are computed here; after a different chain, its outcome does not hold.
  assert.equal(at({ top_p: 0.5, made_up: 2 }).missing, 'made_up');
  assert.equal(at({ top_p: 0.5 }).missing, null);
});

test('the view shows the stages before a sampler without results', () => {
  const row = make_row(FOUR);
  const state = make_state({ table: WITH_MADE_UP, row, settings: settings_of({ top_k: 3, made_up: 2 }) });
  const view = /** @type {View} */ (make_view(state));
  assert.deepEqual(
    [view.missing, view.kept, view.points.map(point => point.name)],
    ['made_up', 3, ['raw', 'top_k', 'renormalised', 'drawn']],
  );
});

// --- remembered settings --------------------------------------------------------------------------

test('the view does not depend on earlier settings', () => {
  const logits = Array.from({ length: 300 }, (_, id) => 8 * Math.sin(id * id));
  /** @type {Record<string, Value>[]} */
  const moves = [
    { logit_bias: { bias: [[3, 2]] }, temperature: 0.7, typical_p: 0.8, xtc: ALWAYS },
    { temperature: 0.7, typical_p: 0.8, xtc: ALWAYS },
    { logit_bias: { bias: [[3, 2]] }, typical_p: 0.8, temperature: 0.7, xtc: ALWAYS },
    { logit_bias: { bias: [[3, 2]] }, temperature: 1.3, typical_p: 0.8, xtc: ALWAYS, top_k: 5 },
    { logit_bias: { bias: [[3, 2]] }, temperature: 0.7, typical_p: 0.8, xtc: ALWAYS },
  ];
  const row = make_row(logits);
  for (const values of moves) {
    const settings = settings_of(values);
    assert.deepEqual(view_of(make_state({ row, settings })), view_of(make_state({ row: make_row(logits), settings })));
  }
});

test('equal tokens at an exact edge are ordered by id', () => {
  const equal = logits_of(0.25, 0.25, 0.25, 0.25);
  const { view } = shown({ top_p: 0.5 }, { logits: equal });
  assert.deepEqual(
    view.rows.filter(row => !row.removed_by).map(row => row.id),
    [0, 1],
  );
  assert.deepEqual(
    [0, 0.25, 0.5, 0.75].map(u => shown({}, { logits: equal, step: { u } }).view.draw?.id),
    [0, 1, 2, 3],
  );
});
