// Settings -> the chain: which stages are on, in which order they apply.

import { is_same_value } from './context.js';

/** Of every stage, in the default order, the value that leaves it out of the chain. */
export const OFF = {
  logit_bias: null,
  repetition_penalty: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  dry: null,
  no_repeat_ngram: 0,
  banned: null,
  min_new_tokens: 0,
  temperature: 1,
  dynamic_temperature: null,
  top_h: null,
  top_k: 0,
  top_p: 1,
  min_p: 0,
  typical_p: 1,
  epsilon_cutoff: 0,
  eta_cutoff: 0,
  top_n_sigma: 0,
  tail_free: 1,
  xtc: null,
  mirostat: null,
};

/** The order in which the stages apply where a person has not chosen another. */
export const DEFAULT_ORDER = Object.keys(OFF);

/** Whether a stage is on: its value is there, not the one that switches it off, and not an empty list. */
export function is_on(settings, name) {
  const value = settings[name] ?? OFF[name];
  if (!(name in OFF) || value === OFF[name]) return false;
  const fields = typeof value === 'object' ? Object.values(value) : [];
  return !(fields.length === 1 && Array.isArray(fields[0]) && fields[0].length === 0);
}

/** The stages that are on, in the order of the cards (without one, the default): [{name, value}]. */
export const chain_of = settings =>
  (settings.order ?? DEFAULT_ORDER)
    .filter(name => is_on(settings, name))
    .map(name => ({ name, value: settings[name] }));

/** Whether two chains have the same stages with the same values in the same order. */
export const is_same_chain = (one, other) =>
  one.length === other.length && one.every((stage, place) => is_same_stage(stage, other[place]));

const is_same_stage = (one, other) => one.name === other.name && is_same_value(one.value, other.value);
