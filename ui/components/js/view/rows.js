// Tokens at a point of the chain: the rows of the table, the leaders, all others, and one token's path.

import { raw_rank_of } from '../kernel/row.js';
import { raw_score } from '../kernel/shape.js';
import { has_u, is_greedy } from './chain.js';

/**
 * @import { Leader, Others, Token, ViewRow } from '../types.js'
 * @import { Ranking, Survivors } from '../kernel/ranking.js'
 * @import { Shaped } from '../kernel/shape.js'
 * @import { RowScene } from './what_if.js'
 *
 * @typedef {object} Stand the state on show at a point
 * @property {RowScene} scene
 * @property {Shaped} shaped
 * @property {number} done number of samplers up to the point
 * @property {number} ranked number of these already applied in the rows' ranking
 * @property {Survivors} base that ranking
 * @property {Survivors} survivors tokens left at the point
 * @property {boolean} is_final whether the final probabilities are known there
 * @property {boolean} is_drawn whether the draw has happened there
 * @property {number | null} chosen id of the step's token, or of the proposed one
 * @property {number | null} drawn id of the token that the step's number draws
 */

/**
 * @param {RowScene} scene
 * @param {Shaped} shaped
 * @param {number} point
 * @returns {Stand}
 */
export function stand_of(scene, shaped, point) {
  const total = shaped.stages.length;
  const done = Math.min(point, total);
  const ranked = Math.min(done, shaped.uncut);
  const drawn = drawn_id(scene, shaped);
  const { row, manual } = scene;
  const proposed = manual && row.is_pending ? drawn : null;
  return {
    scene,
    shaped,
    done,
    ranked,
    base: shaped.after(ranked),
    survivors: shaped.after(done),
    is_final: point > total,
    is_drawn: point > total + 1,
    chosen: row.chosen ?? proposed,
    drawn: point > total + 1 ? drawn : null,
  };
}

/**
 * The token that the settings on show select: the one drawn by u, or the highest one.
 *
 * @param {RowScene} scene
 * @param {Shaped} shaped
 */
function drawn_id({ row }, shaped) {
  const { final } = shaped;
  if (!final.count) return null;
  if (is_greedy(shaped)) return final.ranking.id_at(1);
  return has_u(row) ? shaped.draw(row.u).id : null;
}

/**
 * A token's label, if it was sent.
 *
 * @param {RowScene} scene
 * @param {number} id
 */
export function label_of({ row, steps }, id) {
  const own = row.chosen === id ? steps[row.index]?.label : undefined;
  return row.labels.get(id) ?? own ?? `id ${id}`;
}

/** The leading tokens of the ranking. @param {Stand} stand */
export function leading_rows(stand) {
  const { ranking } = stand.base;
  const { row_count } = stand.scene;
  return Array.from({ length: Math.min(row_count, ranking.known) }, (_, place) => row_at(stand, ranking, place + 1));
}

/**
 * The two most likely of these tokens, as far as their ids are known; `share` is over all given tokens.
 *
 * @param {Stand} stand
 * @param {Survivors} survivors
 * @returns {Leader[]}
 */
export function leaders_of(stand, survivors) {
  const { ranking, count } = survivors;
  return [1, 2]
    .filter(rank => rank <= count && ranking.id_at(rank) !== null)
    .map(rank => ({ ...row_at(stand, ranking, rank), share: survivors.prob_at(rank) }));
}

/**
 * The token at a rank whose id is known.
 *
 * @param {Stand} stand
 * @param {Ranking} ranking
 * @param {number} rank
 */
function row_at(stand, ranking, rank) {
  const id = /** @type {number} */ (ranking.id_at(rank));
  const raw_rank = raw_rank_of(stand.scene.row, id);
  return row_of(stand, id, raw_rank, raw_score(stand.scene.row, id, raw_rank));
}

/**
 * One token's row. A token at -inf has no place in the ranking and comes after all others.
 *
 * @param {Stand} stand
 * @param {number} id
 * @param {number} raw_rank
 * @param {number} logit
 * @returns {ViewRow}
 */
