// The rules of the samplers that remove tokens by their rank, *_cuts.py and adaptive.py of engine/sampling/stages/,
// over runs of equal scores, with the same figures and cases. At least one token always stays.

import { first_index } from './ranking.js';

/**
 * @import { Fields } from '../types.js'
 * @import { Context } from './context.js'
 * @import { Survivors } from './survivors.js'
 *
 * @typedef {object} CutMade
 * @property {Survivors} after the tokens left
 * @property {Record<string, number>} [figures]
 * @property {string} [case] without one: 'none' where nothing is removed
 *
 * @typedef {{cut(survivors: Survivors, value: number | Fields, context: Context): CutMade}} CutRule
 */

const TOP_H_CONSIDERED = 100;
const STRAIGHT = 1e-6; // second differences of at most this share of the first weight are no bend

/** @type {Record<string, CutRule['cut']>} */
const CUTS = {
  top_h,
  top_k: (survivors, /** @type {number} */ k) => {
    const after = survivors.leading(k, true);
    const tied = Math.max(0, after.count - k);
    return { after, figures: { tied }, case: tied ? 'tied' : undefined };
  },
  top_p: (survivors, /** @type {number} */ p) => ({ after: p < 1 ? survivors.reaching_mass(p) : survivors }),
  min_p: (survivors, /** @type {number} */ ratio) => ({
    after: ratio > 0 ? survivors.above_ratio(ratio) : survivors,
    figures: { threshold: ratio * leader_prob(survivors) },
  }),
  typical_p: (survivors, /** @type {number} */ p) => {
    const after = p < 1 ? survivors.around_entropy(p) : survivors;
    const figures = { entropy: survivors.entropy_bits };
    return { after, figures, case: after.start > survivors.start ? 'top' : undefined };
  },
  epsilon_cutoff: (survivors, /** @type {number} */ epsilon) => above_least(survivors, epsilon),
  eta_cutoff: (survivors, /** @type {number} */ epsilon) => {
    const made = above_least(survivors, Math.min(epsilon, Math.sqrt(epsilon) * Math.exp(-survivors.entropy)));
    return { ...made, figures: { ...made.figures, entropy: survivors.entropy_bits } };
  },
  top_n_sigma: (survivors, /** @type {number} */ n) => {
    const { highest, deviation: sigma } = survivors;
    const least_score = highest - n * sigma;
    const threshold = Math.exp(least_score - highest) * leader_prob(survivors);
    return { after: survivors.above_score(least_score), figures: { highest, sigma, least_score, threshold } };
  },
  tail_free: (survivors, /** @type {number} */ z) => ({ after: tail_free(survivors, z) }),
  xtc: (survivors, /** @type {{threshold: number, probability: number}} */ { threshold, probability }, context) => {
    const u = context.xtc_u ?? 0; // without a number it acts
    if (u >= probability) return { after: survivors, figures: { u }, case: 'rests' };
    const top = threshold <= 0.5 ? survivors.above_prob(threshold) : null;
    if (!top || top.count < 2) return { after: survivors, figures: { u }, case: 'few' };
    const removed = survivors.ranking.ids.subarray(top.start, top.stop - 1);
    if ([...context.eos_ids, ...context.line_break_ids].some(id => removed.includes(id))) {
      return { after: survivors, figures: { u }, case: 'spares' };
    }
    return { after: survivors.between(top.stop - 1, survivors.stop), figures: { u }, case: 'acts' };
  },
  mirostat: (survivors, /** @type {{tau: number}} */ { tau }, { mirostat }) => {
    const mu = mirostat?.tau === tau ? mirostat.mu : 2 * tau;
    const surprise_limit = Math.max(mu, 0); // no surprise is below 0
    const threshold = 2 ** -surprise_limit;
    return {
      after: survivors.above_prob(threshold),
      figures: { mu, surprise_limit, threshold },
      case: leader_prob(survivors) < threshold ? 'short' : undefined,
    };
  },
};

/** Samplers with a rule here. */
export const CUT_NAMES = Object.keys(CUTS);

/** The rule of a sampler that removes by rank. @param {string} name @returns {CutRule['cut'] | undefined} */
export const cut_rule = name => CUTS[name];

/** @param {Survivors} survivors */
const leader_prob = survivors => survivors.prob_at(survivors.start + 1);

/**
 * Among the most likely 100, the leading ones that make up at most this share of the entropy.
 *
 * @type {(survivors: Survivors, share: number) => CutMade}
 */
function top_h(survivors, share) {
  const top = survivors.upto(survivors.start + TOP_H_CONSIDERED);
  const { ranking, start, stop, mass } = top;
  /** @type {number[]} */
  const sums = [];
  let sum = 0;
  for (let rank = start + 1; rank <= stop; rank++) {
    const prob = ranking.weight_at(rank) / mass;
    if (prob <= 0) break; // below float64's smallest they have no entropy to speak of
    sum -= prob * Math.log(prob);
    sums.push(sum);
  }
  const limit = share * sum;
  const kept = first_index(0, sums.length, place => sums[place] > limit);
  return {
    after: survivors.upto(start + Math.max(1, kept)),
    figures: { considered: stop - start, entropy: sum / Math.LN2, limit: limit / Math.LN2 },
    case: survivors.count > 1 && sums[0] > limit ? 'short' : undefined,
  };
}

/**
 * The tokens of at least this probability; where none reaches it, the most likely one and every token equal to it.
 *
 * @param {Survivors} survivors
 * @param {number} threshold
 * @returns {CutMade}
 */
function above_least(survivors, threshold) {
  const kept = survivors.above_prob(threshold);
  return {
    after: kept.count === 1 ? survivors.leading(1, true) : kept,
    figures: { threshold },
    case: leader_prob(survivors) < threshold ? 'short' : undefined,
  };
}

/**
 * @param {Survivors} survivors
 * @param {number} z
 */
function tail_free(survivors, z) {
  const { ranking, start, count } = survivors;
  if (z === 1 || count <= 2) return survivors;
  const bends = bends_of(survivors);
  const total = bends.sums.at(-1) ?? 0;
  if (total <= STRAIGHT * ranking.weight_at(start + 1)) return survivors;
  const first = first_index(0, bends.sums.length, place => bends.sums[place] > z * total);
  const place = first < bends.sums.length ? bends.places[first] : count - 2;
  return survivors.upto(start + place + 1);
}

/**
 * Where the second differences of the weights are not 0 (places from 0), and their running sum. Within equal scores
 * they are 0, so there are at most two at the end of each run.
 *
 * @param {Survivors} survivors
 */
function bends_of({ ranking, start, stop, count }) {
  const { weights } = ranking;
  const first = ranking.run_at(start + 1);
  const last = ranking.run_at(stop);
  const places = new Uint32Array(2 * (last - first) + 1);
  const sums = new Float64Array(places.length);
  let number = 0;
  let sum = 0;
  let latest = -1; // the place of the difference that is still growing
  let pending = 0;
  const close = () => {
    if (latest < 0 || latest > count - 3 || pending === 0) return;
    sum += Math.abs(pending);
    places[number] = latest;
    sums[number++] = sum;
  };
  /** @type {(place: number, difference: number) => void} */
  const add = (place, difference) => {
    if (place !== latest) {
      close();
      latest = place;
      pending = 0;
    }
    pending += difference;
  };
  for (let run = first; run < last; run++) {
    const end = ranking.end_of(run) - start - 1; // place of the run's last token
    const step = weights[run + 1] - weights[run];
    if (end > 0) add(end - 1, step);
    add(end, -step);
  }
  close();
  return { places: places.subarray(0, number), sums: sums.subarray(0, number) };
}
