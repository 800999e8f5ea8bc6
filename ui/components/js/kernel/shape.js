// A row of raw logits and a chain of settings -> the tokens that every sampler leaves, each token's path, and the draw.

import { is_same_link } from './chain.js';
import { Ranking, Survivors } from './ranking.js';
import { learn_token, told_score } from './row.js';
import { stage_of } from './stages.js';

/**
 * @import { Chain, PackedRow, Row } from '../types.js'
 * @import { Stage } from './stages.js'
 *
 * @typedef {{first: number, last: number, is_contiguous: boolean, mass: number}} Extent the remaining tokens' place in
 *   the ranking before the cuts: rank of the first one (0 if none is left) and of the last one, whether all ranks
 *   between the two are left, and the tokens' probability there
 */

/**
 * By the array of scores: the raw tokens, and the last chain's results for them.
 *
 * @type {WeakMap<Float32Array, {start: Survivors, stages: Stage[]}>}
 */
const MEMORY = new WeakMap();

/** @param {Row} row */
function memory_of(row) {
  let memory = MEMORY.get(row.values);
  if (!memory) {
    const { total: mass, entropy_bits } = row;
    const raw = new Ranking(row, row, row.ids.length);
    const told = mass !== undefined && entropy_bits !== undefined ? { mass, entropy_bits } : null;
    memory = { start: new Survivors(raw, raw.count, told), stages: [] };
    MEMORY.set(row.values, memory);
  }
  return memory;
}

/**
 * Run a chain over a row. The part shared with the last call for this row is not recomputed. The server's results apply
 * as long as the samplers are those that the engine ran, with the same values.
 *
 * @param {Row} row
 * @param {Chain} chain
 */
export function shape(row, chain) {
  const memory = memory_of(row);
  const remembered = memory.stages;
  const outcomes = row.shaped?.outcomes ?? [];
  /** @type {Stage[]} */
  const stages = [];
  let before = memory.start;
  let [is_told, is_same] = [true, true];
  let missing = null;
  for (const [place, link] of chain.entries()) {
    const [known, outcome] = [remembered[place], outcomes[place]];
    is_told &&= Boolean(outcome) && is_same_link(link, outcome);
    const told = is_told ? outcome : undefined;
    for (const [id, raw_rank, logit] of told?.moved ?? []) learn_token(row, { id, raw_rank, logit });
    is_same &&= Boolean(known) && is_same_link(known, link) && known.told === told;
    const stage = is_same ? known : stage_of(link, before, told);
    if (!stage) {
      missing = link.name;
      break;
    }
    stages.push(stage);
    before = stage.after;
  }
  memory.stages = stages;
  return new Shaped(row, memory.start, stages, missing);
}

/**
 * Logit of a token whose rank is known; exact even in a binned tail, if its score was sent.
 *
 * @param {Row} row
 * @param {number} id
 * @param {number} raw
 */
export const raw_score = (row, id, raw) => told_score(row, id) ?? memory_of(row).start.ranking.value_at(raw);

/** A chain's results for a row. Tokens are identified by their rank in the raw row, from 1. */
export class Shaped {
  /**
   * By the remaining tokens: their ranks, unless these are a run from the first.
   *
   * @type {Map<Survivors, Uint32Array>}
   */
  #origins = new Map();

  /**
   * @param {Row} row
   * @param {Survivors} start
   * @param {Stage[]} stages
   * @param {string | null} missing the sampler that only the server can compute and has not computed yet; `stages` end
   *   before it
   */
  constructor(row, start, stages, missing) {
    this.row = row;
    this.start = start;
    this.stages = stages;
    this.missing = missing;
    const ends = stages.findIndex(({ kind, after }) => kind === 'cut' || !after.count);
    /** Number of samplers before the first that cuts or that left no token. */
    this.uncut = ends < 0 ? stages.length : ends;
    /** The sampler that removed the last token; undefined if one is left. */
    this.emptied_by = stages.find(({ after }) => !after.count);
    /** The tokens just before the first cut: the ranking of the table's rows. */
    this.before_cuts = this.after(this.uncut);
    this.final = this.after(stages.length);
  }

  /** The tokens left after the first `done` samplers. @param {number} done */
  after(done) {
    return done ? this.stages[done - 1].after : this.start;
  }

