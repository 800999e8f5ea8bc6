// What the server's engine computed for a sampler: applied where there is no rule for it here, so that a new sampler
// needs no JavaScript, and where the row's tail is here only in bins.

import { is_same_link } from './chain.js';
import { lower_bound, Ranking } from './ranking.js';
import { learn_token } from './row.js';
import { Survivors } from './survivors.js';

/**
 * @import { Chain, Outcome, PackedRow, Row } from '../types.js'
 */

/**
 * The outcomes that hold for a chain: as far as its samplers are those that the engine ran, with the same values.
 *
 * @param {Row} row
 * @param {Chain} chain
 * @returns {Outcome[]}
 */
export function outcomes_for(row, chain) {
  const outcomes = row.shaped?.outcomes ?? [];
  const differs = chain.findIndex((link, place) => !outcomes[place] || !is_same_link(link, outcomes[place]));
  return differs < 0 ? outcomes.slice(0, chain.length) : outcomes.slice(0, differs);
}

/**
 * Take down the ranks of tokens that outcomes move, which may not have come along otherwise.
 *
 * @param {Row} row
 * @param {Outcome[]} outcomes
 */
export function learn_from(row, outcomes) {
  for (const { moved = [] } of outcomes) {
    for (const [id, raw_rank, logit] of moved) learn_token(row, { id, raw_rank, logit });
  }
}

/**
 * The tokens that a cut has left, where scores stay as they are.
 *
 * @param {Survivors} before
 * @param {Outcome} outcome
 */
export function cut_as_told(before, { kept, first = 0, survivors, mask }) {
  if (kept === 'mask' && mask) return new Survivors(new MaskedRanking(before, mask));
  return new Survivors(before.ranking, first, first + survivors);
}

/** Some of the tokens, with their scores and in their order. */
class MaskedRanking extends Ranking {
  #parent;
  #kept;

  /**
   * @param {Survivors} survivors
   * @param {Uint8Array} mask one bit for each of them in rank order, lowest bit first
   */
  constructor(survivors, mask) {
    super();
    this.#parent = survivors;
    const kept = new Uint32Array(survivors.count);
    let count = 0;
    for (let place = 0; place < survivors.count; place++) {
      if (mask[place >> 3] & (1 << (place & 7))) kept[count++] = survivors.start + place + 1;
    }
    this.#kept = kept.subarray(0, count);
  }

  /** @override */
  get parent() {
    return this.#parent;
  }

  /** @override */
  make_runs() {
    const { ranking } = this.#parent;
    const values = new Float32Array(this.#kept.length);
    const counts = new Uint32Array(this.#kept.length);
    let runs = 0;
    let run = -1; // of the parent
    for (const rank of this.#kept) {
      const own = ranking.run_at(rank);
      if (own !== run) values[runs++] = ranking.values[own];
      counts[runs - 1] += 1;
      run = own;
    }
    return { values: values.subarray(0, runs), counts: counts.subarray(0, runs) };
  }

  /** @override */
  make_ids() {
    const { ranking } = this.#parent;
    const known = this.#kept.filter(rank => rank <= ranking.known);
    return known.map(rank => ranking.ids[rank - 1]);
  }

  /** @override */
  parent_ranks() {
    return this.#kept;
  }

  /**
   * @override
   * @param {number} rank
   */
  rank_from_parent(rank) {
    const place = lower_bound(this.#kept, rank);
    return this.#kept[place] === rank ? place + 1 : 0;
  }

  /**
   * @override
   * @param {number} rank
   */
  rank_in_parent(rank) {
    return this.#kept[rank - 1];
  }
}

/**
 * Scores that an edit of all tokens left, as they came. Tokens go by their ids, as far as those are known.
 */
export class GivenRanking extends Ranking {
  #parent;
  /** @type {Map<number, number> | null} */
  #own = null;
  /** @type {Map<number, number> | null} */
  #parents = null;

  /**
   * @param {Survivors} survivors what was edited
   * @param {PackedRow} row
   */
  constructor(survivors, row) {
    super(row, row.ids);
    this.#parent = survivors;
  }

  /** @override */
  get parent() {
    return this.#parent;
  }

  /** Ranks by id here. */
  get #ranks() {
    return (this.#own ??= new Map(Array.from(this.ids, (id, place) => [id, place + 1])));
  }

  /** Ranks by id in the parent. */
  get #parent_ranks() {
    const { ranking } = this.#parent;
    return (this.#parents ??= new Map(Array.from(ranking.ids, (id, place) => [id, place + 1])));
  }

  /** Whether the ids of all tokens came along. */
  get is_whole() {
    return this.known === this.count;
  }

  /** Whether a token's place is known. @param {number} id */
  knows(id) {
    return this.is_whole || this.#ranks.has(id);
  }

  /** Score of a token; -Infinity where it is not here. @param {number} id */
  score_of(id) {
    const rank = this.#ranks.get(id);
    return rank ? this.value_at(rank) : -Infinity;
  }

  /** @override */
  parent_ranks() {
    return Uint32Array.from({ length: this.count }, (_, place) => this.rank_in_parent(place + 1));
  }

  /**
   * @override
   * @param {number} rank
   */
  rank_from_parent(rank) {
    const { ranking, start } = this.#parent;
    const id = ranking.id_at(rank);
    const own = id === null ? undefined : this.#ranks.get(id);
    if (own !== undefined) return own;
    return this.is_whole ? 0 : Math.min(rank - start, this.count);
  }

  /**
   * @override
   * @param {number} rank
   */
  rank_in_parent(rank) {
    const id = this.id_at(rank);
    const found = id === null ? undefined : this.#parent_ranks.get(id);
    return found ?? Math.min(this.#parent.start + rank, this.#parent.stop);
  }
}
