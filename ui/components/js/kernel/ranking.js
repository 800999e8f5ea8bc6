// Scores in rank order, as runs of equal scores: engine/sampling/ranking.py over runs. Ranks count from 1; equal scores are
// ordered by token id, lower first; sums run in float64.

/**
 * @typedef {Uint16Array | Uint32Array} Ids token ids in rank order
 * @typedef {{values: Float32Array, counts: Uint32Array}} Runs scores of the runs, descending; tokens in each
 * @typedef {{total: number, moment: number, highest: number}} Sums of weights, and of weight times log weight,
 *   relative to the `highest` score
 */

const BLOCK = 256; // terms that are summed apart, so that thousands of small ones keep their digits

/**
 * First index from `low` at which `is_there` holds (once true, always true); `high` where it never does.
 *
 * @param {number} low
 * @param {number} high
 * @param {(index: number) => boolean} is_there
 */
export function first_index(low, high, is_there) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (is_there(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * First index of ascending numbers that reaches `value`: for what runs thousands of times a frame.
 *
 * @param {ArrayLike<number>} ascending
 * @param {number} value
 */
export function lower_bound(ascending, value) {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ascending[middle] >= value) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Shannon entropy in nats of weights with this sum and this sum of weight times log weight.
 *
 * @param {{total: number, moment: number}} sums
 */
export const entropy_of = ({ total, moment }) => Math.max(0, Math.log(total) - moment / total);

/** Every possible token in rank order. What it holds never changes; what is dear is made when asked for. */
export class Ranking {
  /** @type {ReturnType<typeof indexed> | null} */
  #runs = null;
  /** @type {Ids | null} */
  #ids = null;
  /** @type {ReturnType<typeof weigh> | null} */
  #weighed = null;

  /**
   * What is not given the subclass makes, when it is asked for.
   *
   * @param {Runs} [runs]
   * @param {Ids} [ids] as far as they are known
   */
  constructor(runs, ids) {
    if (runs) this.#runs = indexed(runs);
    if (ids) this.#ids = ids;
  }

  /** The `Survivors` that this one was made of; null of the raw logits. @returns {{ranking: Ranking} | null} */
  get parent() {
    return null;
  }

  /** @returns {Runs} */
  make_runs() {
    throw new Error('a ranking without runs must make them');
  }

  /** @returns {Ids} */
  make_ids() {
    throw new Error('a ranking without ids must make them');
  }

  /** Of each rank here, the rank in the parent. @returns {Uint32Array} */
  parent_ranks() {
    throw new Error('the raw ranking has no parent');
  }

  /** Rank here of what has this rank in the parent; 0 where it is not here. @param {number} rank */
  rank_from_parent(rank) {
    return rank;
  }

  /** Rank in the parent of what has this rank here. @param {number} rank */
  rank_in_parent(rank) {
    return rank;
  }

  get runs() {
    return (this.#runs ??= indexed(this.make_runs()));
  }

  /** Scores of the runs, descending. */
  get values() {
    return this.runs.values;
  }

  /** Tokens in each run. */
  get counts() {
    return this.runs.counts;
  }

  /** Tokens before each run. */
  get starts() {
    return this.runs.starts;
  }

  /** Number of tokens. */
  get count() {
    return this.runs.count;
  }

  get highest() {
    return this.runs.values[0];
  }

  /** Token ids in rank order, as far as they are known. */
  get ids() {
    return (this.#ids ??= this.make_ids());
  }

  /** Of each run: exp(score - highest) of one token. */
  get weights() {
    return this.#weigh().weights;
  }

  /** Of each run: the weights of all tokens down to its last. */
  get cumulative() {
    return this.#weigh().cumulative;
  }

  /** Sum of all weights. */
  get total() {
    return this.sums.total;
  }

  /** {total, moment, highest}: sums of all weights, and of weight times log weight, relative to `highest`. */
  get sums() {
    return this.#weigh();
  }

  #weigh() {
    return (this.#weighed ??= weigh(this, this.make_weights()));
  }

  /** @returns {Float64Array} */
  make_weights() {
    const { values, highest } = this;
    const weights = new Float64Array(values.length);
    for (let run = 0; run < values.length; run++) weights[run] = Math.exp(values[run] - highest);
    return weights;
  }

  /** Weight of one token of a run. @param {number} run */
  weight_of(run) {
    return this.#weighed ? this.#weighed.weights[run] : Math.exp(this.values[run] - this.highest);
  }

  /** Shannon entropy of the softmax of all scores, in nats. */
  get entropy() {
    return entropy_of(this.sums);
  }

  /** The same in bits. */
  get entropy_bits() {
    return this.entropy / Math.LN2;
  }

  /** How many leading ranks have a known id. */
  get known() {
    return this.ids.length;
  }

  /** Index of the run that holds a rank. @param {number} rank */
  run_at(rank) {
    return lower_bound(this.starts, rank) - 1;
  }

  /** Ranks down to the last token of a run. @param {number} run */
  end_of(run) {
    return this.starts[run] + this.counts[run];
  }

  /** Index of the run with this score, or where it would stand. @param {number} value */
  run_of(value) {
    const { values } = this;
    let low = 0;
    let high = values.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (values[middle] <= value) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Token at a rank, null where only its score is known. @param {number} rank */
  id_at(rank) {
    return rank <= this.known ? this.ids[rank - 1] : null;
  }

  /** Score at a rank. @param {number} rank */
  value_at(rank) {
    return this.values[this.run_at(rank)];
  }

  /** Weight at a rank, relative to the highest score's. @param {number} rank */
  weight_at(rank) {
    return this.weight_of(this.run_at(rank));
  }

  /** Sum of the weights down to and including a rank; 0 at rank 0. @param {number} rank */
  cumulative_at(rank) {
    if (rank <= 0) return 0;
    const { weights, cumulative } = this.#weigh();
    const run = this.run_at(rank);
    const before = run ? cumulative[run - 1] : 0;
    return before + (rank - this.starts[run]) * weights[run];
  }

  /** Softmax at a rank. @param {number} rank */
  prob_at(rank) {
    return this.weight_at(rank) / this.total;
  }

  /**
   * How many tokens stand before this one; of those with its score only where their ids are known.
   *
   * @param {number} value
   * @param {number} id
   */
  count_before(value, id) {
    const run = this.run_of(value);
    if (run === this.values.length) return this.count;
    const start = this.starts[run];
    if (this.values[run] !== value || start >= this.known) return start;
    return first_index(start, Math.min(this.end_of(run), this.known), place => this.ids[place] >= id);
  }

  /**
   * Rank of a token of this ranking; `likely` is the answer where the ids of its score are not known.
   *
   * @param {number} id
   * @param {number} likely
   * @param {number} value its score
   */
  rank_of(id, likely, value) {
    const place = this.count_before(value, id);
    return place < this.known && this.ids[place] === id ? place + 1 : likely;
  }
}

/**
 * @template {Runs} T
 * @param {T} runs
 * @returns {T & {starts: Uint32Array, count: number}} with the tokens before each run, and all together
 */
function indexed(runs) {
  const { values, counts } = runs;
  if (!values.length) throw new RangeError('Every token was removed before the draw.');
  if (!Number.isFinite(values[0])) throw new RangeError('A score grew beyond every float32 number.');
  const starts = new Uint32Array(values.length);
  let count = 0;
  for (let run = 0; run < counts.length; run++) {
    starts[run] = count;
    count += counts[run];
  }
  return { ...runs, starts, count };
}

/**
 * @param {{values: Float32Array, counts: Uint32Array, highest: number}} ranking
 * @param {Float64Array} weights
 */
function weigh({ values, counts, highest }, weights) {
  const runs = values.length;
  const cumulative = new Float64Array(runs);
  let sum = 0;
  let total = 0;
  let moment = 0;
  for (let block = 0; block < runs; block += BLOCK) {
    const end = Math.min(block + BLOCK, runs);
    let part = 0;
    let part_moment = 0;
    for (let run = block; run < end; run++) {
      const mass = counts[run] * weights[run];
      sum += mass;
      cumulative[run] = sum;
      part += mass;
      part_moment += mass * (values[run] - highest);
    }
    total += part;
    moment += part_moment;
  }
  return { weights, cumulative, total, moment, highest };
}

/**
 * A sum over the ranks after `start` to `stop`, run by run: `term(run, count)` is added up.
 *
 * @param {Ranking} ranking
 * @param {number} start
 * @param {number} stop
 * @param {(run: number, count: number) => number} term
 */
export function sum_over(ranking, start, stop, term) {
  const first = ranking.run_at(start + 1);
  const last = ranking.run_at(stop);
  let total = 0;
  for (let block = first; block <= last; block += BLOCK) {
    const end = Math.min(block + BLOCK, last + 1);
    let part = 0;
    for (let run = block; run < end; run++) {
      const from = run === first ? start : ranking.starts[run];
      part += term(run, (run === last ? stop : ranking.end_of(run)) - from);
    }
    total += part;
  }
  return total;
}