  /** Tell if the engine has reported the results of exactly this chain for a row that is here in bins. */
  get is_told() {
    const { row, stages } = this;
    return !row.exact && row.shaped?.outcomes.length === stages.length && stages.every(stage => stage.told);
  }

  /** Entropy in bits after the last sampler that divides scores or, without one, just before the first cut. */
  get tempered_entropy() {
    const place = this.stages.findLastIndex(({ kind, case: which }) => kind === 'scale' || which === 'greedy');
    return this.after(place < 0 ? this.uncut : place + 1).entropy_bits;
  }

  /** Ranks of a token after 0, 1, ... samplers; 0 from the sampler that removed it. @param {number} raw */
  trace(raw) {
    return [raw, ...this.stages.map(({ after }) => after.place(raw))];
  }

  /**
   * Score of a token after the first `done` samplers.
   *
   * @param {number} logit
   * @param {number} raw
   * @param {number} done
   */
  score(logit, raw, done) {
    return this.stages.slice(0, done).reduce((score, stage) => stage.score(score, raw), logit);
  }

  /**
   * The ranks before the cuts of the tokens left after the first `done` samplers, in their order; null if they are the
   * first of that ranking.
   *
   * @param {number} done
   */
  origins(done) {
    const left = this.after(done);
    const { ranking } = this.before_cuts;
    if (left.ranking === ranking) return null;
    let origins = this.#origins.get(left);
    if (!origins) {
      origins = new Uint32Array(left.count);
      for (let place = 0; place < left.count; place++) origins[place] = ranking.place(left.ranking.raw_at(place + 1));
      this.#origins.set(left, origins);
    }
    return origins;
  }

  /**
   * The extent, in the ranking before the cuts, of the tokens left after the first `done` samplers.
   *
   * @param {number} done at least `uncut`
   * @returns {Extent}
   */
  extent(done) {
    const { ranking, mass } = this.before_cuts;
    const { count, mass: own } = this.after(done);
    if (!count) return { first: 0, last: 0, is_contiguous: true, mass: 0 };
    const origins = this.origins(done);
    if (!origins) return { first: 1, last: count, is_contiguous: true, mass: Math.min(1, own / mass) };
    const is_left = new Uint8Array(ranking.count);
    for (const rank of origins) is_left[rank - 1] = 1;
    let [first, last, sum, place, found] = [0, 0, 0, 0, 0];
    for (let run = 0; found < count; run++) {
      for (const end = ranking.end_of(run); place < end; place++) {
        if (!is_left[place]) continue;
        found += 1;
        last = place + 1;
        first ||= last;
        sum += ranking.weighed.weights[run];
      }
    }
    return { first, last, is_contiguous: last - first + 1 === count, mass: Math.min(1, sum / mass) };
  }

  /**
   * The total probability in the draw of the tokens up to each rank before the cuts.
   *
   * @param {number[]} ranks ascending
   */
  cumulative_final(ranks) {
    const { final, before_cuts } = this;
    const origins = this.origins(this.stages.length);
    if (!final.count) return ranks.map(() => 0);
    if (!origins) return ranks.map(rank => final.cumulative_at(rank));
    const probs = new Float64Array(before_cuts.ranking.count + 1);
    let [place, last, sum, rank] = [0, 0, 0, 0];
    for (let run = 0; place < final.count; run++) {
      const prob = final.ranking.weighed.weights[run] / final.mass;
      for (const end = Math.min(final.ranking.end_of(run), final.count); place < end; place++) {
        probs[origins[place]] = prob;
        if (origins[place] > last) last = origins[place];
      }
    }
    return ranks.map(to => {
      if (to >= last) return 1;
      while (rank < to) sum += probs[++rank];
      return Math.min(1, sum);
    });
  }

  /**
   * The token at `u` on the cumulative distribution, with its rank at the end of the chain and its interval there.
   *
   * @param {number} u
   * @returns {{rank: number, id: number | null, probability: number, from: number, to: number}}
   */
  draw(u) {
    const { final } = this;
    const told = this.row.shaped?.draw;
    if (told && told.u === u && this.is_told) return { ...told, rank: told.rank - final.ranking.skipped };
    const rank = final.rank_at(u);
    const [from, to] = [final.cumulative_at(rank - 1), final.cumulative_at(rank)];
    return { rank, id: final.ranking.id_at(rank), probability: final.prob_at(rank), from, to };
  }
}