export function row_of(stand, id, raw_rank, logit) {
  const { scene, shaped, done, ranked, base, is_final } = stand;
  const { row } = scene;
  const token = { id, label: label_of(scene, id), chosen: stand.chosen === id, drawn: stand.drawn === id };
  if (raw_rank < 1 || raw_rank > row.possible || !Number.isFinite(logit)) {
    return {
      ...token,
      rank: Math.max(raw_rank, row.possible + 1),
      logit: -Infinity,
      score: -Infinity,
      model_prob: 0,
      prob: 0,
      cumulative: 1,
      removed_by: null,
      final_prob: is_final ? 0 : null,
    };
  }
  const ranks = shaped.trace(raw_rank);
  const out = ranks.indexOf(0);
  const is_removed = out >= 0 && out <= done;
  const { start, final } = shaped;
  /**
   * Probability from the token's own score, which differs from the bin's in a binned tail.
   *
   * @param {Survivors} survivors
   * @param {number} stages
   */
  const prob_in = ({ ranking, mass }, stages) =>
    Math.exp(shaped.score(logit, raw_rank, stages) - ranking.highest) / mass;
  const final_prob = () => (out < 0 ? prob_in(final, shaped.stages.length) : 0);
  return {
    ...token,
    rank: ranks[ranked] || base.ranking.count + 1,
    logit,
    score: shaped.score(logit, raw_rank, is_removed ? out - 1 : done),
    model_prob: prob_in(start, 0),
    prob: ranks[ranked] ? prob_in(base, ranked) : 0,
    cumulative: ranks[ranked] ? base.cumulative_at(ranks[ranked]) : 1,
    removed_by: is_removed ? shaped.stages[out - 1].name : null,
    final_prob: is_final ? final_prob() : null,
  };
}

/**
 * The row of the step's token; null if there is none yet or its rank was not sent.
 *
 * @param {Stand} stand
 * @param {ViewRow[]} rows
 */
export function chosen_row(stand, rows) {
  const { scene, chosen } = stand;
  const { row } = scene;
  if (chosen === null) return null;
  const shown = rows.find(each => each.id === chosen);
  if (shown) return shown;
  const raw_rank = raw_rank_of(row, chosen);
  if (raw_rank) return row_of(stand, chosen, raw_rank, raw_score(row, chosen, raw_rank));
  // If all ids were sent, a token without a rank is at -inf.
  return row.ids.length === row.possible ? row_of(stand, chosen, 0, -Infinity) : null;
}

/**
 * All tokens without a row, neither leading nor chosen.
 *
 * @param {Stand} stand
 * @param {ViewRow[]} rows
 * @param {ViewRow | null} chosen
 * @returns {Others}
 */
export function others_of({ scene, shaped, done, base, survivors, is_final }, rows, chosen) {
  const shown = chosen && !rows.includes(chosen) ? [...rows, chosen] : rows;
  /** @param {'prob' | 'final_prob'} name */
  const rest = name => Math.max(0, 1 - shown.reduce((total, row) => total + (row[name] ?? 0), 0));
  const removing = shaped.stages.slice(0, done).filter(({ name, before, after }) => {
    const shown_removed = shown.filter(row => row.removed_by === name).length;
    return before.count - after.count > shown_removed;
  });
  const possible = shown.filter(row => row.logit > -Infinity);
  const kept = survivors.count - possible.filter(row => row.removed_by === null).length;
  return {
    count: scene.row.vocab - shown.length,
    kept,
    prob: base.count > possible.length ? rest('prob') : 0,
    final_prob: !is_final ? null : kept > 0 ? rest('final_prob') : 0,
    removed_by: removing.length > 1 ? 'several' : (removing[0]?.name ?? null),
  };
}

/**
 * A token's path through the chain: its standing in the raw logits and after every active sampler.
 *
 * @param {RowScene} scene
 * @param {Shaped} shaped
 * @param {Token} token a row of the view or a search result
 * @returns {{name: string, rank: number | null, score: number, prob: number, removed: boolean}[]} `rank` counts the
 *   remaining tokens and `prob` is renormalised over them; a removed token keeps its last score
 */
export function way_of({ row }, shaped, { id, raw_rank = raw_rank_of(row, id), logit = null }) {
  const names = ['raw', ...shaped.stages.map(({ name }) => name)];
  if (raw_rank < 1 || raw_rank > row.possible) {
    return names.map(name => ({ name, rank: null, score: -Infinity, prob: 0, removed: true }));
  }
  const ranks = shaped.trace(raw_rank);
  const first = logit ?? raw_score(row, id, raw_rank);
  let score = first;
  return names.map((name, done) => {
    const rank = ranks[done];
    if (!rank) return { name, rank: null, score, prob: 0, removed: true };
    const { ranking, mass } = shaped.after(done);
    score = shaped.score(first, raw_rank, done);
    return { name, rank, score, prob: Math.exp(score - ranking.highest) / mass, removed: false };
  });
}
