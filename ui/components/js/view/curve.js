// Probabilities along the ranks, for the curves: every rank of the head, then at growing distances.

/**
 * @import { Curve } from '../types.js'
 * @import { Stand } from './rows.js'
 */

const DENSE = 100;
const SPACED = 200;

/**
 * Ranks from 1 to `last`: every rank up to 100, then log-spaced, and those around the `marked` ones.
 *
 * @param {number} last
 * @param {(number | null | undefined)[]} [marked]
 */
export function curve_ranks(last, marked = []) {
  /** @type {Set<number>} */
  const ranks = new Set();
  for (let rank = 1; rank <= Math.min(last, DENSE); rank++) ranks.add(rank);
  for (let step = 1; last > DENSE && step <= SPACED; step++) {
    ranks.add(Math.round(DENSE * (last / DENSE) ** (step / SPACED)));
  }
  for (const mark of marked) {
    if (!mark) continue;
    for (const rank of [mark - 1, mark, mark + 1]) if (rank >= 1 && rank <= last) ranks.add(rank);
  }
  return Array.from(ranks).sort((a, b) => a - b);
}

/**
 * The curve at some ranks of the rows' ranking. The remaining tokens need be neither the first ones nor contiguous.
 *
 * @param {Stand} stand
 * @param {number[]} ranks ascending
 * @returns {Curve}
 */
export function curve_of({ shaped, base, survivors, is_final }, ranks) {
  const { ranking, mass } = base;
  const { start, final } = shaped;
  const raws = ranks.map(rank => ranking.raw_at(rank));
  const ends = raws.map(raw => final.place(raw));
  return {
    ranks,
    model_prob: ranks.map(rank => (rank <= start.count ? start.prob_at(rank) : 0)),
    prob: ranks.map(rank => ranking.weight_at(rank) / mass),
    cumulative: ranks.map(rank => base.cumulative_at(rank)),
    kept: raws.map(raw => survivors.place(raw) > 0),
    final: is_final ? ends.map(rank => (rank ? final.prob_at(rank) : 0)) : ranks.map(() => null),
    cumulative_final: is_final ? shaped.cumulative_final(ranks) : ranks.map(() => null),
  };
}
