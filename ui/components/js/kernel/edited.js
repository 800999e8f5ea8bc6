// A ranking of which some tokens were moved to other scores, or removed: penalties, biases, bans. The tokens that
// stay are copied in stretches, so an edit of a few costs next to nothing.

import { first_index, lower_bound, Ranking } from './ranking.js';

/**
 * @import { Ids } from './ranking.js'
 * @import { Survivors } from './survivors.js'
 * @typedef {{rank: number, id: number, score: number, value: number}} Edit a moved token: its rank in the parent, its
 *   score there, and its new one, -Infinity where it is removed
 */

/** Some tokens moved to other scores, the others as they were. */
export class EditedRanking extends Ranking {
  #parent;
  #edits;

  /**
   * @param {Survivors} survivors what is edited
   * @param {Edit[]} edits at least one token must stay
   */
  constructor(survivors, edits) {
    super();
    this.#parent = survivors;
    this.#edits = edits;
    this.gone = Uint32Array.from(edits, edit => edit.rank).sort();
    this.came = edits.filter(edit => edit.value > -Infinity);
    this.came.sort((a, b) => b.value - a.value || a.id - b.id);
    // Ranks of the parent before each moved one's new place: ascending, as `came` goes down.
    this.places = Uint32Array.from(this.came, ({ value, id }) => place_of(survivors, value, id));
    /** How many of those that stay stand before each moved one. */
    this.above = this.places.map(place => place - survivors.start - lower_bound(this.gone, place + 1));
    this.came_ranks = new Map(this.came.map((edit, place) => [edit.rank, this.above[place] + place + 1]));
  }

  /** @override */
  get parent() {
    return this.#parent;
  }

  /**
   * A further edit of what is here; made of the same parent, so that only the last of many is built.
   *
   * @param {Edit[]} edits
   */
  edited(edits) {
    const all = new Map(this.#edits.map(edit => [edit.rank, edit]));
    for (const edit of edits) {
      const rank = this.rank_in_parent(edit.rank);
      all.set(rank, { ...edit, rank });
    }
    return new EditedRanking(this.#parent, [...all.values()]);
  }

  /** @override */
  get count() {
    return this.#parent.count - this.gone.length + this.came.length;
  }

  /** @override */
  make_runs() {
    return merge_runs(this.#parent, this.gone, this.came);
  }

  /** @override */
  make_ids() {
    return merge_ids(this.#parent, this.gone, this.came, this.places);
  }

  /** @override */
  parent_ranks() {
    const { start, stop } = this.#parent;
    const ranks = new Uint32Array(this.count);
    let filled = 0;
    let left = 0;
    let entered = 0;
    for (let rank = start + 1; rank <= stop; rank++) {
      if (this.gone[left] === rank) left++;
      else {
        while (entered < this.above.length && this.above[entered] + entered <= filled) {
          ranks[filled++] = this.came[entered++].rank;
        }
        ranks[filled++] = rank;
      }
    }
    while (entered < this.came.length) ranks[filled++] = this.came[entered++].rank;
    return ranks;
  }

  /**
   * @override
   * @param {number} rank
   */
  rank_from_parent(rank) {
    const { start, stop } = this.#parent;
    if (rank <= start || rank > stop) return 0;
    const before = lower_bound(this.gone, rank);
    if (this.gone[before] === rank) return this.came_ranks.get(rank) ?? 0;
    const staying = rank - start - before;
    return staying + lower_bound(this.above, staying);
  }

  /**
   * @override
   * @param {number} rank
   */
  rank_in_parent(rank) {
    const { above, gone, came } = this;
    const entered = first_index(0, above.length, place => above[place] + place + 1 >= rank);
    if (entered < above.length && above[entered] + entered + 1 === rank) return came[entered].rank;
    const { start } = this.#parent;
    const staying = rank - entered;
    return start + staying + first_index(0, gone.length, place => gone[place] - start - place - 1 >= staying);
  }
}

/**
 * Ranks before the place where a token with this score belongs.
 *
 * @param {Survivors} survivors
 * @param {number} value
 * @param {number} id
 */
const place_of = ({ ranking, start, stop }, value, id) =>
  Math.min(Math.max(ranking.count_before(value, id), start), stop);

/**
 * The runs with what went and what came.
 *
 * @param {Survivors} survivors
 * @param {Uint32Array} gone
 * @param {Edit[]} came
 */
function merge_runs({ ranking, start, stop }, gone, came) {
  const first = ranking.run_at(start + 1);
  const last = ranking.run_at(stop);
  const values = new Float32Array(last - first + 1 + came.length);
  const counts = new Uint32Array(values.length);
  let runs = 0;
  let left = 0; // index into gone
  let entered = 0; // index into came
  /** @type {(value: number, count: number) => void} */
  const add = (value, count) => {
    if (!count) return;
    if (runs && values[runs - 1] === value) counts[runs - 1] += count;
    else {
      values[runs] = value;
      counts[runs++] = count;
    }
  };
  /** @type {(from: number, to: number) => void} */
  const copy = (from, to) => {
    if (from >= to) return;
    if (runs && values[runs - 1] === ranking.values[from]) add(ranking.values[from], ranking.counts[from++]);
    values.set(ranking.values.subarray(from, to), runs);
    counts.set(ranking.counts.subarray(from, to), runs);
    runs += to - from;
  };
  /** The next run that is not simply copied. */
  const next_changed = () =>
    Math.min(
      left < gone.length ? ranking.run_at(gone[left]) : last,
      entered < came.length ? ranking.run_of(came[entered].value) : last,
      last,
    );
  for (let run = first; run <= last; run++) {
    const changed = run === first ? run : Math.max(run, next_changed());
    copy(run, changed);
    run = changed;
    const value = ranking.values[run];
    const end = Math.min(ranking.end_of(run), stop);
    let count = end - Math.max(ranking.starts[run], start);
    for (; left < gone.length && gone[left] <= end; left++) count--;
    for (; entered < came.length && came[entered].value > value; entered++) add(came[entered].value, 1);
    for (; entered < came.length && came[entered].value === value; entered++) count++;
    add(value, count);
  }
  for (; entered < came.length; entered++) add(came[entered].value, 1);
  return { values: values.subarray(0, runs), counts: counts.subarray(0, runs) };
}

/**
 * @param {Survivors} survivors
 * @param {Uint32Array} gone
 * @param {Edit[]} came
 * @param {Uint32Array} places
 * @returns {Ids}
 */
function merge_ids({ ranking, start, stop }, gone, came, places) {
  const known = Math.max(start, Math.min(ranking.known, stop));
  const ids = new /** @type {typeof Uint32Array} */ (ranking.ids.constructor)(known - start + came.length);
  let filled = 0;
  let left = 0;
  let entered = 0;
  let from = start;
  /** @param {number} to */
  const copy = to => {
    ids.set(ranking.ids.subarray(from, to), filled);
    filled += to - from;
    from = to;
  };
  while (from < known) {
    // Behind the last known token a moved one may have unknown ones before it.
    const leaves = left < gone.length ? Math.min(gone[left] - 1, known) : known;
    const enters = entered < came.length ? Math.min(places[entered], known) : known;
    copy(Math.max(from, Math.min(leaves, enters)));
    if (enters < known && enters <= from) ids[filled++] = came[entered++].id;
    else if (leaves < known && leaves <= from) {
      from++;
      left++;
    }
  }
  if (known >= stop) for (; entered < came.length; entered++) ids[filled++] = came[entered].id;
  return ids.subarray(0, filled);
}
