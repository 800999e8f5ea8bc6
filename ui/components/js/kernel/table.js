// The table of samplers that the server sends: lookups, and orders of samplers.

/**
 * @import { Fields, Sampler, Table, Value } from '../types.js'
 */

/** @type {WeakMap<Table, Map<string, Sampler>>} */
const BY_NAME = new WeakMap();

/** A sampler by its name. @param {Table} table @param {string} name @returns {Sampler | undefined} */
export function sampler_of(table, name) {
  let known = BY_NAME.get(table);
  if (!known) {
    known = new Map(table.samplers.map(sampler => [sampler.name, sampler]));
    BY_NAME.set(table, known);
  }
  return known.get(name);
}

/**
 * A sampler's name as a heading: "Top-k". Any other name is only capitalised.
 *
 * @param {Table} table
 * @param {string} name
 */
export const label_of = (table, name) =>
  sampler_of(table, name)?.label ?? name.replace(/^./, first => first.toUpperCase());

/** A sampler's name inside a sentence: "top-k", "DRY". @param {Table} table @param {string} name */
export const in_text_of = (table, name) => sampler_of(table, name)?.in_text ?? name;

/** Names in their default order. @param {Table} table @param {string[]} names */
export const sorted = (table, names) =>
  names.toSorted((one, other) => table.order.indexOf(one) - table.order.indexOf(other));

/** Tell if names are in their default order. @param {Table} table @param {string[]} names */
export const is_sorted = (table, names) => sorted(table, names).every((name, place) => name === names[place]);

/**
 * The default place of a sampler among others: the one with the fewest samplers on the wrong side.
 *
 * @param {Table} table
 * @param {string[]} order
 * @param {string} name
 */
export function default_place(table, order, name) {
  /** @param {string} each */
  const place_of = each => table.order.indexOf(each);
  const own = place_of(name);
  let best = 0;
  let fewest = Infinity;
  for (let place = 0; place <= order.length; place++) {
    const wrong = order.filter((each, at) => at < place !== place_of(each) < own).length;
    if (wrong <= fewest) [best, fewest] = [place, wrong]; // last of equal places: after its forerunners
  }
  return best;
}

/**
 * The initial value of a sampler that has not been on yet; null if it needs a token first.
 *
 * @param {Sampler} sampler
 * @param {Record<string, Fields>} [defaults] the server's values, if they depend on the tokenizer
 * @returns {Value}
 */
export function usual_value({ name, value, numbers }, defaults = {}) {
  if (name in defaults) return defaults[name];
  if (value === 'number') return numbers[0].usual;
  if (value !== 'numbers') return null;
  return Object.fromEntries(numbers.map(number => [number.name, number.usual]));
}
