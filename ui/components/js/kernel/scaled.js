// A ranking of which all scores were divided: a temperature.

import { first_index, lower_bound, Ranking } from './ranking.js';

/**
 * @import { Survivors } from './survivors.js'
 */

/** Scores divided by a temperature in float32, which can make neighbours equal. */
export class ScaledRanking extends Ranking {
  #parent;

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
    /** @type {number[]} */
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
    super({ values: values.subarray(0, runs), counts: counts.subarray(0, runs) });
    this.#parent = survivors;
    this.merged = merged;
  }

  /** @override */
  get parent() {
    return this.#parent;
  }

  /**
   * Tokens whose scores became equal go by their ids; where those are not all known, what follows is not.
   *
   * @override
   */
  make_ids() {
    const { ranking, start, stop } = this.#parent;
    const ids = ranking.ids.slice(start, Math.max(start, Math.min(stop, ranking.known)));
    let known = Math.min(ids.length, this.count);
    for (const run of this.merged) {
      if (this.starts[run] >= known) break;
      if (this.end_of(run) > known) {
        known = this.starts[run];
        break;
      }
      ids.subarray(this.starts[run], this.end_of(run)).sort();
    }
    return ids.subarray(0, known);
  }

  /** @override */
  parent_ranks() {
    const { start } = this.#parent;
    const ranks = new Uint32Array(this.count);
    for (let place = 0; place < ranks.length; place++) ranks[place] = start + 1 + place;
    for (const run of this.merged) {
      if (this.end_of(run) > this.known) break;
      for (let place = this.starts[run]; place < this.end_of(run); place++) {
        ranks[place] = this.rank_in_parent(place + 1);
      }
    }
    return ranks;
  }

  /** The run that holds this rank, where it was several runs; -1 where it was not. @param {number} rank */
  merged_run_at(rank) {
    if (!this.merged.length) return -1;
    const run = this.run_at(rank);
    const place = lower_bound(this.merged, run);
    return this.merged[place] === run ? run : -1;
  }

  /**
   * @override
   * @param {number} rank
   */
  rank_from_parent(rank) {
    const { ranking, start, stop } = this.#parent;
    const own = rank - start;
    if (rank <= start || rank > stop || own > this.count) return 0;
    const id = ranking.id_at(rank);
    const run = id === null ? -1 : this.merged_run_at(own);
    return id === null || run < 0 ? own : this.rank_of(id, own, this.values[run]);
  }

  /**
   * @override
   * @param {number} rank
   */
  rank_in_parent(rank) {
    const { ranking, start } = this.#parent;
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
