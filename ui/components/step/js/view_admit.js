// What would let a removed token in: the smallest change of one setting. Every answer is a trial that went
// well: the chain is run with it.

import { chain_of, OFF } from './shape.js';
import { context_of, shape_of } from './view_chain.js';

/** How far each slider goes, to compare changes of different settings. */
const WAY = {
  repetition_penalty: 1.5,
  presence_penalty: 4,
  frequency_penalty: 4,
  no_repeat_ngram: 10,
  temperature: 2,
  top_h: 1,
  top_p: 1,
  min_p: 1,
  typical_p: 1,
  top_n_sigma: 5,
  tail_free: 1,
  xtc: 0.5,
};

// Settings of which more is always better for a token, so that the first that admits is found by halving.
const MONOTONE = ['temperature', 'top_k', 'top_p', 'min_p', 'epsilon_cutoff', 'eta_cutoff', 'top_n_sigma'];

// Cuts of which more is less, so that off lies beyond the slider's far end.
const OFF_BEYOND_THE_END = ['no_repeat_ngram', 'top_h', 'top_n_sigma'];

const NOTHING = { length: 0 };

/**
 * The smallest change of one setting that would let a removed token survive; null where it survives, or
 * where no such change is found.
 *
 * @param {object} state
 * @param {{id: number, raw_rank: number, logit: number|null}} token as a search found it
 * @returns {{setting: string, value: number|object|null, field?: string}|null} `field` is the one field that
 *   differs, where the value has several
 */
export function admit(state, { id, raw_rank, logit }) {
  const { row, settings } = state;
  if (raw_rank < 1 || raw_rank > row.possible || !Number.isFinite(logit)) return null;
  const survives = shaped => shaped.trace(raw_rank).at(-1) > 0;
  if (survives(shape_of(state))) return null;
  let best = null;
  for (const [setting, values] of Object.entries(looser(state, id))) {
    const admits = place => survives(shape_of(state, { [setting]: values.at(place) }));
    const find = MONOTONE.includes(setting) ? first : first_of_all;
    const place = find(values.length, admits);
    if (place === null) continue;
    const value = values.at(place);
    const travel = travelled(setting, settings[setting], value, row.vocab);
    if (!best || travel < best.travel) best = { setting, value, travel, field: values.field };
  }
  if (!best) return null;
  const { setting, value, field } = best;
  return field ? { setting, value, field } : { setting, value };
}

/** The first place that admits, where whatever lies beyond one that admits does too; null if none does. */
function first(length, admits) {
  if (!length || !admits(length - 1)) return null;
  let [low, high] = [0, length - 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (admits(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The same for settings that move other tokens too: more need not mean better. */
function first_of_all(length, admits) {
  for (let place = 0; place < length; place++) if (admits(place)) return place;
  return null;
}

/** Values in steps of a slider, from the next one after `from` to `to`: {length, at(place)}. */
function notches(from, to, step) {
  const direction = Math.sign(to - from);
  const first = direction > 0 ? Math.floor(from / step + 1e-6) + 1 : Math.ceil(from / step - 1e-6) - 1;
  const length = direction * (Math.round(to / step) - first) + 1;
  const at = place => Number(((first + direction * place) * step).toFixed(2));
  return { length: direction ? Math.max(0, length) : 0, at };
}

/** One digit at a time towards 0, which is off: 0.0025, 0.002, 0.001, 0.0009, ... */
function ever_smaller(from) {
  const values = [];
  for (let power = Math.floor(Math.log10(from)); power >= -8; power--) {
    for (let digit = 9; digit >= 1; digit--) {
      const value = Number(`${digit}e${power}`);
      if (value < from) values.push(value);
    }
  }
  return listed([...values, 0]);
}

const listed = values => ({ length: values.length, at: place => values[place] });

/** More values after the others. */
const and_then = (values, last) => ({
  length: values.length + 1,
  at: place => (place < values.length ? values.at(place) : last),
});

const shares_up = value => notches(value, 1, 0.01);

/** By setting: (value, state, id) -> the values to try, from the least change on. */
const LOOSER = {
  // A token of the context is held down by the penalty, any other is helped by it.
  repetition_penalty: (value, state, id) =>
    towards(value, context_of(state).seen.has(id) ? 0.5 : 2),
  presence_penalty: (value, state, id) => towards(value, context_of(state).counts.has(id) ? -2 : 2),
  frequency_penalty: (value, state, id) => towards(value, context_of(state).counts.has(id) ? -2 : 2),
  no_repeat_ngram: value => and_then(notches(value, Math.max(value, 10), 1), OFF.no_repeat_ngram),
  min_new_tokens: (value, state) => {
    const generated = Math.min(state.row.index, state.steps.length);
    return listed([generated || OFF.min_new_tokens]);
  },
  temperature: value => (value < 2 ? notches(value, 2, 0.05) : NOTHING),
  top_h: value => and_then(shares_up(value), OFF.top_h),
  top_k: (value, { row }) => {
    const length = row.possible - value;
    return { length, at: place => (place === length - 1 ? OFF.top_k : value + 1 + place) };
  },
  top_p: shares_up,
  min_p: value => notches(value, OFF.min_p, 0.01),
  typical_p: shares_up,
  epsilon_cutoff: ever_smaller,
  eta_cutoff: ever_smaller,
  top_n_sigma: value => and_then(value < 5 ? notches(value, 5, 0.05) : NOTHING, OFF.top_n_sigma),
  tail_free: shares_up,
  // Fewer tokens are top choices; beyond one half there are none.
  xtc: value => {
    const { length, at } = value.threshold <= 0.5 ? notches(value.threshold, 0.51, 0.01) : NOTHING;
    return { length, at: place => ({ ...value, threshold: at(place) }), field: 'threshold' };
  },
};

// These two may help a token though they are off: one scales all scores, the other moves its rivals.
const HELPS_FROM_OFF = ['repetition_penalty', 'temperature'];

function towards(value, end) {
  const is_before = end > value ? value < end : value > end;
  return is_before ? notches(value, end, 0.05) : NOTHING;
}

/** For each setting that may let a token in: the values to try, from the least change on. */
function looser(state, id) {
  const { settings } = state;
  const on = chain_of(settings).map(({ name }) => name);
  const has_card = name => settings.order?.includes(name) ?? true;
  const names = Object.keys(LOOSER).filter(
    name => on.includes(name) || (HELPS_FROM_OFF.includes(name) && has_card(name)),
  );
  return Object.fromEntries(names.map(name => [name, LOOSER[name](settings[name], state, id)]));
}

/** How far a slider moves, as a share of its way. */
function travelled(setting, from, to, vocab) {
  if (setting === 'top_k') return Math.log2((to || vocab) / from) / Math.log2(vocab);
  if (setting === 'epsilon_cutoff' || setting === 'eta_cutoff') return Math.log10(from / (to || 1e-9)) / 9;
  if (setting === 'xtc') return (to.threshold - from.threshold) / WAY.xtc;
  if (setting === 'min_new_tokens') return 1;
  if (to === OFF[setting] && OFF_BEYOND_THE_END.includes(setting)) return 1;
  return Math.abs(to - from) / WAY[setting];
}
