// The draw, and the actual outcome if a recorded step is shown with different settings.

import { chain_of } from '../kernel/chain.js';
import { raw_rank_of } from '../kernel/row.js';
import { differing, has_u, is_greedy, is_only_order } from './chain.js';
import { label_of } from './rows.js';
import { has_recorded_scale, is_as_recorded } from './what_if.js';

/**
 * @import { Draw, Settings, WhatIf } from '../types.js'
 * @import { Shaped } from '../kernel/shape.js'
 * @import { RowScene } from './what_if.js'
 * @import { Stand } from './rows.js'
 */

/**
 * The token that the step's number draws; null at points before the draw, or if nothing is drawn.
 *
 * @param {Stand} stand
 * @param {Settings} settings
 * @returns {Draw | null}
 */
export function draw_of({ scene, shaped, is_drawn }, settings) {
  const { row } = scene;
  if (!is_drawn || !has_u(row) || is_greedy(shaped) || !shaped.final.count) return null;
  const { u } = row;
  const { rank, id, probability, from, to } = shaped.draw(u);
  const drawn = id ?? drawn_beyond(scene, shaped, rank, settings);
  const own = shaped.before_cuts.ranking.place(shaped.final.ranking.raw_at(rank));
  const [below] = shaped.cumulative_final([own - 1]);
  const level = shaped.origins(shaped.stages.length) ? Math.min(1, below + (u - from)) : u;
  return {
    u,
    rank: own,
    id: drawn,
    label: drawn === null ? null : label_of(scene, drawn),
    probability,
    from,
    to,
    level,
    same: drawn !== null && drawn === row.chosen,
  };
}

/**
 * A token beyond the ids that were sent. It may still be recognisable as the step's own.
 *
 * @param {RowScene} scene
 * @param {Shaped} shaped
 * @param {number} rank
 * @param {Settings} settings
 */
function drawn_beyond(scene, shaped, rank, settings) {
  const { row } = scene;
  if (row.chosen === null) return null;
  const raw_rank = raw_rank_of(row, row.chosen);
  const is_own = raw_rank > 0 && shaped.trace(raw_rank).at(-1) === rank;
  // Ranks within a bin cannot be told apart, but the same settings draw the same token.
  const is_repeated = !row.exact && !row.forced && is_as_recorded(scene, settings);
  return is_own || is_repeated ? row.chosen : null;
}

/**
 * The actual outcome of a recorded step that is shown with different settings; null if it is shown as recorded.
 *
 * @param {RowScene} scene
 * @param {Settings} settings
 * @returns {WhatIf | null}
 */
export function what_if_of(scene, settings) {
  const { table, row, steps } = scene;
  if (!row.recorded_settings || row.chosen === null || is_as_recorded(scene, settings)) return null;
  const step = /** @type {Partial<import('../types.js').Step>} */ (steps[row.index] ?? {});
  return {
    id: row.chosen,
    label: label_of(scene, row.chosen),
    forced: row.forced,
    probability: step.probability ?? null,
    u: row.u,
    survivors: step.survivors ?? null,
    settings: row.recorded_settings,
    changed: differing(chain_of(table, settings), chain_of(table, row.recorded_settings)),
    is_only_order: is_only_order(chain_of(table, settings), chain_of(table, row.recorded_settings)),
    is_scale_changed: !has_recorded_scale(row),
  };
}
