// One sampler's effect on the tokens before it. Temperature, top-k, top-p and min-p are previewed here, so that their
// sliders respond at once. For every other sampler the server's engine has sent its effect, see
// ui/components/outcomes.py.

import { Ranking, Survivors } from './ranking.js';
import { id_of } from './row.js';

/**
 * @import { Fields, Kind, Link, Outcome } from '../types.js'
 *
 * @typedef {{id: number, raw: number, value: number}} Came a token with a new score, by its raw rank
 *
 * @typedef {object} Made a sampler's result for the tokens before it
 * @property {Survivors} after
 * @property {string} case which of its sentences applies
 * @property {Kind} kind the kind of action; greedy is a cut
 * @property {(score: number, raw: number) => number} score a token's score after it
 * @property {boolean} changes_odds whether it changed the odds of the remaining tokens
 *
 * @typedef {Made & {name: string, value: number | Fields, before: Survivors, told?: Outcome, mass_removed: number,
 *   figures: Record<string, number | null>}} Stage a sampler in its chain. `mass_removed`: removed share of the prior
 *   probability, more than 0 if a token was removed; `figures`: see `SamplerView`
 */

/**
 * The previewed cuts; ui/components/outcomes.py names them and temperature.
 *
 * @type {Record<string, (before: Survivors, value: number) => Survivors>}
 */
const CUTS = {
  top_k: (before, k) => (k < before.count ? before.upto(before.ranking.end_of(before.ranking.run_at(k))) : before),
  top_p: (before, p) => (p < 1 ? before.upto(before.first_rank(p)) : before),
  min_p: (before, ratio) => (ratio > 0 ? before.above_ratio(ratio) : before),
};

/**
 * Figures of the previewed cuts, in addition to those of all samplers.
 *
 * @type {Record<string, (value: number, before: Survivors, after: Survivors) => Record<string, number>>}
 */
const FIGURES = {
  top_k: (k, _, after) => ({ tied: Math.max(0, after.count - k) }),
  min_p: (ratio, before) => ({ threshold: ratio * before.prob_at(1) }),
};

/** Tell if the browser itself computes a sampler. @param {string} name */
export const is_previewed = name => name === 'temperature' || Object.hasOwn(CUTS, name);

/**
 * A sampler's effect on some tokens; null if only the server can compute it.
 *
 * @param {Link} link
 * @param {Survivors} before
 * @param {Outcome} [told]
 * @returns {Stage | null}
 */
export function stage_of(link, before, told) {
  const { name, value } = link;
  if (!before.count) {
    const figures = { before: 0, after: 0, removed: 0, above: 0, mass_removed: 0 };
    return { ...link, ...cut(before, 'none'), before, mass_removed: 0, figures };
  }
  if (!told && !is_previewed(name)) return null;
  const made = told ? made_as_told(link, before, told) : previewed(name, before, Number(value));
  const { after } = made;
  const removed = before.count - after.count;
  // A division removes the tokens whose scores it sends below every float32 number.
  const stays = () => (made.kind === 'cut' ? after.mass : before.ranking.cumulative_at(after.count));
  const share = told ? told.mass_removed : 1 - stays() / before.mass;
  const own = () => ({
    ...{ before: before.count, after: after.count, removed },
    ...(made.kind === 'cut' && { above: 0 }),
    ...FIGURES[name]?.(Number(value), before, after),
  });
  const mass_removed = removed ? Math.max(share, Number.MIN_VALUE) : 0;
  return { ...link, ...made, before, told, mass_removed, figures: { ...(told?.figures ?? own()), mass_removed } };
}

/** @param {Survivors} after @param {string} which @returns {Made} */
const cut = (after, which) => ({ after, case: which, kind: 'cut', score: score => score, changes_odds: false });

