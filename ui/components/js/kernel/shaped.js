// What a chain made of a row: the tokens left after each sampler, where each token went, the draw.

import { GivenRanking } from './outcomes.js';

/**
 * @import { Row } from '../types.js'
 * @import { StageResult } from './result.js'
 * @import { Ranking } from './ranking.js'
 * @import { Survivors } from './survivors.js'
 *
 * @typedef {object} Extent where the tokens left lie in the ranking before the cuts
 * @property {number} first rank of the first one there; 0 where none is left
 * @property {number} last rank of the last one
 * @property {boolean} is_contiguous whether all ranks between the two are left
 * @property {number} mass probability that they held there
 */

/** What a chain made of a row. Tokens go by their rank in the raw row, from 1. */
export class Shaped {
  /** @type {WeakMap<Ranking, Uint32Array>} */
  #origins = new WeakMap();

  /**
   * @param {Row} row
   * @param {Survivors} start
   * @param {StageResult[]} stages
   * @param {string | null} missing the sampler that only the server can compute, and has not yet; `stages` end before
   *   it
   */
  constructor(row, start, stages, missing) {
    this.row = row;
    this.start = start;
    this.stages = stages;
    this.missing = missing;
    this.raw = start.ranking;
    const cut = stages.findIndex(stage => stage.is_cut);
    /** How many samplers come before the first that cuts. */
    this.uncut = cut < 0 ? stages.length : cut;
    // A ban that left no token ends the ranking too: the tokens just before it are the last to be seen.
    const emptied = stages.findIndex(stage => stage.has_emptied);
    if (emptied >= 0) this.uncut = Math.min(this.uncut, emptied);
    /** The sampler that removed the last token; null where one is left. @type {StageResult | null} */
    this.emptied_by = stages[emptied] ?? null;
    /** The tokens just before the first cut: the ranking that tables are in. */
    this.before_cuts = this.after(this.uncut);
    this.final = this.after(stages.length);
  }

  /** The tokens left after the first `done` samplers. @param {number} done */
  after(done) {
    return done ? this.stages[done - 1].after : this.start;
  }

  /** Whether the engine has told what the whole chain, and no other, makes of a row that is here in bins. */
  get is_told() {
    const { row, stages } = this;
    return !row.exact && row.shaped?.outcomes.length === stages.length && stages.every(stage => stage.told);
  }

  /** Whether a sampler gave other scores to all tokens, of which only the leading ones came along. */
  get is_partial() {
    return this.stages.some(({ after: { ranking } }) => ranking instanceof GivenRanking && !ranking.is_whole);
  }

  /** Entropy in bits of the raw logits. */
  get raw_entropy() {
    return this.row.entropy_bits ?? this.raw.entropy_bits;
  }

  /**
   * Entropy in bits after the last sampler that divides scores or, without one, just before the first cut.
   */
  get tempered_entropy() {
    const place = this.stages.findLastIndex(({ made, case: which }) => made.kind === 'scale' || which === 'greedy');
    return this.entropy_after(place < 0 ? this.uncut : place + 1);
  }

  /** Entropy in bits after the first `done` samplers. @param {number} done */
  entropy_after(done) {
    return done ? this.stages[done - 1].entropy_bits : this.raw_entropy;
  }

  /**
   * Ranks of a token after `first`, `first` + 1, ... samplers; 0 from the one on that removed it.
   *
   * @param {number} rank after the first `first` samplers
   * @param {number} [first]
   */
  trace(rank, first = 0) {
    const ranks = [rank];
    for (let place = first; place < this.stages.length; place++) {
      ranks.push((rank &&= this.stages[place].follow(rank)));
    }
    return ranks;
  }

  /**
   * Score of a token after the first `done` samplers.
   *
   * @param {number} logit
   * @param {number} id
   * @param {number} done
   */
  score(logit, id, done) {
    let score = logit;
    for (let place = 0; place < done; place++) score = this.stages[place].edit(score, id);
    return score;
  }

  /**
   * Of the tokens left after the first `done` samplers, in their order, the ranks before the cuts; null where they
   * are a run of that very ranking.
   *
   * @param {number} done
   * @returns {Uint32Array | null}
   */
  origins(done) {
    const { ranking, start, stop } = this.after(done);
    return ranking === this.before_cuts.ranking ? null : this.#origins_of(ranking).subarray(start, stop);
  }

