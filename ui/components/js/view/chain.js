// Questions about a chain, its order and its draw.

import { chain_of, is_same_link } from '../kernel/chain.js';
import { is_sorted } from '../kernel/table.js';

/**
 * @import { Chain, Row, Settings, Table } from '../types.js'
 * @import { Shaped } from '../kernel/shape.js'
 */

/**
 * Tell if the active samplers are in default order.
 *
 * @param {Table} table
 * @param {Settings} settings
 */
export const is_in_default_order = (table, settings) =>
  is_sorted(
    table,
    chain_of(table, settings).map(({ name }) => name),
  );

/**
 * Samplers whose values, or places among the others, differ between two chains.
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
 * Tell if two chains hold the same samplers with the same values.
 *
 * @param {Chain} one
 * @param {Chain} other
 */
export const is_only_order = (one, other) =>
  one.length === other.length && one.every(link => other.some(each => is_same_link(link, each)));

/**
 * Tell if the row came with the number for its step's draw.
 *
 * @param {Row} row
 * @returns {row is Row & {u: number}}
 */
export const has_u = row => row.u !== null && row.u !== undefined;

/** Tell if the most likely token is simply taken. @param {Shaped} shaped */
export const is_greedy = ({ stages }) => stages.some(stage => stage.case === 'greedy');
