// What is tried to let a removed token in: for every setting with a card, the values it could have instead, the
// nearest first.

import { stage_of } from '../words/catalogue.js';
import { is_on, OFF } from '../kernel/chain.js';
import { completed } from '../kernel/rules_edit.js';

const [UP, DOWN] = [1, -1];

/** The direction in which a stage of one number takes less away. */
const LOOSER = {
  temperature: UP,
  top_h: UP,
  top_k: UP,
  top_p: UP,
  typical_p: UP,
  top_n_sigma: UP,
  tail_free: UP,
  no_repeat_ngram: UP,
  min_p: DOWN,
  epsilon_cutoff: DOWN,
  eta_cutoff: DOWN,
};

/** The same of the fields of the others; mirostat's rate is left out, as it only moves the steps to come. */
const LOOSER_FIELDS = {
  dry: { multiplier: DOWN, base: DOWN, allowed_length: UP, last_n: DOWN },
  dynamic_temperature: { low: UP, high: UP, exponent: DOWN },
  xtc: { threshold: UP, probability: DOWN },
  mirostat: { tau: UP },
};

// Penalties that a token of the text, or of what was generated, wants lower, and any other one higher.
const PENALTIES = { repetition_penalty: 'seen', presence_penalty: 'counts', frequency_penalty: 'counts' };

// Off lies beyond the slider's loose end, not on the slider.
const OFF_BEYOND = ['top_h', 'top_k', 'top_n_sigma', 'no_repeat_ngram'];

const SPANS = { repetition_penalty: 1.5 }; // where more is tried than a slider's own way
const FAR_BIASES = [12, 15, 20, 30, 50, 100, 200, 500, 1000]; // behind the end of the slider
const FEW = 1000; // possible tokens up to which each value of top-k is tried
const LIFTED = 0.5; // what lifting a ban counts as, between a moved slider and a stage that is off

// With these behind it, more of a tail cut or of a temperature never costs a token its place: the first value
// that admits is then found by halving. Thresholds on the probability itself are no such stages: they are
// missed by a token whose share falls as others come back.
const MONOTONE = [
  'temperature',
  'top_h',
  'top_k',
  'top_p',
  'min_p',
  'epsilon_cutoff',
  'eta_cutoff',
  'top_n_sigma',
  'tail_free',
];
const HARMLESS_BEHIND = ['temperature', 'top_k', 'top_p', 'min_p'];

const rounded = value => Number(value.toFixed(6));

/** Every position of a field's slider. */
function slider_positions({ low, high, step }) {
  const length = Math.floor((high - low) / step + 1e-6) + 1;
  return Array.from({ length }, (_, place) => rounded(low + place * step));
}

/** One digit at a time between two powers of ten: 1e-8, 2e-8, ..., 9e-5. */
function digits(from, to) {
  const found = [];
  for (let power = from; power < to; power++) {
    for (let digit = 1; digit <= 9; digit++) found.push(Number(`${digit}e${power}`));
  }
  return found;
}

/** What a stage of one number could be set to; ascending, without an off value that lies beyond the end. */
function positions(setting, { row }) {
  const [field] = stage_of(setting).fields;
  const own = slider_positions(field).filter(
    value => !OFF_BEYOND.includes(setting) || value !== OFF[setting],
  );
  if (setting === 'repetition_penalty')
    return [...slider_positions({ ...field, low: 0.5, high: 0.99 }), ...own];
  if (setting === 'epsilon_cutoff' || setting === 'eta_cutoff') {
    return [0, ...digits(-8, -4), ...own.slice(1), ...digits(-2, 0).slice(1)];
  }
  if (setting !== 'top_k') return own;
  const last = row.possible - 1; // of as many as there are, none goes
  const near = row.possible <= FEW ? last : Math.min(last, field.high);
  const values = Array.from({ length: near }, (_, place) => place + 1);
  for (let value = near * 1.05; near && value < last; value *= 1.05) values.push(Math.round(value));
  return values;
}