  /**
   * The same of all tokens of a ranking that was made behind the cuts.
   *
   * @param {Ranking} ranking
   */
  #origins_of(ranking) {
    let origins = this.#origins.get(ranking);
    if (!origins) {
      origins = ranking.parent_ranks();
      const older = /** @type {Survivors} */ (ranking.parent).ranking;
      if (older !== this.before_cuts.ranking) {
        const known = this.#origins_of(older);
        origins = origins.map(rank => known[rank - 1]);
      }
      this.#origins.set(ranking, origins);
    }
    return origins;
  }

  /**
   * Where the tokens left after the first `done` samplers lie in the ranking before the cuts.
   *
   * @param {number} done at least `uncut`
   * @returns {Extent}
   */
  extent(done) {
    const { ranking, mass } = this.before_cuts;
    const now = this.after(done);
    if (now.count === 0) return { first: 0, last: 0, is_contiguous: true, mass: 0 };
    const origins = this.origins(done);
    if (!origins) {
      return {
        first: now.start + 1,
        last: now.stop,
        is_contiguous: true,
        mass: Math.min(1, now.mass / mass),
      };
    }
    const [first, last] = ends_of(origins);
    const is_contiguous = last - first + 1 === origins.length;
    return {
      first,
      last,
      is_contiguous,
      mass: Math.min(1, weight_of_all(ranking, origins, first, last) / mass),
    };
  }

  /**
   * What the tokens down to some ranks before the cuts have in the draw, all together.
   *
   * @param {number[]} ranks ascending
   * @returns {number[]}
   */
  cumulative_final(ranks) {
    const { ranking, start, stop, mass } = this.final;
    const origins = this.origins(this.stages.length);
    if (this.final.count === 0) return ranks.map(() => 0);
    if (!origins) return ranks.map(rank => Math.min(1, this.final.upto_rank(rank) / mass));
    const weights = new Float64Array(this.before_cuts.ranking.count + 1);
    let place = 0;
    for (let run = ranking.run_at(start + 1); place < origins.length; run++) {
      const end = Math.min(ranking.end_of(run), stop) - start;
      for (; place < end; place++) weights[origins[place]] = ranking.weight_of(run);
    }
    const [, last] = ends_of(origins);
    let sum = 0;
    let rank = 0;
    return ranks.map(to => {
      while (rank < to) sum += weights[++rank];
      return to >= last ? 1 : Math.min(1, sum / mass);
    });
  }

  /**
   * The token at `u` on the cumulative distribution, in rank order from the most likely.
   *
   * @param {number} u
   * @returns {{rank: number, id: number|null, probability: number, from: number, to: number}} rank at the end of the
   *   chain; the id where it is known; its stretch of the cumulative distribution
   */
  draw(u) {
    const told = this.row.shaped?.draw;
    if (told && told.u === u && this.is_told) return told;
    const { final } = this;
    const rank = final.rank_at(u);
    return {
      rank,
      id: final.ranking.id_at(rank),
      probability: final.prob_at(rank),
      from: final.upto_rank(rank - 1) / final.mass,
      to: Math.min(1, final.upto_rank(rank) / final.mass),
    };
  }

  /** Rank before the cuts of what has this rank at the end. @param {number} rank */
  rank_before_cuts(rank) {
    const { start } = this.final;
    return this.origins(this.stages.length)?.[rank - start - 1] ?? rank;
  }
}

/** The lowest and the highest of some ranks. @param {Uint32Array} ranks */
function ends_of(ranks) {
  let [first, last] = [Infinity, 0];
  for (const rank of ranks) {
    if (rank < first) first = rank;
    if (rank > last) last = rank;
  }
  return [first, last];
}

/**
 * Sum of the weights at some ranks, which lie between two.
 *
 * @param {Ranking} ranking
 * @param {Uint32Array} ranks
 * @param {number} first
 * @param {number} last
 */
function weight_of_all(ranking, ranks, first, last) {
  const is_there = new Uint8Array(last + 1);
  for (const rank of ranks) is_there[rank] = 1;
  let sum = 0;
  let run = ranking.run_at(first);
  for (let rank = first; rank <= last; rank++) {
    if (rank > ranking.end_of(run)) run += 1;
    if (is_there[rank]) sum += ranking.weight_of(run);
  }
  return sum;
}
