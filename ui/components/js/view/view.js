// Row + settings + point in the chain -> view: one plain object that holds everything on screen. types.js describes its
// fields.

import { label_of as sampler_label } from '../kernel/table.js';
import { is_greedy, is_in_default_order } from './chain.js';
import { curve_of, curve_ranks } from './curve.js';
import { draw_of, what_if_of } from './draw.js';
import { cut_of, lines_of, mass_lines_of } from './lines.js';
import { chosen_row, leaders_of, leading_rows, others_of, row_of, stand_of, way_of } from './rows.js';
import { samplers_of } from './samplers.js';
import { is_as_recorded, on_show } from './what_if.js';

/**
 * @import { Point, Row, Scene, Table, Token, View, ViewRow } from '../types.js'
 * @import { Shaped } from '../kernel/shape.js'
 * @import { RowScene } from './what_if.js'
 */

/** @param {Scene} scene @returns {scene is RowScene} */
const has_row = scene => scene.row !== null;

/**
 * Everything on screen that follows from a row; null without a row.
 *
 * @param {Scene} scene
 * @returns {View | null}
 */
export function make_view(scene) {
  if (!has_row(scene)) return null;
  const { table, row } = scene;
  const { settings, shaped, missing } = on_show(scene);
  const points = points_of(table, shaped);
  const point = Math.min(scene.point ?? points.length - 1, points.length - 1);
  const stand = stand_of(scene, shaped, point);
  const rows = leading_rows(stand);
  const chosen = chosen_row(stand, rows);
  const samplers = samplers_of(scene, shaped, settings);
  const lines = lines_of(stand, settings);
  const cut = cut_of(stand);
  const draw = draw_of(stand, settings);
  const marked = [...lines, ...(cut ? [cut] : [])].flatMap(line => [line.first_rank, line.last_rank]);
  const ranks = [draw?.rank, chosen?.rank, rows.at(-1)?.rank];
  return {
    index: row.index,
    is_pending: row.is_pending,
    vocab: row.vocab,
    exact: row.exact || shaped.is_told,
    is_averaged: !row.exact,
    missing,
    settings,
    points,
    point,
    ranked: stand.ranked,
    rows,
    others: others_of(stand, rows, chosen),
    leaders: leaders_of(stand, stand.survivors),
    model_leaders: leaders_of(stand, shaped.start),
    kept: stand.survivors.count,
    emptied_by: shaped.emptied_by?.name ?? null,
    lines,
    cut,
    mass_lines: mass_lines_of(stand, settings),
    score_changes: shaped.stages
      .slice(0, stand.done)
      .map(({ name }) => name)
      .filter(name => samplers.find(sampler => sampler.name === name)?.changes_scores),
    samplers,
    default_order: is_in_default_order(table, settings) ? null : (row.shaped?.default_order ?? null),
    curve: curve_of(stand, curve_ranks(stand.base.ranking.count, [...marked, ...ranks])),
    draw,
    chosen,
    entropy: {
      model: shaped.start.entropy_bits,
      tempered: shaped.tempered_entropy,
      final: shaped.final.entropy_bits,
      shown: stand.survivors.entropy_bits,
    },
    greedy: is_greedy(shaped),
    is_guided: (row.scale ?? 1) !== 1,
    as_recorded: is_as_recorded(scene, settings),
    what_if: what_if_of(scene, settings),
  };
}

/**
 * Any token as a row of the view, wherever it ranks.
 *
 * @param {Scene} scene
 * @param {View} view made of this scene
 * @param {Token} token as found by a search
 * @returns {ViewRow | null}
 */
export function candidate(scene, view, { id, label, raw_rank = 0, logit = null }) {
  if (!has_row(scene)) return null;
  const row = row_of(stand_of(scene, on_show(scene).shaped, view.point), id, raw_rank, logit ?? -Infinity);
  return { ...row, label: label ?? row.label };
}

/**
 * A token's path through the chain, see `way_of`.
 *
 * @param {Scene} scene
 * @param {Token} token a row of the view or a search result
 */
export const trace_of = (scene, token) => (has_row(scene) ? way_of(scene, on_show(scene).shaped, token) : []);

/**
 * Tokens on screen whose labels did not come with the row.
 *
 * @param {Scene} scene
 * @param {View} view
 */
export const unlabelled = ({ row }, view) =>
  [...view.rows, ...view.leaders, ...view.model_leaders, view.draw, view.chosen]
    .map(token => token?.id ?? null)
    .filter(id => id !== null)
    .filter(id => !row?.labels.has(id));

/**
 * @param {Table} table
 * @param {Shaped} shaped
 * @returns {Point[]}
 */
function points_of(table, shaped) {
  return [
    { name: 'raw', label: 'Logits', kind: 'logits' },
    ...shaped.stages.map(({ name }) => ({
      name,
      label: sampler_label(table, name),
      kind: /** @type {const} */ ('sampler'),
    })),
    { name: 'renormalised', label: 'Softmax', kind: 'softmax' },
    { name: 'drawn', label: 'Draw', kind: 'draw' },
  ];
}