/** @param {string} name @param {Survivors} before @param {number} value @returns {Made} */
function previewed(name, before, value) {
  if (name === 'temperature') return value === 0 ? cut(before.upto(1), 'greedy') : divided(before, value);
  const after = CUTS[name](before, value);
  const is_tied = name === 'top_k' && after.count > value;
  return cut(after, is_tied ? 'tied' : after.count < before.count ? '' : 'none');
}

/** @param {Link} link @param {Survivors} before @param {Outcome} told @returns {Made} */
function made_as_told({ kind = 'cut' }, before, told) {
  const made = told.kept === 'scaled' ? divided(before, Number(told.temperature)) : kept(before, told, kind);
  const changes_odds = made.kind === 'scale' ? before.count > 1 && told.case !== 'none' : made.changes_odds;
  const { ranking, count } = made.after;
  // Relative to the engine's highest score, which may have been skipped here.
  const mass = told.mass * Math.exp(told.highest - ranking.highest);
  const after = new Survivors(ranking, count, count ? { mass, entropy_bits: told.entropy_bits } : null);
  return { ...made, case: told.case, after, changes_odds };
}

/** @param {Survivors} before @param {Outcome} told @param {Kind} kind @returns {Made} */
function kept(before, told, kind) {
  const { ranking } = before;
  const { first = 0, mask, moved = [], runs, order, survivors } = told;
  const is_edit = kind !== 'cut' && told.case !== 'greedy';
  /** @param {Survivors} after @returns {Made} */
  const with_scores = after => ({ ...cut(after, ''), kind: is_edit ? kind : 'cut' });
  if (!survivors) return with_scores(new Survivors(ranking, 0));
  if (runs && order) {
    const known = order.findIndex(raw => id_of(ranking.row, raw) === null);
    const given = new Ranking(ranking.row, runs, known < 0 ? order.length : known, order);
    const after = new Survivors(given);
    /** @param {number} _ @param {number} raw */
    const score = (_, raw) => (given.place(raw) ? given.value_at(given.place(raw)) : -Infinity);
    return { ...with_scores(after), score, changes_odds: true };
  }
  const goes = new Uint8Array(before.count);
  if (told.kept === 'moved') {
    const values = new Map(moved.map(([, raw, , value]) => [raw, value ?? -Infinity]));
    const came = moved.flatMap(([id, raw, , value]) => (value === null ? [] : [{ id, raw, value }]));
    came.sort((one, other) => other.value - one.value || one.id - other.id);
    for (const raw of values.keys()) goes[before.place(raw) - 1] = 1;
    const after = rebuilt(before, goes, came);
    return { ...with_scores(after), score: (score, raw) => values.get(raw) ?? score, changes_odds: came.length > 0 };
  }
  if (mask) {
    for (let place = 0; place < goes.length; place++) goes[place] = ~mask[place >> 3] & (1 << (place & 7));
    return with_scores(rebuilt(before, goes));
  }
  const skipped = first - ranking.skipped;
  if (!skipped) return with_scores(new Survivors(ranking, survivors));
  goes.fill(1, 0, skipped).fill(1, skipped + survivors);
  return with_scores(rebuilt(before, goes, [], first));
}

/**
 * Combine the tokens that stay, in their order, with those that came with new scores.
 *
 * @param {Survivors} before
 * @param {Uint8Array} goes by place, nonzero for a token that is removed
 * @param {Came[]} [came] descending, equal scores by id
 * @param {number} [skipped]
 */
