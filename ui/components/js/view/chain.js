// The chain of a state's settings over its row: what views, searches and traces start from.

import { Context, is_same_value } from '../kernel/context.js';
import { chain_of, is_same_chain, shape } from '../kernel/shape.js';

/**
 * What the state's chain makes of its row.
 *
 * @param {object} state
 * @param {object|null} [changes] other settings, for a trial that leaves what is remembered alone
 */
export function shape_of(state, changes = null) {
  const { row, settings } = state;
  const chain = chain_of(changes ? { ...settings, ...changes } : settings);
  const figures = changes ? null : engine_figures(row, chain);
  return shape(row, chain, { context: context_of(state), figures, keep: changes ? null : 'main' });
}

/** What another chain makes of the row; remembered apart, as it is asked for again. */
export const shape_other = (state, chain) =>
  shape(state.row, chain, { context: context_of(state), keep: 'other' });

/** The engine's results by stage, where the browser has only bins, and both have the same settings. */
function engine_figures(row, chain) {
  if (row.exact || !row.engine_stages) return null;
  return is_same_chain(chain, chain_of(row.engine_settings)) ? row.engine_stages : null;
}

/** Whether the settings, and the scale of guidance, are those that the step was taken with. */
export const is_as_recorded = ({ row, settings }) =>
  !row.recorded_settings ||
  (is_same_chain(chain_of(settings), chain_of(row.recorded_settings)) && has_same_scale(row));

const has_same_scale = ({ guidance, scale, recorded_scale }) => !guidance || scale === recorded_scale;

/** Whether the row came with the number that its step is drawn with. */
export const has_u = row => row.u !== null && row.u !== undefined;

/** Whether the most likely token is simply taken. */
export const is_greedy = ({ stages }) =>
  stages.some(({ name, value }) => name === 'temperature' && value === 0);

// By the array of scores, so that a copy of the row object finds it as well.
const CONTEXTS = new WeakMap();

/** The text in front of the row's step, and what else belongs to the step. */
export function context_of({ row, prompt_tokens, steps, model }) {
  const prompt_length = prompt_tokens.length;
  const length = prompt_length + Math.min(row.index, steps.length);
  const { xtc_u = null, mirostat = null } = row; // what the step before left, whatever the cards stand at now
  const known = CONTEXTS.get(row.values);
  const is_same =
    known &&
    known.token_ids.length === length &&
    known.prompt_length === prompt_length &&
    known.xtc_u === xtc_u &&
    is_same_value(known.mirostat, mirostat);
  if (is_same) return known;
  const token_ids = [...prompt_tokens, ...steps.slice(0, row.index)].map(token => token.id);
  const context = new Context(token_ids, { prompt_length, eos_ids: model?.eos_ids ?? [], xtc_u, mirostat });
  CONTEXTS.set(row.values, context);
  return context;
}
