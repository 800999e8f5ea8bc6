// States and rows for tests: small vocabularies with answers simple enough to verify.

import { new_state } from '../../../ui/components/js/apps/step/state.js';
import { make_view } from '../../../ui/components/js/view/view.js';
import { settings_on_show } from '../../../ui/components/js/view/what_if.js';
import { table } from './chains.js';
import { shaped_by_engine } from './engine.js';
import { row_of } from './vectors.js';

/**
 * @import { Row, RowExtras, Scene, State, Step, StepOnScreen, Value } from '../../../ui/components/js/types.js'
 */

/** Words for ids from 0 on; higher ids have no label. */
export const LABELS = ['␣Paris', '␣the', '␣a', '␣London', '⏎', '<b>', '␣is', 'مرحبا'];

/**
 * Return a row of these logits, by id, as the server would pack it.
 *
 * @param {number[]} logits -Infinity for impossible tokens
 * @param {Partial<StepOnScreen & RowExtras>} [step]
 * @returns {Row}
 */
export function make_row(logits, step = {}) {
  const scores = Float32Array.from(logits);
  const ids = [...scores.keys()].filter(id => scores[id] > -Infinity);
  ids.sort((one, other) => scores[other] - scores[one] || one - other);
  const values = [...new Set(ids.map(id => scores[id]))];
  const packed = {
    vocab: logits.length,
    possible: ids.length,
    exact: true,
    values: Float32Array.from(values),
    counts: Uint32Array.from(values, value => ids.filter(id => scores[id] === value).length),
    ids: Uint16Array.from(ids),
  };
  return row_of(packed, { labels: new Map(LABELS.entries()), u: 0.5, ...step });
}

/** Return the logits of these probabilities. @param {...number} probs */
export const logits_of = (...probs) => probs.map(prob => Math.log(prob));

/** Return a step as the server reports it. @param {number} id @param {Partial<Step>} [more] @returns {Step} */
export const make_step = (id, more = {}) => ({
  id,
  label: LABELS[id] ?? `id ${id}`,
  text: (LABELS[id] ?? '').replace('␣', ' '),
  special: false,
  partial: false,
  forced: false,
  probability: 0.5,
  model_probability: 0.5,
  rank: 1,
  u: 0.5,
  stage_states: [],
  entropy: 1,
  model_entropy: 1,
  survivors: 4,
  forward_ms: 3,
  shape_ms: 0.2,
  draw_ms: 0.1,
  total_ms: 3.3,
  is_prefill: false,
  reused: false,
  network_ms: null,
  negative_forward_ms: null,
  negative_cache_bytes: null,
  guidance_scale: null,
  positions: 9,
  cache_bytes: 9216,
  cache_bytes_held: 16384,
  formula_bytes: 9216,
  ...more,
});

/**
 * Return a page with a text, before its next step.
 *
 * @param {Partial<State>} [changes]
 * @returns {State}
 */
export const make_state = (changes = {}) => ({
  ...new_state(),
  labels: changes.row?.labels ?? new Map(),
  table,
  settings: {
    order: table.first,
    ...Object.fromEntries(table.samplers.map(({ name, off }) => [name, off])),
    seed: 0,
  },
  row_count: 15,
  visit: 'v',
  run: 'r',
  branch: 1,
  model: {
    name: 'test',
    source: 'test',
    vocab_size: 8,
    listed: null,
    gives_rows: false,
    has_logits: true,
    context_length: 1024,
    eos_ids: [],
    line_break_ids: [],
    has_chat_template: false,
  },
  prompt: 'the',
  prompt_tokens: [{ id: 1, label: '␣the', special: false }],
  ...changes,
});

/**
 * Return the settings of a page with these samplers on, in this order.
 *
 * @param {Record<string, Value>} values
 */
export const settings_of = values => ({ order: Object.keys(values), ...values, seed: 0 });

/** Four tokens with probabilities .4 .3 .2 .1: “␣Paris”, “␣the”, “␣a”, “␣London”. */
export const FOUR = logits_of(0.4, 0.3, 0.2, 0.1);

/**
 * Return a page before its next step, with its scores and the results of these samplers.
 *
 * @param {Record<string, Value>} [values] samplers in their order
 * @param {{logits?: number[], step?: Parameters<typeof make_row>[1]} & Partial<State>} [more] `step` belongs to the row
 * @returns {State}
 */
export function shown(values = {}, { logits = FOUR, step, ...more } = {}) {
  const state = make_state({ row: make_row(logits, step), settings: settings_of(values), ...more });
  state.view = view_of(state);
  return state;
}

/**
 * Return the view of a scene, including the results that the browser does not compute.
 *
 * @param {Scene} scene
 */
export function view_of(scene) {
  const { row } = scene;
  const view = make_view(scene);
  if (!row || !view?.missing) return view;
  row.shaped = shaped_by_engine(scene, settings_on_show({ ...scene, row }));
  return make_view(scene);
}

/**
 * Return the same for a completed step: token 1, “␣the”, unless `step.chosen` says otherwise.
 *
 * @param {Record<string, Value>} [values]
 * @param {Parameters<typeof shown>[1] & {taken?: Partial<Step>}} [more] `taken`: figures of the step
 */
export function recorded(values = {}, { taken = {}, step = {}, ...more } = {}) {
  const chosen = step.chosen ?? 1;
  const recorded_settings = settings_of(values);
  return shown(values, {
    steps: [make_step(chosen, taken)],
    ...more,
    step: { is_pending: false, chosen, forced: taken.forced ?? false, recorded_settings, ...step },
  });
}

/**
 * Return the same under guidance at a scale: after the prompt .4 .3 .2 .1, after the negative prompt .7 .1 .1 .1.
 *
 * @param {number} guidance_scale
 * @param {Record<string, Value>} [values]
 */
export function guided(guidance_scale, values = {}) {
  const alone = [logits_of(0.4, 0.3, 0.2, 0.1), logits_of(0.7, 0.1, 0.1, 0.1)];
  const scores = alone[0].map((prompt, id) => alone[1][id] + guidance_scale * (prompt - alone[1][id]));
  const total = scores.reduce((sum, score) => sum + Math.exp(score), 0);
  const guided_scores = scores.map(score => score - Math.log(total));
  /** @type {(row: number[], id: number) => [number, number]} */
  const standing = (row, id) => [
    1 + row.filter((score, other) => score > row[id] || (score === row[id] && other < id)).length,
    Math.exp(row[id]),
  ];
  const compared = [0, 1, 2, 3].map(
    id =>
      /** @type {[number, ...[number, number][]]} */ ([id, ...[guided_scores, ...alone].map(row => standing(row, id))]),
  );
  compared.sort(([, [one]], [, [other]]) => one - other);
  const row = make_row(scores, { scale: guidance_scale, compared });
  const negative_tokens = [{ id: 1, label: 'sad', special: false }];
  return shown(values, { row, guidance_scale, negative_prompt: 'sad', negative_tokens });
}

/** Remove the isolates around tokens from a text. @param {string | null | undefined} text */
export const bare = text => (text ?? '').replace(/[\u2068\u2069]/g, '');