function rebuilt({ ranking, count }, goes, came = [], skipped = 0) {
  const { order: given } = ranking;
  const most = Math.min(ranking.values.length, count) + came.length;
  const [values, counts, order] = [new Float32Array(most), new Uint32Array(most), new Uint32Array(count + came.length)];
  let [runs, filled, known, entered, place] = [0, 0, -1, 0, 0];
  /** @param {number} value @param {number} tokens */
  const add = (value, tokens) => {
    if (tokens && values[runs - 1] !== value) values[runs++] = value;
    if (tokens) counts[runs - 1] += tokens;
  };
  /** Enter the new tokens that come before a given one. @param {number} value @param {number} id */
  const enter = (value, id) => {
    for (; entered < came.length; entered++) {
      const { id: own, raw, value: its } = came[entered];
      if (its < value || (its === value && own > id)) return;
      order[filled++] = raw;
      if (its > value) add(its, 1);
    }
  };
  for (let run = 0; place < count; run++) {
    const value = ranking.values[run];
    enter(value, -1);
    const first = filled;
    const is_tied = came[entered]?.value === value;
    for (const end = Math.min(ranking.end_of(run), count); place < end; place++) {
      if (goes[place]) continue;
      if (is_tied) enter(value, ranking.id_at(place + 1) ?? Infinity);
      if (known < 0 && place >= ranking.known) known = filled;
      order[filled++] = place < given.length ? given[place] : place + 1;
    }
    add(value, filled - first);
  }
  enter(-Infinity, -1);
  const made = { values: values.subarray(0, runs), counts: counts.subarray(0, runs) };
  return new Survivors(new Ranking(ranking.row, made, known < 0 ? filled : known, order.subarray(0, filled), skipped));
}

/**
 * Divide scores by a temperature above 0 in float32, which can make neighbours equal.
 *
 * @param {Survivors} before
 * @param {number} temperature
 * @returns {Made}
 */
function divided({ ranking, count }, temperature) {
  const divisor = Math.fround(temperature);
  const last = ranking.run_at(count);
  const [values, counts] = [new Float32Array(last + 1), new Uint32Array(last + 1)];
  /** @type {[start: number, end: number][]} */
  const merged = []; // several runs merged into one
  let [runs, latest, start, total] = [0, NaN, 0, 0];
  for (let run = 0; run <= last; run++) {
    // A quotient of two float32 numbers, rounded to double and then to float32, is correctly rounded.
    const value = Math.fround(ranking.values[run] / divisor);
    if (value === -Infinity) break;
    const tokens = Math.min(ranking.counts[run], count - ranking.starts[run]);
    if (value === latest) {
      counts[runs - 1] += tokens;
      if (merged.at(-1)?.[0] === start) merged[merged.length - 1][1] = total + tokens;
      else merged.push([start, total + tokens]);
    } else {
      values[runs] = value;
      counts[runs++] = tokens;
      [latest, start] = [value, total];
    }
    total += tokens;
  }
  // Tokens whose scores became equal are ordered by id. If these ids are not all known, neither is the order after
  // them.
  let known = Math.min(ranking.known, total);
  const unknown = merged.findIndex(([, end]) => end > known);
  if (unknown >= 0) known = Math.min(known, merged[unknown][0]);
  const tied = unknown < 0 ? merged : merged.slice(0, unknown);
  const made = { values: values.subarray(0, runs), counts: counts.subarray(0, runs) };
  const after = new Survivors(
    new Ranking(ranking.row, made, known, tied.length ? by_id(ranking, tied) : ranking.order),
  );
  const which = count === 1 ? 'single' : temperature === 1 ? 'none' : temperature < 1 ? 'sharper' : 'flatter';
  const changes_odds = which !== 'single' && which !== 'none';
  return { after, case: which, kind: 'scale', score: score => Math.fround(score / divisor), changes_odds };
}

/**
 * Return an order in which some stretches are sorted by id.
 *
 * @param {Ranking} ranking
 * @param {[start: number, end: number][]} stretches
 */
function by_id({ row, order: given }, stretches) {
  const order = new Uint32Array(Math.max(given.length, stretches[stretches.length - 1][1]));
  order.set(given);
  for (let place = given.length; place < order.length; place++) order[place] = place + 1;
  for (const [start, end] of stretches) {
    order.subarray(start, end).sort((one, other) => Number(id_of(row, one)) - Number(id_of(row, other)));
  }
  return order;
}
