// Scores in rank order, as runs of equal scores: engine/ranking.py over runs. Ranks count from 1; equal
// scores are ordered by token id, lower first; sums run in float64.

const BLOCK = 256; // terms that are summed apart, so that thousands of small ones keep their digits

/** First index from `low` at which `is_there` holds (once true, always true); `high` where it never does. */
export function first_index(low, high, is_there) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (is_there(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** First index of ascending numbers that reaches `value`: for what runs thousands of times a frame. */
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

/** Shannon entropy in nats of weights with this sum and this sum of weight times log weight. */
export const entropy_of = ({ total, moment }) => Math.max(0, Math.log(total) - moment / total);

/** Every possible token in rank order. What it holds never changes; what is dear is made when asked for. */
export class Ranking {
  #runs = null;
  #ids = null;
  #weighed = null;
  #rough = null;
  #deviation = null;

  /**
   * Without arguments the subclass makes the runs and the ids, when they are asked for.
   *
   * @param {Float32Array} [values] scores of the runs, descending
   * @param {Uint32Array} [counts] tokens in each run
   * @param {Uint16Array|Uint32Array} [ids] token ids in rank order, as far as they are known
   */
  constructor(values, counts, ids) {
    if (!values) return;
    this.#runs = indexed({ values, counts });
    this.#ids = ids;
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

  /** The same where no cut depends on its last digits: without the weights where they can be told so. */
  get rough_sums() {
    return this.#weighed ?? (this.#rough ??= this.quick_sums()) ?? this.#weigh();
  }

  #weigh() {
    return (this.#weighed ??= weigh(this, this.make_weights()));
  }

  /** Whether the weights are there already. */
  get is_weighed() {
    return this.#weighed !== null;
  }

  /** The sums where they can be told without the weights; null where they cannot. */
  quick_sums() {
    return null;
  }

  make_weights() {
    const { values, highest } = this;
    const weights = new Float64Array(values.length);
    for (let run = 0; run < values.length; run++) weights[run] = Math.exp(values[run] - highest);
    return weights;
  }

  /** Weight of one token of a run. */
  weight_of(run) {
    return this.#weighed ? this.#weighed.weights[run] : Math.exp(this.values[run] - this.highest);
  }

  /** Shannon entropy of the softmax of all scores, in nats. */
  get entropy() {
    return entropy_of(this.rough_sums);
  }

  /** The same in bits. */
  get entropy_bits() {
    return this.entropy / Math.LN2;
  }

  /** Population standard deviation of the scores. */
  get deviation() {
    return (this.#deviation ??= deviation_of(this, 0, this.count));
  }

  /** How many leading ranks have a known id. */
  get known() {
    return this.ids.length;
  }

  /** Index of the run that holds a rank. */
  run_at(rank) {
    return lower_bound(this.starts, rank) - 1;
  }

  /** Ranks down to the last token of a run. */
  end_of(run) {
    return this.starts[run] + this.counts[run];
  }

  /** Index of the run with this score, or where it would stand. */
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

  /** Token at a rank, null where only its score is known. */
  id_at(rank) {
    return rank <= this.known ? this.ids[rank - 1] : null;
  }

  /** Score at a rank. */
  value_at(rank) {
    return this.values[this.run_at(rank)];
  }

  /** Weight at a rank, relative to the highest score's. */
  weight_at(rank) {
    return this.weight_of(this.run_at(rank));
  }

  /** Sum of the weights down to and including a rank; 0 at rank 0. */
  cumulative_at(rank) {
    if (rank <= 0) return 0;
    const { weights, cumulative } = this.#weigh();
    const run = this.run_at(rank);
    const before = run ? cumulative[run - 1] : 0;
    return before + (rank - this.starts[run]) * weights[run];
  }

  /** Softmax at a rank. */
  prob_at(rank) {
    return this.weight_at(rank) / this.total;
  }

  /** How many tokens stand before this one; of those with its score only where their ids are known. */
  count_before(value, id) {
    const run = this.run_of(value);
    if (run === this.values.length) return this.count;
    const start = this.starts[run];
    if (this.values[run] !== value || start >= this.known) return start;
    return first_index(start, Math.min(this.end_of(run), this.known), place => this.ids[place] >= id);
  }

  /** Rank of a token of this ranking; `likely` is the answer where the ids of its score are not known. */
  rank_of(id, likely, value) {
    const place = this.count_before(value, id);
    return place < this.known && this.ids[place] === id ? place + 1 : likely;
  }
}

function indexed({ values, counts, ...others }) {
  if (!values.length) throw new RangeError('Every token was removed before the draw.');
  if (!Number.isFinite(values[0])) throw new RangeError('A score grew beyond every float32 number.');
  const starts = new Uint32Array(values.length);
  let count = 0;
  for (let run = 0; run < counts.length; run++) {
    starts[run] = count;
    count += counts[run];
  }
  return { values, counts, starts, count, ...others };
}

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

/** A sum over the ranks after `start` to `stop`, run by run: `term(run, count)` is added up. */
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

/** Population standard deviation of the scores at the ranks after `start` to `stop`. */
export function deviation_of(ranking, start, stop) {
  const { values, highest } = ranking;
  const number = stop - start;
  const mean = sum_over(ranking, start, stop, (run, count) => count * (values[run] - highest)) / number;
  const square = (run, count) => count * (values[run] - highest - mean) ** 2;
  return Math.sqrt(sum_over(ranking, start, stop, square) / number);
}

/** Scores divided by a temperature in float32, which can make neighbours equal. */
export class ScaledRanking extends Ranking {
  /**
   * @param {Survivors} survivors what is divided
   * @param {number} temperature above 0
   */
  constructor(survivors, temperature) {
    const { ranking, start, stop } = survivors;
    const divisor = Math.fround(temperature);
    const first = ranking.run_at(start + 1);
    const last = ranking.run_at(stop);
    const values = new Float32Array(last - first + 1);
    const counts = new Uint32Array(last - first + 1);
    const merged = []; // runs that were several
    let runs = 0;
    let latest = NaN;
    for (let run = first; run <= last; run++) {
      // A quotient of two float32, rounded to double and then to float32, is the correctly rounded one.
      const value = Math.fround(ranking.values[run] / divisor);
      if (value === -Infinity) break;
      const count = Math.min(ranking.end_of(run), stop) - Math.max(ranking.starts[run], start);
      if (value === latest) {
        counts[runs - 1] += count;
        if (merged.at(-1) !== runs - 1) merged.push(runs - 1);
      } else {
        values[runs] = value;
        counts[runs++] = count;
        latest = value;
      }
    }
    super(values.subarray(0, runs), counts.subarray(0, runs), null);
    this.parent = survivors;
    this.merged = merged;
  }

  /** Tokens whose scores became equal go by their ids; where those are not all known, what follows is not. */
  make_ids() {
    const { ranking, start, stop } = this.parent;
    let ids = ranking.ids.subarray(start, Math.max(start, Math.min(stop, ranking.known)));
    let known = Math.min(ids.length, this.count);
    let is_copy = false;
    for (const run of this.merged) {
      if (this.starts[run] >= known) break;
      if (this.end_of(run) > known) {
        known = this.starts[run];
        break;
      }
      if (!is_copy) ids = ids.slice();
      is_copy = true;
      ids.subarray(this.starts[run], this.end_of(run)).sort();
    }
    return ids.subarray(0, known);
  }

  /** The run that holds this rank, where it was several runs; -1 where it was not. */
  merged_run_at(rank) {
    if (!this.merged.length) return -1;
    const run = this.run_at(rank);
    const place = lower_bound(this.merged, run);
    return this.merged[place] === run ? run : -1;
  }

  /** Rank here of what has this rank in the parent; 0 where it is not here. */
  rank_from_parent(rank) {
    const { ranking, start, stop } = this.parent;
    const own = rank - start;
    if (rank <= start || rank > stop || own > this.count) return 0;
    if (rank > ranking.known) return own;
    const run = this.merged_run_at(own);
    return run < 0 ? own : this.rank_of(ranking.id_at(rank), own, this.values[run]);
  }

  /** Rank in the parent of what has this rank here. */
  rank_in_parent(rank) {
    const { ranking, start } = this.parent;
    const run = this.merged_run_at(rank);
    const id = this.id_at(rank);
    if (run < 0 || id === null) return start + rank;
    const last = ranking.run_at(start + this.end_of(run));
    for (let each = ranking.run_at(start + this.starts[run] + 1); each <= last; each++) {
      const end = Math.min(ranking.end_of(each), ranking.known);
      const place = first_index(ranking.starts[each], end, index => ranking.ids[index] >= id);
      if (place < end && ranking.ids[place] === id) return place + 1;
    }
    return start + rank;
  }
}
