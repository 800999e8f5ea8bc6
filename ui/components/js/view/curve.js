// Probabilities along the ranks, for the curves: every rank of the head, then ever wider apart.

/**
 * @import { Curve } from '../types.js'
 * @import { Stand } from './rows.js'
 */

const DENSE = 100;
const SPACED = 200;

/**
 * Ranks from 1 to `last`: every one up to 100, then log-spaced, and those around the `marked` ones.
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
 * The curve at some ranks of the ranking that rows stand in.
 *
 * Each rank is followed through the samplers: those that are left need be neither the first ones nor in one piece.
 *
 * @param {Stand} stand
 * @param {number[]} ranks ascending
 * @returns {Curve}
 */
export function curve_of({ shaped, base, ranked, done, is_final }, ranks) {
  const { ranking, mass } = base;
  const { start, final, stages } = shaped;
  const ways = ranks.map(rank => shaped.trace(rank, ranked));
  const ends = ways.map(way => way[stages.length - ranked]);
  return {
    ranks,
    model_prob: ranks.map(rank => (rank <= start.stop ? start.prob_at(rank) : 0)),
    prob: ranks.map(rank => ranking.weight_at(rank) / mass),
    cumulative: ranks.map(rank => Math.min(1, ranking.cumulative_at(rank) / mass)),
    kept: ways.map(way => way[done - ranked] > 0),
    final: is_final ? ends.map(rank => (rank ? final.prob_at(rank) : 0)) : ranks.map(() => null),
    cumulative_final: is_final ? shaped.cumulative_final(ranks) : ranks.map(() => null),
  };
}
