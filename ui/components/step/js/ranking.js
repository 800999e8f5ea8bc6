// Scores in rank order, as runs of equal scores, and the tokens still in the race: engine/ranking.py over
// runs. Ranks count from 1; equal scores are ordered by token id, lower first; sums run in float64.

/** First index from `low` at which `is_there` holds (once true, always true); `high` where it never does. */
export function first_index(low, high, is_there) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (is_there(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Every possible token in rank order. Its arrays are never changed. */
export class Ranking {
  /**
   * @param {Float32Array} values scores of the runs, descending
   * @param {Uint32Array} counts tokens in each run
   * @param {Uint16Array|Uint32Array} ids token ids in rank order, as far as they are known
   */
  constructor(values, counts, ids) {
    if (!values.length) throw new RangeError('Every token was removed before the draw.');
    if (!Number.isFinite(values[0])) throw new RangeError('A score grew beyond every float32 number.');
    this.values = values;
    this.counts = counts;
    this.ids = ids;
    this.highest = values[0];
    this.weigh();
  }

  weigh() {
    const { values, counts, highest } = this;
    const runs = values.length;
    const starts = new Uint32Array(runs); // tokens before each run
    const weights = new Float64Array(runs); // exp(score - highest), of one token
    const cumulative = new Float64Array(runs); // weights of all tokens down to the run's last
    let before = 0;
    let sum = 0;
    let total = 0;
    let moment = 0;
    // The total in blocks: thousands of small terms keep their digits that way.
    for (let block = 0; block < runs; block += 256) {
      const end = Math.min(block + 256, runs);
      let part = 0;
      let part_moment = 0;
      for (let run = block; run < end; run++) {
        const shifted = values[run] - highest;
        const weight = Math.exp(shifted);
        const mass = counts[run] * weight;
        starts[run] = before;
        before += counts[run];
        weights[run] = weight;
        sum += mass;
        cumulative[run] = sum;
        part += mass;
        part_moment += mass * shifted;
      }
      total += part;
      moment += part_moment;
    }
    Object.assign(this, { starts, weights, cumulative, total, moment, count: before });
  }

  /** Shannon entropy of the softmax of all scores, in bits. */
  get entropy_bits() {
    return Math.max(0, (Math.log(this.total) - this.moment / this.total) / Math.LN2);
  }

  /** How many leading ranks have a known id. */
  get known() {
    return this.ids.length;
  }

  /** Index of the run that holds a rank. */
  run_at(rank) {
    return first_index(0, this.starts.length, run => this.starts[run] >= rank) - 1;
  }

  /** Ranks down to the last token of a run. */
  end_of(run) {
    return this.starts[run] + this.counts[run];
  }

  /** Index of the run with this score, or where it would stand. */
  run_of(value) {
    return first_index(0, this.values.length, run => this.values[run] <= value);
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
    return this.weights[this.run_at(rank)];
  }

  /** Sum of the weights down to and including a rank; 0 at rank 0. */
  cumulative_at(rank) {
    if (rank <= 0) return 0;
    const run = this.run_at(rank);
    const before = run ? this.cumulative[run - 1] : 0;
    return before + (rank - this.starts[run]) * this.weights[run];
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
    for (let run = first; run <= last; run++) {
      // A quotient of two float32, rounded to double and then to float32, is the correctly rounded one.
      const value = Math.fround(ranking.values[run] / divisor);
      if (value === -Infinity) break;
      const count = Math.min(ranking.end_of(run), stop) - Math.max(ranking.starts[run], start);
      if (runs && values[runs - 1] === value) {
        counts[runs - 1] += count;
        if (merged.at(-1) !== runs - 1) merged.push(runs - 1);
      } else {
        values[runs] = value;
        counts[runs++] = count;
      }
    }
    const ids = ranking.ids.subarray(start, Math.min(stop, ranking.known));
    super(values.subarray(0, runs), counts.subarray(0, runs), ids);
    this.parent = survivors;
    this.merged = merged;
    this.order_merged();
  }

  /** Tokens whose scores became equal go by their ids; where those are not all known, what follows is not. */
  order_merged() {
    let { ids } = this;
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
    this.ids = ids.subarray(0, known);
  }

  /** Rank here of what has this rank in the parent; 0 where it is not here. */
  rank_from_parent(rank) {
    const { ranking, start, stop } = this.parent;
    const own = rank - start;
    if (rank <= start || rank > stop || own > this.count) return 0;
    if (!this.merged.length || rank > ranking.known) return own;
    const run = this.run_at(own);
    const place = first_index(0, this.merged.length, index => this.merged[index] >= run);
    if (this.merged[place] !== run) return own;
    return this.rank_of(ranking.id_at(rank), own, this.values[run]);
  }
}

/** Some tokens moved to other scores, the others as they were. */
export class EditedRanking extends Ranking {
  /**
   * @param {Survivors} survivors what is edited
   * @param {{rank: number, id: number, value: number}[]} edits of each moved token: its rank in the parent,
   *   its new score
   */
  constructor(survivors, edits) {
    const gone = Uint32Array.from(edits, edit => edit.rank).sort();
    const came = edits.filter(edit => edit.value > -Infinity);
    came.sort((a, b) => b.value - a.value || a.id - b.id);
    const { values, counts } = merge_runs(survivors, gone, came);
    // How many of those that stay stand before each moved one: ascending, as `came` goes down.
    const above = Uint32Array.from(came, ({ value, id }) => staying_before(survivors, gone, value, id));
    super(values, counts, merge_ids(survivors, gone, came, above));
    this.parent = survivors;
    this.gone = gone;
    this.above = above;
    this.came_ranks = new Map(came.map((edit, place) => [edit.rank, above[place] + place + 1]));
  }

  /** Rank here of what has this rank in the parent; 0 where it is not here. */
  rank_from_parent(rank) {
    const { start, stop } = this.parent;
    if (rank <= start || rank > stop) return 0;
    const before = lower_bound(this.gone, rank);
    if (this.gone[before] === rank) return this.came_ranks.get(rank) ?? 0;
    const staying = rank - start - before;
    return staying + lower_bound(this.above, staying);
  }

  /** How many of the leading `stop` ranks were not moved. */
  staying_upto(stop) {
    const { above } = this;
    return stop - first_index(0, above.length, place => above[place] + place + 1 > stop);
  }

  /** Rank in the parent of the n-th token that was not moved (n from 1). */
  parent_rank_of_staying(n) {
    const { gone } = this;
    const { start } = this.parent;
    return start + n + first_index(0, gone.length, place => gone[place] - start - place - 1 >= n);
  }
}

const lower_bound = (sorted, value) => first_index(0, sorted.length, place => sorted[place] >= value);

function staying_before({ ranking, start, stop }, gone, value, id) {
  const place = Math.min(Math.max(ranking.count_before(value, id), start), stop);
  return place - start - lower_bound(gone, place + 1);
}

function merge_runs({ ranking, start, stop }, gone, came) {
  const first = ranking.run_at(start + 1);
  const last = ranking.run_at(stop);
  const values = new Float32Array(last - first + 1 + came.length);
  const counts = new Uint32Array(values.length);
  let runs = 0;
  let left = 0; // index into gone
  let entered = 0; // index into came
  const add = (value, count) => {
    if (!count) return;
    if (runs && values[runs - 1] === value) counts[runs - 1] += count;
    else {
      values[runs] = value;
      counts[runs++] = count;
    }
  };
  for (let run = first; run <= last; run++) {
    const value = ranking.values[run];
    const end = Math.min(ranking.end_of(run), stop);
    let count = end - Math.max(ranking.starts[run], start);
    for (; left < gone.length && gone[left] <= end; left++) count--;
    for (; entered < came.length && came[entered].value > value; entered++) add(came[entered].value, 1);
    add(value, count);
  }
  for (; entered < came.length; entered++) add(came[entered].value, 1);
  return { values: values.subarray(0, runs), counts: counts.subarray(0, runs) };
}

function merge_ids({ ranking, start, stop }, gone, came, above) {
  const known = Math.min(ranking.known, stop);
  const ids = new ranking.ids.constructor(Math.max(0, known - start) + came.length);
  let filled = 0;
  let left = 0;
  let entered = 0;
  let staying = 0;
  for (let place = start; place < known; place++) {
    if (left < gone.length && gone[left] === place + 1) {
      left++;
      continue;
    }
    for (; entered < came.length && above[entered] <= staying; entered++) ids[filled++] = came[entered].id;
    ids[filled++] = ranking.ids[place];
    staying++;
  }
  // Behind the last known token a moved one may have unknown ones before it.
  if (known >= stop) for (; entered < came.length; entered++) ids[filled++] = came[entered].id;
  return ids.subarray(0, filled);
}

/** The tokens still in the race: the ranks after `start`, to and including `stop`. */
export class Survivors {
  constructor(ranking, start = 0, stop = ranking.count) {
    this.ranking = ranking;
    this.start = start;
    this.stop = stop;
  }

  get count() {
    return this.stop - this.start;
  }

  get is_cut() {
    return this.count < this.ranking.count;
  }

  /** Sum of the survivors' weights. */
  get mass() {
    if (!this.is_cut) return this.ranking.total;
    return this.ranking.cumulative_at(this.stop) - this.before;
  }

  /** Sum of the weights in front of the survivors. */
  get before() {
    return this.ranking.cumulative_at(this.start);
  }

  /** Whether a rank is in the race. */
  has(rank) {
    return rank > this.start && rank <= this.stop;
  }

  /** Shannon entropy in bits of the survivors' probabilities. */
  get entropy_bits() {
    if (!this.is_cut) return this.ranking.entropy_bits;
    if (this.count === 1) return 0;
    const { ranking, start, stop, mass } = this;
    let bits = 0;
    for (let run = ranking.run_at(start + 1), last = ranking.run_at(stop); run <= last; run++) {
      const count = Math.min(ranking.end_of(run), stop) - Math.max(ranking.starts[run], start);
      const prob = ranking.weights[run] / mass;
      if (prob > 0) bits -= count * prob * Math.log2(prob);
    }
    return Math.max(0, bits);
  }

  /** Keep the ranks to `stop`, at least one. */
  upto(stop) {
    return new Survivors(this.ranking, this.start, Math.max(this.start + 1, Math.min(stop, this.stop)));
  }

  /** Keep the `count` best, and every token equal to the last of them where `with_ties`. */
  leading(count, with_ties) {
    if (count >= this.count) return this;
    const last = this.start + count;
    return this.upto(with_ties ? this.ranking.end_of(this.ranking.run_at(last)) : last);
  }

  /** Keep the smallest set of leading tokens that holds `fraction` of the survivors' mass. */
  reaching_mass(fraction) {
    const target = this.before + fraction * this.mass;
    return this.upto(this.first_rank(sum => sum >= target));
  }

  /** Keep the tokens whose probability is at least `ratio` times the highest one's. */
  above_ratio(ratio) {
    const { weights, starts } = this.ranking;
    const least = ratio * this.ranking.weight_at(this.start + 1);
    const run = first_index(0, weights.length, index => weights[index] < least);
    return this.upto(run < weights.length ? starts[run] : this.ranking.count);
  }

  /** Rank at which the cumulative probability first exceeds `u`. */
  rank_at(u) {
    const target = this.before + u * this.mass;
    const rank = this.first_rank(sum => sum > target);
    return Math.max(this.start + 1, Math.min(rank, this.stop));
  }

  /** First rank whose cumulative weight satisfies `is_enough`; one past the last where none does. */
  first_rank(is_enough) {
    const { cumulative, starts, weights } = this.ranking;
    const run = first_index(0, cumulative.length, index => is_enough(cumulative[index]));
    if (run === cumulative.length) return this.ranking.count + 1;
    const before = run ? cumulative[run - 1] : 0;
    const is_reached = count => is_enough(before + count * weights[run]);
    return starts[run] + first_index(1, this.ranking.counts[run], is_reached);
  }
}
