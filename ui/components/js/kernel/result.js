// What one sampler of a chain did to a row.

/**
 * @import { Fields, Kind, Outcome } from '../types.js'
 * @import { Edit } from './edited.js'
 * @import { Survivors } from './survivors.js'
 *
 * @typedef {object} Made what a rule, or the server, made of the tokens before a sampler
 * @property {Kind} kind how it acted; greedy is a cut
 * @property {Survivors} after the tokens left
 * @property {Record<string, number | null>} figures the sampler's own; of a told one all; null: not finite
 * @property {string} case which of its sentences holds
 * @property {Edit[]} [edits] of an edit: the tokens before it whose scores it changed
 * @property {Map<number, {rank: number, score: number}>} [places] of an edit: by id, where the tokens that it touches
 *   stood just before it, rank 0 for one that was removed before
 * @property {(score: number, id: number) => number} [score_after] a token's score after it; without, it stays
 */

/** What one sampler did. Ranks count from 1. */
export class StageResult {
  /** @type {number | null} */
  #removed = null;
  /** @type {number | null} */
  #entropy = null;

  /**
   * @param {{name: string, value: number | Fields}} link
   * @param {Survivors} before
   * @param {Made} made
   * @param {Outcome} [told] what the server's engine says of it
   */
  constructor({ name, value }, before, made, told) {
    this.name = name;
    this.value = value;
    this.before = before;
    this.after = made.after;
    this.made = made;
    this.told = told;
  }

  /** Whether it acts as a cut, behind which tokens keep the probability that they had before. */
  get is_cut() {
    return this.made.kind === 'cut';
  }

  get figures() {
    return this.made.figures;
  }

  get case() {
    return this.made.case;
  }

  /**
   * Share of the probability just before that the tokens removed here held: more than nothing, however little.
   */
  get mass_removed() {
    if (this.after.count === this.before.count) return 0;
    return (this.#removed ??= Math.max(this.told?.mass_removed ?? removed_mass(this), Number.MIN_VALUE));
  }

  /** Shannon entropy in bits after it. */
  get entropy_bits() {
    return (this.#entropy ??= this.told?.entropy_bits ?? this.after.entropy_bits);
  }

  /** Whether it removed the last token. */
  get has_emptied() {
    return this.before.count > 0 && this.after.count === 0;
  }

  /** Whether the ranking before it is the one after it. */
  get is_in_place() {
    return this.before.ranking === this.after.ranking;
  }

  /**
   * Rank after this sampler of what had this rank before it; 0 for a token that it removed.
   *
   * @param {number} rank
   */
  follow(rank) {
    const { after } = this;
    const own = this.is_in_place ? rank : after.ranking.rank_from_parent(this.#in_parent(rank));
    return own && after.has(own) ? own : 0;
  }

  /** Rank before this sampler of what has this rank after it. @param {number} rank */
  follow_back(rank) {
    const { before, after } = this;
    if (this.is_in_place) return rank;
    const in_parent = after.ranking.rank_in_parent(rank);
    const is_parent = before.ranking === after.ranking.parent?.ranking;
    return is_parent ? in_parent : before.ranking.rank_from_parent(in_parent);
  }

  /**
   * A rank before it, in the ranking of which the one after it was made: edits in a row share it.
   *
   * @param {number} rank
   */
  #in_parent(rank) {
    const { before, after } = this;
    return before.ranking === after.ranking.parent?.ranking ? rank : before.ranking.rank_in_parent(rank);
  }

  /**
   * A token's score after this sampler.
   *
   * @param {number} score
   * @param {number} id
   */
  edit(score, id) {
    return this.made.score_after?.(score, id) ?? score;
  }
}

/** @param {StageResult} result */
function removed_mass({ before, after, made }) {
  if (after.count === 0) return 1;
  if (after.ranking === before.ranking) return Math.max(0, 1 - after.mass / before.mass);
  if (made.edits) {
    const { total, highest } = before.sums;
    const dropped = made.edits.filter(edit => edit.value === -Infinity);
    return dropped.reduce((sum, { score }) => sum + Math.exp(score - highest), 0) / total;
  }
  if (made.kind === 'cut') return Math.max(0, 1 - after.mass / before.mass);
  // A division that sent scores below every float32 number.
  return 1 - before.upto(before.start + after.count).mass / before.mass;
}
