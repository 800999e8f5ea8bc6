// The tokens that are left, and the ways to cut them: `Survivors` of engine/sampling/ranking.py over runs.

import { entropy_of, first_index, sum_over } from './ranking.js';

/**
 * @import { Ranking, Sums } from './ranking.js'
 */

// Share of a ranking's sum from which on a difference of running sums keeps enough digits, as in the engine.
const ENOUGH = 1e-3;

/** The tokens that are left: the ranks after `start` to `stop`; none where both are the same. */
export class Survivors {
  /** @type {Sums | null} */
  #sums = null;
  /** Of a window: by run, the weights of all that are left down to its last. @type {Float64Array | null} */
  #running = null;

  /**
   * @param {Ranking} ranking
   * @param {number} [start]
   * @param {number} [stop]
   */
  constructor(ranking, start = 0, stop = ranking.count) {
    this.ranking = ranking;
    this.start = start;
    this.stop = stop;
  }

  /**
   * The same tokens, with sums that are known better than they can be computed here.
   *
   * @param {{mass: number, entropy_bits: number}} told sum of the weights, and entropy
   */
  with_sums({ mass, entropy_bits }) {
    const same = new Survivors(this.ranking, this.start, this.stop);
    const moment = mass * (Math.log(mass) - entropy_bits * Math.LN2);
    same.#sums = { total: mass, moment, highest: this.ranking.highest };
    return same;
  }

  get count() {
    return this.stop - this.start;
  }

  get is_cut() {
    return this.count < this.ranking.count;
  }

  /** {total, moment, highest} of the survivors' weights, relative to the ranking's `highest` score. */
  get sums() {
    return (this.#sums ??= this.is_cut ? this.summed() : this.ranking.sums);
  }

  /** @returns {Sums} */
  summed() {
    const { ranking, start, stop } = this;
    const { highest } = ranking;
    if (start === stop) return { total: 0, moment: 0, highest };
    // From the top the running sum will do; else its difference would drown small weights.
    /** @type {(run: number, count: number) => number} */
    const mass = (run, count) => count * ranking.weight_of(run);
    /** @type {(run: number, count: number) => number} */
    const shift = (run, count) => mass(run, count) * (ranking.values[run] - highest);
    return {
      total: start ? sum_over(ranking, start, stop, mass) : ranking.cumulative_at(stop),
      moment: sum_over(ranking, start, stop, shift),
      highest,
    };
  }

  /** Sum of the survivors' weights. */
  get mass() {
    return this.sums.total;
  }

  /** Sum of the weights in front of the survivors. */
  get before() {
    return this.ranking.cumulative_at(this.start);
  }

  /** Whether running sums of the ranking say too little about those left. */
  get is_window() {
    const { ranking, start, stop } = this;
    if (!start) return false;
    return stop < ranking.count || ranking.total - this.before <= ENOUGH * ranking.total;
  }

  get #sums_by_run() {
    const { ranking, start, stop } = this;
    if (this.#running) return this.#running;
    const first = ranking.run_at(start + 1);
    const sums = new Float64Array(ranking.run_at(stop) - first + 1);
    let sum = 0;
    for (let place = 0; place < sums.length; place++) {
      const run = first + place;
      const count = Math.min(ranking.end_of(run), stop) - Math.max(ranking.starts[run], start);
      sum += count * ranking.weight_of(run);
      sums[place] = sum;
    }
    this.#running = sums;
    return sums;
  }

  /** Sum of the weights of those left, down to and including a rank. @param {number} rank */
  upto_rank(rank) {
    const { ranking, start, stop } = this;
    if (rank <= start) return 0;
    if (rank >= stop) return this.mass;
    if (!this.is_window) return ranking.cumulative_at(rank) - this.before;
    const place = ranking.run_at(rank) - ranking.run_at(start + 1);
    const run = ranking.run_at(rank);
    const above = place ? this.#sums_by_run[place - 1] : 0;
    return above + (rank - Math.max(ranking.starts[run], start)) * ranking.weight_of(run);
  }

  /** Whether a rank is left. @param {number} rank */
  has(rank) {
    return rank > this.start && rank <= this.stop;
  }

  /** Shannon entropy of the survivors' probabilities, in nats. */
  get entropy() {
    return this.count > 1 ? entropy_of(this.sums) : 0;
  }

  /** The same in bits. */
  get entropy_bits() {
    return this.entropy / Math.LN2;
  }

  /** Probability of a token at a rank that is left. @param {number} rank */
  prob_at(rank) {
    return this.ranking.weight_at(rank) / this.mass;
  }

  /** No token. */
  none() {
    return new Survivors(this.ranking, this.start, this.start);
  }

  /**
   * Keep the ranks after `start` to `stop`, as far as they survive.
   *
   * @param {number} start
   * @param {number} stop
   */
  between(start, stop) {
    return new Survivors(this.ranking, Math.max(this.start, start), Math.min(this.stop, stop));
  }

  /** Keep the ranks to `stop`, at least one. @param {number} stop */
  upto(stop) {
    return this.between(this.start, Math.max(this.start + 1, stop));
  }

  /**
   * Keep the `count` best, and every token equal to the last of them where `with_ties`.
   *
   * @param {number} count
   * @param {boolean} with_ties
   */
  leading(count, with_ties) {
    if (count >= this.count) return this;
    const last = this.start + count;
    return this.upto(with_ties ? this.ranking.end_of(this.ranking.run_at(last)) : last);
  }

  /**
   * Keep the smallest set of leading tokens that holds `fraction` of the survivors' mass.
   *
   * @param {number} fraction
   */
  reaching_mass(fraction) {
    return this.upto(this.first_rank(fraction * this.mass));
  }

  /** Keep the tokens whose probability is at least `ratio` times the highest one's. @param {number} ratio */
  above_ratio(ratio) {
    const { starts, count, weights } = this.ranking;
    const least = ratio * this.ranking.weight_at(this.start + 1);
    const run = first_index(0, weights.length, each => weights[each] < least);
    return this.upto(run < starts.length ? starts[run] : count);
  }

  /** Rank at which the cumulative probability first exceeds `u`. @param {number} u */
  rank_at(u) {
    const rank = this.first_rank(u * this.mass, true);
    return Math.max(this.start + 1, Math.min(rank, this.stop));
  }

  /**
   * First rank at which the weights of those left reach a sum; one past the last where they never do.
   *
   * @param {number} sum
   * @param {boolean} [is_above] they must exceed it
   */
  first_rank(sum, is_above = false) {
    const { ranking, start, stop, is_window } = this;
    const first = is_window ? ranking.run_at(start + 1) : 0;
    const sums = is_window ? this.#sums_by_run : ranking.cumulative;
    const target = is_window ? sum : this.before + sum;
    /** @param {number} reached */
    const is_enough = reached => (is_above ? reached > target : reached >= target);
    const place = first_index(0, sums.length, index => is_enough(sums[index]));
    if (place === sums.length) return (is_window ? stop : ranking.count) + 1;
    const run = first + place;
    const before = place ? sums[place - 1] : 0;
    const from = is_window ? Math.max(ranking.starts[run], start) : ranking.starts[run];
    const weight = ranking.weight_of(run);
    return from + first_index(1, ranking.end_of(run) - from, count => is_enough(before + count * weight));
  }
}
