// Settings -> the chain: the active samplers and their order.

import { sampler_of } from './table.js';

/**
 * @import { Chain, Fields, Link, Settings, Table, Value } from '../types.js'
 */

/**
 * A sampler's value; its off value if the settings do not name it.
 *
 * @param {Table} table
 * @param {Settings} settings
 * @param {string} name
 * @returns {Value}
 */
export const value_of = (table, settings, name) =>
  /** @type {Value | undefined} */ (settings[name]) ?? sampler_of(table, name)?.off ?? null;

/**
 * Tell if a sampler is on: it has a value that is neither its off value nor an empty list.
 *
 * @param {Table} table
 * @param {Settings} settings
 * @param {string} name
 */
export function is_on(table, settings, name) {
  const sampler = sampler_of(table, name);
  const value = value_of(table, settings, name);
  if (!sampler || value === null || value === sampler.off) return false;
  const fields = typeof value === 'object' ? Object.values(value) : [];
  return !(fields.length === 1 && Array.isArray(fields[0]) && fields[0].length === 0);
}

/**
 * The active samplers, in the order of the settings (by default, the table's order).
 *
 * @param {Table} table
 * @param {Settings} settings
 * @returns {Chain}
 */
export const chain_of = (table, settings) =>
  (settings.order ?? table.order)
    .filter(name => is_on(table, settings, name))
    .map(name => ({
      name,
      value: /** @type {number | Fields} */ (value_of(table, settings, name)),
      kind: sampler_of(table, name)?.kind,
    }));

/**
 * Tell if two chains have the same samplers with the same values in the same order.
 *
 * @param {Chain} one
 * @param {Chain} other
 */
export const is_same_chain = (one, other) =>
  one.length === other.length && one.every((link, place) => is_same_link(link, other[place]));

/** @param {Omit<Link, 'kind'>} one @param {Omit<Link, 'kind'>} other */
export const is_same_link = (one, other) => one.name === other.name && is_same_value(one.value, other.value);

/**
 * Tell if two settings' values are the same: numbers, or plain objects and lists of them.
 *
 * @param {unknown} one
 * @param {unknown} other
 * @returns {boolean}
 */
export function is_same_value(one, other) {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || !one || !other) return false;
  const others = new Map(Object.entries(other));
  const entries = Object.entries(one);
  return (
    entries.length === others.size &&
    entries.every(([key, value]) => others.has(key) && is_same_value(value, others.get(key)))
  );
}
