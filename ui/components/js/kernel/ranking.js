// Scores in rank order as runs of equal scores, with the number of tokens left: engine/sampling/ranking.py and
// survivors.py over runs. Ranks count from 1. Equal scores are ordered by token id, lower first. Sums run in float64. A
// token is identified by its raw rank, its rank in the row of logits.

import { id_of } from './row.js';

/**
 * @import { PackedRow } from '../types.js'
 *
 * @typedef {{values: Float32Array, counts: Uint32Array}} Runs scores of the runs, descending; tokens in each
 * @typedef {{mass: number, entropy_bits: number}} Sums sum of the weights of some tokens, and their entropy
 */

const AS_RAW = new Uint32Array();

/**
 * First index from `low` at which `is_there` holds (once true, always true); `high` if it never does.
 *
 * @param {number} low
 * @param {number} high
 * @param {(index: number) => boolean} is_there
 */
function first_index(low, high, is_there) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (is_there(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * For each order, the place of every raw rank in it, from 1; 0 if it has none.
 *
 * @type {WeakMap<Uint32Array, Uint32Array>}
 */
const PLACES = new WeakMap();

/** @param {Uint32Array} order @param {number} possible tokens of the row */
function places_of(order, possible) {
  let places = PLACES.get(order);
  if (!places) {
    places = new Uint32Array(order.length && possible + 1);
    for (let place = 0; place < order.length; place++) places[order[place]] = place + 1;
    PLACES.set(order, places);
  }
  return places;
}

/** Tokens in rank order. The content never changes; expensive values are computed on demand. */
export class Ranking {
  /** @type {ReturnType<typeof weigh> | null} */
  #weighed = null;
  /** @type {Uint32Array | null} */
  #places = null;

  /**
   * @param {PackedRow} row
   * @param {Runs} runs
   * @param {number} known number of leading ranks with a known id
   * @param {Uint32Array} order raw ranks of the leading tokens; later tokens keep their raw ranks
   * @param {number} skipped number of tokens ahead of these in the engine's ranking
   */
  constructor(row, { values, counts }, known, order = AS_RAW, skipped = 0) {
    if (!Number.isFinite(values[0])) throw new RangeError('A score grew beyond every float32 number.');
    this.row = row;
    this.values = values;
    this.highest = values[0];
    this.counts = counts;
    this.known = known;
    this.order = order;
    this.skipped = skipped;
    /** Tokens before each run. */
    this.starts = new Uint32Array(values.length);
    this.count = 0;
    for (let run = 0; run < counts.length; run++) {
      this.starts[run] = this.count;
      this.count += counts[run];
    }
  }

  /**
   * For each run: exp(score - highest) of one token; the sums, up to and including the run, of these weights and of
   * weight times log weight.
   */
  get weighed() {
    return (this.#weighed ??= weigh(this));
  }

  /** @param {number} rank */
  raw_at(rank) {
    return rank > this.order.length ? rank : this.order[rank - 1];
  }

  /** Rank here of the token with a raw rank; 0 if it is absent. @param {number} raw */
  place(raw) {
    const { order, count } = this;
    this.#places ??= places_of(order, this.row.possible);
    const place = this.#places[raw] || (raw > order.length && order.length < count ? raw : 0);
    return place <= count ? place : 0;
  }

  /** Token at a rank; null if only its score is known. @param {number} rank */
  id_at(rank) {
    return rank <= this.known ? id_of(this.row, this.raw_at(rank)) : null;
  }

  /** Index of the run that holds a rank. @param {number} rank */
  run_at(rank) {
    const { starts } = this;
    let low = 0;
    let high = starts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (starts[middle] >= rank) high = middle;
      else low = middle + 1;
    }
    return low - 1;
  }

  /** Rank of the last token of a run. @param {number} run */
  end_of(run) {
    return this.starts[run] + this.counts[run];
  }

  /** @param {number} rank */
  value_at(rank) {
    return this.values[this.run_at(rank)];
  }

  /** @param {number} rank */
  weight_at(rank) {
    return this.weighed.weights[this.run_at(rank)];
  }

  /** Sum of the weights up to and including a rank; 0 at rank 0. @param {number} rank */
  cumulative_at(rank) {
    if (rank <= 0) return 0;
    const { weights, masses } = this.weighed;
    const run = this.run_at(rank);
    return (run ? masses[run - 1] : 0) + (rank - this.starts[run]) * weights[run];
  }
}

/** @param {Ranking} ranking */
function weigh({ values, counts, highest }) {
  const [weights, masses, moments] = [values, values, values].map(({ length }) => new Float64Array(length));
  let [mass, moment] = [0, 0];
  for (let run = 0; run < values.length; run++) {
    const shift = values[run] - highest;
    const weight = Math.exp(shift);
    const added = counts[run] * weight;
    weights[run] = weight;
    masses[run] = mass += added;
    moments[run] = moment += added * shift;
  }
  return { weights, masses, moments };
}

/** The remaining tokens: the leading ones of a ranking. */
export class Survivors {
  /** @type {Sums | null} */
  #sums;

  /**
   * @param {Ranking} ranking
   * @param {number} [count]
   * @param {Sums | null} [sums] if known more exactly than from runs
   */
  constructor(ranking, count = ranking.count, sums = null) {
    this.ranking = ranking;
    this.count = count;
    this.#sums = sums;
  }

  get #all() {
    return (this.#sums ??= this.#summed());
  }

  /** Sum of the tokens' weights, relative to the ranking's highest score. */
  get mass() {
    return this.#all.mass;
  }

  /** Shannon entropy of the tokens' probabilities. */
  get entropy_bits() {
    return this.#all.entropy_bits;
  }

  #summed() {
    const { ranking, count } = this;
    if (!count) return { mass: 0, entropy_bits: 0 };
    const { weights, moments } = ranking.weighed;
    const last = ranking.run_at(count);
    const mass = ranking.cumulative_at(count);
    const beyond = (ranking.end_of(last) - count) * weights[last] * (ranking.values[last] - ranking.highest);
    const entropy = Math.log(mass) - (moments[last] - beyond) / mass;
    return { mass, entropy_bits: count > 1 ? Math.max(0, entropy) / Math.LN2 : 0 };
  }

  /** Rank of the token with a raw rank; 0 if it was removed. @param {number} raw */
  place(raw) {
    const rank = this.ranking.place(raw);
    return rank <= this.count ? rank : 0;
  }

  /** @param {number} rank */
  prob_at(rank) {
    return this.ranking.weight_at(rank) / this.mass;
  }

  /** Share of the probability up to and including a rank. @param {number} rank */
  cumulative_at(rank) {
    return rank >= this.count ? 1 : Math.min(1, this.ranking.cumulative_at(rank) / this.mass);
  }

  /** Keep the ranks up to the given one, and at least the first. @param {number} rank */
  upto(rank) {
    const count = Math.min(this.count, Math.max(1, rank));
    return count === this.count ? this : new Survivors(this.ranking, count);
  }

  /** Keep the tokens whose probability is at least `ratio` times the highest one's. @param {number} ratio */
  above_ratio(ratio) {
    const { weights } = this.ranking.weighed;
    const run = first_index(0, weights.length, each => weights[each] < ratio);
    return this.upto(this.ranking.starts[run] ?? this.ranking.count);
  }

  /** Rank at which the cumulative probability first exceeds `u`. @param {number} u */
  rank_at(u) {
    return Math.max(1, Math.min(this.first_rank(u, true), this.count));
  }

  /**
   * First rank at which a share of the probability is reached; one past the last if it never is.
   *
   * @param {number} share
   * @param {boolean} [is_above] whether it must be exceeded
   */
  first_rank(share, is_above = false) {
    const { ranking } = this;
    const { weights, masses } = ranking.weighed;
    const target = share * this.mass;
    /** @param {number} sum */
    const is_enough = sum => (is_above ? sum > target : sum >= target);
    const run = first_index(0, masses.length, index => is_enough(masses[index]));
    if (run === masses.length) return ranking.count + 1;
    const before = run ? masses[run - 1] : 0;
    return ranking.starts[run] + first_index(1, ranking.counts[run], n => is_enough(before + n * weights[run]));
  }
}
