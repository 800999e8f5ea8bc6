// What-if: the recorded settings of a step, or those on screen, over its row.

import { chain_of, is_same_chain } from '../kernel/chain.js';
import { shape } from '../kernel/shape.js';
import { is_in_default_order } from './chain.js';

/**
 * @import { Row, Scene, Settings, Table } from '../types.js'
 * @import { Shaped } from '../kernel/shape.js'
 *
 * @typedef {Scene & {row: Row}} RowScene a scene with a row
 * @typedef {{settings: Settings, shaped: Shaped, missing: string | null}} OnShow a view's basis: the settings, their
 *   chain's results for the row, and the sampler that kept newer settings from being shown
 */

/**
 * The settings that a scene shows: those recorded with a step, unless it is a what-if.
 *
 * @param {RowScene} scene
 * @returns {Settings}
 */
export function settings_on_show({ table, row, settings, is_what_if }) {
  const recorded = row.recorded_settings;
  if (!recorded || is_what_if || is_same_chain(chain_of(table, settings), chain_of(table, recorded))) return settings;
  const places = recorded.order ?? table.order;
  const off = (settings.order ?? []).filter(name => !places.includes(name));
  return { ...recorded, order: [...places, ...off] };
}

/**
 * Tell if a scene shows the row at the row's own guidance scale.
 *
 * @param {RowScene} scene
 */
const is_at_scale = ({ row, is_what_if, guidance_scale }) =>
  (row.scale ?? null) === null || row.scale === (is_what_if ? guidance_scale : (row.recorded_scale ?? guidance_scale));

/**
 * By the array of scores: the last settings whose chain was complete.
 *
 * @type {WeakMap<Float32Array, Settings>}
 */
const COMPLETE = new WeakMap();

/**
 * The content on show. If the server has to shape the row first, these are the last complete settings. Without any, it
 * is everything before the first sampler that the server has not reported.
 *
 * @param {RowScene} scene
 * @returns {OnShow}
 */
export function on_show(scene) {
  const { row, table } = scene;
  const wanted = settings_on_show(scene);
  const shaped = shape(row, chain_of(table, wanted));
  const missing = is_at_scale(scene) ? (shaped.missing ?? unordered(table, row, wanted)) : 'guidance';
  if (!missing) COMPLETE.set(row.values, wanted);
  const settings = COMPLETE.get(row.values);
  if (!missing || !settings) return { settings: wanted, shaped, missing };
  return { settings, shaped: shape(row, chain_of(table, settings)), missing };
}

/**
 * A sampler out of its default order, if the server has not yet compared the two orders; null otherwise.
 *
 * @param {Table} table
 * @param {Row} row
 * @param {Settings} settings
 */
function unordered(table, row, settings) {
  const chain = chain_of(table, settings);
  const told = row.shaped && chain_of(table, row.shaped.settings);
  if ((told && is_same_chain(chain, told)) || is_in_default_order(table, settings)) return null;
  return chain[0].name;
}

/**
 * Tell if the settings and the guidance scale are those of the recorded step.
 *
 * @param {RowScene} scene
 * @param {Settings} [settings]
 */
export const is_as_recorded = ({ table, row, settings: own }, settings = own) =>
  !row.recorded_settings ||
  (is_same_chain(chain_of(table, settings), chain_of(table, row.recorded_settings)) && has_recorded_scale(row));

/** Tell if the row is made at the step's recorded guidance scale. @param {Row} row */
export const has_recorded_scale = ({ scale, recorded_scale }) => (scale ?? null) === null || scale === recorded_scale;
