// How the result differs from the one that the same samplers have in the default order.

import { sorted } from '../kernel/table.js';
import { has_u, is_greedy, shape_other } from './chain.js';

/**
 * @import { DefaultOrder } from '../types.js'
 * @import { Shaped } from '../kernel/shaped.js'
 * @import { RowScene } from './chain.js'
 */

const MOST_COMPARED = 500; // tokens that are looked at one by one while a slider moves

/**
 * @param {RowScene} scene
 * @param {Shaped} shaped
 * @returns {DefaultOrder}
 */
export function default_order_of(scene, shaped) {
  const chain = shaped.stages.map(({ name, value, made }) => ({ name, value, kind: made.kind }));
  const names = chain.map(({ name }) => name);
  const order = sorted(scene.table, names);
  const kept = shaped.final.count;
  const taken_by = is_greedy(shaped) ? 'greedy' : has_u(scene.row) ? 'u' : 'nothing';
  /** @type {DefaultOrder} */
  const same = {
    is_default: true,
    order,
    now: kept,
    kept,
    same_tokens: true,
    same_odds: true,
    same_draw: true,
    taken_by,
  };
  if (order.every((name, place) => name === names[place])) return same;
  const other = shape_other(
    scene,
    order.map(name => chain[names.indexOf(name)]),
  );
  if (other.missing) return same;
  const [now, then] = [shaped.final, other.final];
  const same_draw = drawn_rank(scene, shaped) === drawn_rank(scene, other);
  const same_tokens = now.count === then.count && has_same_tokens(shaped, other);
  const same_odds = same_tokens !== false && same_draw && now.count > 0 && has_same_odds(shaped, other);
  return { ...same, is_default: false, kept: then.count, same_tokens, same_odds, same_draw };
}

/**
 * Rank in the raw row of what a chain takes: the same token has the same one.
 *
 * @param {RowScene} scene
 * @param {Shaped} shaped
 */
function drawn_rank({ row }, shaped) {
  if (!shaped.final.count) return null;
  if (is_greedy(shaped)) return shaped.rank_in_row(shaped.final.start + 1);
  return has_u(row) ? shaped.rank_in_row(shaped.draw(row.u).rank) : null;
}

/**
 * Ranks after another chain of what a chain leaves, 0 for what the other removes.
 *
 * @param {Shaped} one
 * @param {Shaped} other
 */
function* ranks_in(one, other) {
  const { start, stop } = one.final;
  for (let rank = start + 1; rank <= stop; rank++) yield other.trace(one.rank_in_row(rank)).at(-1) ?? 0;
}

/**
 * Whether two chains over one row leave the same tokens; null where there are too many to compare.
 *
 * @param {Shaped} one
 * @param {Shaped} other
 */
function has_same_tokens(one, other) {
  if (one.final.count > MOST_COMPARED) return null;
  for (const rank of ranks_in(one, other)) if (!rank) return false;
  return true;
}

/**
 * Whether two chains that leave the same tokens leave them with the same probabilities.
 *
 * @param {Shaped} one
 * @param {Shaped} other
 */
function has_same_odds(one, other) {
  const [now, then] = [one.final, other.final];
  /** @param {number} own @param {number} its */
  const is_same = (own, its) => Math.abs(own - its) < 1e-9;
  if (now.count > MOST_COMPARED) {
    const [first, second] = [now, then].map(({ start }) => start + 1);
    return is_same(now.prob_at(first), then.prob_at(second)) && is_same(now.entropy_bits, then.entropy_bits);
  }
  let rank = now.start;
  for (const its of ranks_in(one, other)) if (!is_same(now.prob_at(++rank), then.prob_at(its))) return false;
  return true;
}
