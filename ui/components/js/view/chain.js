// The chain of a scene over its row: what views, searches and traces start from.

import { chain_of, is_same_chain, is_same_link } from '../kernel/chain.js';
import { Context, is_same_value } from '../kernel/context.js';
import { shape } from '../kernel/shape.js';

/**
 * @import { Chain, Row, Scene, Settings } from '../types.js'
 * @import { Shaped } from '../kernel/shaped.js'
 *
 * @typedef {Scene & {row: Row}} RowScene a scene with a row
 * @typedef {{settings: Settings, shaped: Shaped, missing: string | null}} OnShow what a view is of: the settings,
 *   what their chain made of the row, and the sampler that kept newer settings from being shown
 */

/**
 * The settings that a scene shows: of a recorded step those that it was taken with, unless it is a what-if.
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
 * The scale of guidance that a scene shows; `row` must be made at it.
 *
 * @param {RowScene & {guidance_scale: number}} scene
 */
export const scale_on_show = ({ row, is_what_if, guidance_scale }) =>
  is_what_if ? guidance_scale : (row.recorded_scale ?? guidance_scale);

/**
 * By the array of scores: the settings whose chain was complete last.
 *
 * @type {WeakMap<Float32Array, Settings>}
 */
const COMPLETE = new WeakMap();

/**
 * What is shown. Where a sampler must be computed by the server first, these are the settings that were complete last
 * or, without any, what comes before that sampler.
 *
 * @param {RowScene} scene
 * @returns {OnShow}
 */
export function on_show(scene) {
  const { row } = scene;
  const wanted = settings_on_show(scene);
  const shaped = shape_of(scene, wanted);
  if (!shaped.missing) COMPLETE.set(row.values, wanted);
  const settings = COMPLETE.get(row.values);
  if (!shaped.missing || !settings) return { settings: wanted, shaped, missing: shaped.missing };
  return { settings, shaped: shape_of(scene, settings), missing: shaped.missing };
}

/**
 * What a chain makes of the scene's row.
 *
 * @param {RowScene} scene
 * @param {Settings} [settings]
 */
export const shape_of = (scene, settings = settings_on_show(scene)) =>
  shape(scene.row, chain_of(scene.table, settings), { context: context_of(scene) });

/**
 * What another chain makes of the row; remembered apart, as it is asked for again.
 *
 * @param {RowScene} scene
 * @param {Chain} chain
 */
export const shape_other = (scene, chain) => shape(scene.row, chain, { context: context_of(scene), keep: 'other' });

/**
 * Whether settings, and the scale of guidance, are those that the step was taken with.
 *
 * @param {RowScene} scene
 * @param {Settings} [settings]
 */
export const is_as_recorded = ({ table, row, settings: own }, settings = own) =>
  !row.recorded_settings ||
  (is_same_chain(chain_of(table, settings), chain_of(table, row.recorded_settings)) && has_recorded_scale(row));

/** Whether the row is made at the scale of guidance that the step was taken with. @param {Row} row */
export const has_recorded_scale = ({ guidance, scale, recorded_scale }) => !guidance || scale === recorded_scale;

/**
 * Samplers whose values, or places among the others, are not the same in two chains.
 *
 * @param {Chain} one
 * @param {Chain} other
 */
export function differing(one, other) {
  const names = new Set([...one, ...other].map(({ name }) => name));
  const common = one.filter(({ name }) => other.some(link => link.name === name)).map(({ name }) => name);
  const others = other.filter(({ name }) => common.includes(name)).map(({ name }) => name);
  return [...names].filter(name => {
    const [mine, its] = [one, other].map(chain => chain.find(link => link.name === name));
    if (!mine || !its || !is_same_link(mine, its)) return true;
    return common.indexOf(name) !== others.indexOf(name);
  });
}

/**
 * Whether two chains hold the same samplers with the same values.
 *
 * @param {Chain} one
 * @param {Chain} other
 */
export const is_only_order = (one, other) =>
  one.length === other.length && one.every(link => other.some(each => is_same_link(link, each)));

/**
 * Whether the row came with the number that its step is drawn with.
 *
 * @param {Row} row
 * @returns {row is Row & {u: number}}
 */
export const has_u = row => row.u !== null && row.u !== undefined;

/** Whether the most likely token is simply taken. @param {Shaped} shaped */
export const is_greedy = ({ stages }) => stages.some(stage => stage.case === 'greedy');

/**
 * By the array of scores, so that a copy of the row object finds it as well.
 *
 * @type {WeakMap<Float32Array, Context>}
 */
const CONTEXTS = new WeakMap();

/** The text in front of the row's step, and what else belongs to the step. @param {RowScene} scene */
export function context_of({ row, prompt_tokens, steps, model }) {
  const prompt_length = prompt_tokens.length;
  const length = prompt_length + Math.min(row.index, steps.length);
  const { xtc_u = null, mirostat = null } = row; // what the step before left, whatever is set now
  const known = CONTEXTS.get(row.values);
  const is_same =
    known &&
    known.token_ids.length === length &&
    known.prompt_length === prompt_length &&
    known.xtc_u === xtc_u &&
    is_same_value(known.mirostat, mirostat);
  if (is_same) return known;
  const token_ids = [...prompt_tokens, ...steps.slice(0, row.index)].map(token => token.id);
  const context = new Context(token_ids, { ...model, prompt_length, xtc_u, mirostat });
  CONTEXTS.set(row.values, context);
  return context;
}