/** How far a slider moves, as a share of its way. */
function travelled(setting, from, to, { row }) {
  if (setting === 'top_k') {
    return Math.abs(Math.log2((to || row.vocab) / (from || row.vocab))) / Math.log2(row.vocab);
  }
  if (setting === 'epsilon_cutoff' || setting === 'eta_cutoff') {
    return Math.abs(Math.log10((from || 1e-9) / (to || 1e-9))) / 9;
  }
  const [{ low, high }] = stage_of(setting).fields;
  const is_beyond = value => OFF_BEYOND.includes(setting) && value === OFF[setting];
  if (is_beyond(to)) return 1;
  return Math.abs(to - (is_beyond(from) ? high : from)) / (SPANS[setting] ?? high - low);
}

/** Values to try, each with how far it is: {setting, length, at(place) -> {value, travel, ...}}. */
const listed = (setting, tries, more = {}) => ({
  setting,
  length: tries.length,
  at: place => tries[place],
  ...more,
});

/** Those of ascending values that lie in a direction from one, the nearest first. */
function beyond(values, from, direction) {
  const found = values.filter(value => direction * (value - from) > 1e-9);
  return direction > 0 ? found : found.reverse();
}

/** Whether halving finds the first value that admits. */
function is_monotone(setting, { settings }, order) {
  const later = order.slice(order.indexOf(setting) + 1).filter(name => is_on(settings, name));
  return MONOTONE.includes(setting) && later.every(name => HARMLESS_BEHIND.includes(name));
}

/** A stage of one number: {looser, tighter}, each a list. */
function of_number(setting, state, { id, order, context, entering }) {
  const own = state.settings[setting] ?? OFF[setting];
  const is_off_beyond = OFF_BEYOND.includes(setting);
  const from = is_off_beyond && own === OFF[setting] ? Infinity : own;
  const penalised = PENALTIES[setting];
  const direction = penalised ? (context[penalised].has(id) ? DOWN : UP) : LOOSER[setting];
  const as_try = value => ({ value, travel: travelled(setting, own, value, state) });
  const is_halved = is_monotone(setting, state, order);
  const looser = () => {
    if (from === Infinity) return [];
    const tries = beyond(positions(setting, state), from, direction).map(as_try);
    return is_off_beyond ? [...tries, as_try(OFF[setting])] : tries;
  };
  const every_k = () => {
    // each one, as halving looks at a few of them only
    const length = own ? Math.max(0, state.row.possible - own) : 0;
    const at = place => as_try(place === length - 1 ? OFF.top_k : own + 1 + place);
    return { setting, length, at, is_halved };
  };
  // The least k that lets the token through its own stage may lie between those tried.
  const with_entering = tries => {
    const needed = entering(setting);
    if (!(needed > from) || needed >= state.row.possible) return tries;
    return [...tries, as_try(needed)].sort((one, other) => one.travel - other.travel);
  };
  const tighter = beyond(positions(setting, state), from, -direction).map(as_try);
  if (setting !== 'top_k') {
    return { looser: listed(setting, looser(), { is_halved }), tighter: listed(setting, tighter) };
  }
  if (is_halved) return { looser: every_k(), tighter: with_gaps(tighter, own, as_try, state) };
  return {
    looser: with_gaps(with_entering(looser()), own, as_try, state),
    tighter: with_gaps(tighter, own, as_try, state),
  };
}

/** Values of top-k with what lies between each and the one before, where not every k is tried. */
function with_gaps(tries, own, as_try, { row }) {
  const number = value => value || row.possible;
  const gap = place => {
    const from = number(place ? tries[place - 1].value : own);
    const to = number(tries[place].value);
    const length = Math.abs(to - from);
    const at = each =>
      each === length - 1 ? tries[place] : as_try(from + Math.sign(to - from) * (each + 1));
    return { setting: 'top_k', length, at };
  };
  return listed('top_k', tries, { gap });
}

/** One field of a stage that has several: {looser, tighter}. */
function of_field(setting, { name, low, high, step }, value, direction) {
  const span = high - low;
  const values = slider_positions({ low, high, step });
  const is_allowed = changed => setting !== 'dynamic_temperature' || changed.low <= changed.high;
  const towards = way =>
    beyond(values, value[name], way)
      .map(number => ({
        value: { ...value, [name]: number },
        field: name,
        travel: Math.abs(number - value[name]) / span,
      }))
      .filter(each => is_allowed(each.value));
  return { looser: listed(setting, towards(direction)), tighter: listed(setting, towards(-direction)) };
}

const switched_off = setting => listed(setting, [{ value: OFF[setting], travel: 1 }]);

/** The end of a text is ruled out or not: nothing lies between. */
function of_min_new_tokens({ settings, row, steps }) {
  const setting = 'min_new_tokens';
  const generated = Math.min(row.index, steps.length);
  const lifted = [{ value: generated || OFF.min_new_tokens, travel: 1 }];
  const imposed = [{ value: generated + 1, travel: 1 }];
  const is_active = settings.min_new_tokens > generated;
  return {
    looser: listed(setting, is_active ? lifted : []),
    tighter: listed(setting, is_active ? [] : imposed),
  };
}

/** Another bias for the token itself; those of other tokens only all at once. */
function of_bias({ settings }, id) {
  const setting = 'logit_bias';
  const [field] = stage_of(setting).fields;
  const pairs = settings.logit_bias?.bias ?? [];
  const own = pairs.find(([each]) => each === id)?.[1] ?? 0;
  const values = [...FAR_BIASES.map(value => -value).reverse(), ...slider_positions(field), ...FAR_BIASES];
  const with_bias = number => {
    const others = pairs.filter(([each]) => each !== id);
    const changed = number ? [...others, [id, number]].sort(([one], [other]) => one - other) : others;
    return changed.length ? { bias: changed } : null;
  };
  const towards = way =>
    listed(
      setting,
      beyond(values, own, way).map(number => ({
        value: with_bias(number),
        bias: number,
        travel: Math.abs(number - own) / (field.high - field.low),
      })),
    );
  return { looser: towards(UP), tighter: towards(DOWN), off: pairs.length ? switched_off(setting) : null };
}

/** Without the words that would be complete with the token here. */
function of_bans({ settings }, id, context) {
  const { sequences } = settings.banned;
  const bans = sequence => sequence.at(-1) === id && completed([sequence], context).length > 0;
  const rest = sequences.filter(sequence => !bans(sequence));
  if (rest.length === sequences.length) return null;
  const value = rest.length ? { sequences: rest } : null;
  return listed('banned', [{ value, travel: LIFTED, is_lifted: true }]);
}

/**
 * For every setting with a card, what else it could be.
 *
 * @param {object} state
 * @param {{id: number, order: string[], context: Context, entering: (setting: string) => number}} about the
 *   token, the cards, the text, and as which of those in the race the token comes to a stage
 * @returns {{looser: object[], tighter: object[]}} lists of values, of which `looser` take less away: further
 *   along a slider, off, a ban lifted
 */
export function values_to_try(state, about) {
  const { settings } = state;
  const found = { looser: [], tighter: [] };
  const add = ({ looser, tighter }) => {
    found.looser.push(looser);
    found.tighter.push(tighter);
  };
  for (const setting of about.order) {
    const { editor, fields } = stage_of(setting);
    if (setting === 'min_new_tokens') add(of_min_new_tokens(state));
    else if (editor === 'number') add(of_number(setting, state, about));
    else if (setting === 'logit_bias') {
      const { off, ...lists } = of_bias(state, about.id);
      add(lists);
      if (off) found.looser.push(off);
    } else if (is_on(settings, setting)) {
      const directions = LOOSER_FIELDS[setting] ?? {};
      for (const field of fields) {
        const direction = directions[field.name];
        if (direction) add(of_field(setting, field, settings[setting], direction));
      }
      const lifted = setting === 'banned' ? of_bans(state, about.id, about.context) : null;
      if (lifted) found.looser.push(lifted);
      found.looser.push(switched_off(setting));
    }
  }
  return { looser: kept(found.looser), tighter: kept(found.tighter) };
}

const kept = lists => lists.filter(({ length }) => length > 0);
