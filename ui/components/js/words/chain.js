// Words on a chain as a whole: why no token is left, what the default order would change, how a what-if differs.

import { in_text_of, label_of, sampler_of } from '../kernel/table.js';
import { count, listed, quoted, tokens } from './format.js';
import { marked, say } from './say.js';

/**
 * @import { DefaultOrder, Draw, SamplerView, Table, View, WhatIf } from '../types.js'
 */

/** Tell if a sampler removed tokens by rank, as greedy does too. @param {SamplerView} sampler */
export const is_cut = sampler => sampler.kind === 'cut' || sampler.case === 'greedy';

/**
 * A sampler's name within a sentence; at temperature 0, greedy is named instead of temperature.
 *
 * @param {SamplerView[]} samplers
 * @param {string|null} name
 */
export function name_in(samplers, name) {
  const sampler = samplers.find(each => each.name === name);
  return sampler?.case === 'greedy' ? say('greedy') : (sampler?.in_text ?? name ?? '');
}

/**
 * The reason why nothing can be drawn with the whole chain; null if something can.
 *
 * Only edits leave no token. After a cut, an edit may find no other token; before the cut it would.
 *
 * @param {View | null} view
 * @param {Table} table
 * @returns {{label: string, reason: string, remedy: string} | null} `label` is the sampler's; `reason` is half a
 *   sentence that begins with the label; `remedy` is a sentence
 */
export function nothing_left(view, table) {
  if (!view?.emptied_by) return null;
  const { samplers, emptied_by } = view;
  const label = label_of(table, emptied_by);
  const place = samplers.findIndex(({ name }) => name === emptied_by);
  const cut = samplers.slice(0, place).find(sampler => sampler.after < sampler.before && is_cut(sampler));
  const shape = sampler_of(table, emptied_by)?.value;
  const reason = say('{sampler} removed the last token', { sampler: label });
  const values = { sampler: label, cut: cut?.label ?? '' };
  if (cut)
    return { label, reason, remedy: say('Move {sampler} in front of {cut}, or switch one of the two off.', values) };
  const is_list = shape === 'biases' || shape === 'sequences';
  const remedy = is_list
    ? say('Remove a token from {sampler}, or switch it off.', { sampler: label })
    : say('Loosen {sampler}, or switch it off.', { sampler: label });
  return { label, reason, remedy };
}

/**
 * The difference from the default order's result; '' if the samplers are in default order.
 *
 * @param {Pick<View, 'default_order'>} view
 * @param {Table} table
 */
export function default_order_text({ default_order }, table) {
  if (!default_order) return '';
  const order = default_order.order.map(name => in_text_of(table, name)).join(', ');
  return difference(default_order, order);
}

/**
 * The token finally taken, as a clause that follows others.
 *
 * @type {Record<DefaultOrder['taken_by'], [string, string]>}
 */
const TAKEN = {
  greedy: [marked(', and greedy takes the same token'), marked(', and greedy takes a different token')],
  u: [marked(', and the same u draws the same token'), marked(', and the same u draws a different token')],
  nothing: ['', ''],
};

/** @param {DefaultOrder} difference @param {string} order its samplers' names */
function difference({ now, kept, same_tokens, same_odds, same_draw, taken_by }, order) {
  const values = { order, tokens: tokens(kept), count: count(kept), now: count(now), taken: '' };
  if (!kept)
    return now
      ? say('In the default order ({order}) no token would be left.', values)
      : say('In the default order ({order}) no token would be left either.', values);
  if (!now) return say('In the default order ({order}) {tokens} would be left; now none is left.', values);
  if (same_odds) return say('In the default order ({order}) the result is the same here.', values);
  // This token is taken, whatever u is.
  if (now === 1 && kept === 1) return say('In the default order ({order}) a different token is left.', values);
  const taken = TAKEN[taken_by][same_draw ? 0 : 1];
  values.taken = taken && say(taken);
  if (now !== kept)
    return say('In the default order ({order}) {tokens} would be left instead of {now}{taken}.', values);
  return same_tokens
    ? say('In the default order ({order}) the same {tokens} are left, with other probabilities{taken}.', values)
    : say('In the default order ({order}) as many tokens are left, {count}, but not the same{taken}.', values);
}

/**
 * The differences between the settings on show and those that the step was taken with.
 *
 * @param {WhatIf} what_if
 * @param {Table} table
 */
export function what_if_text({ label, changed, is_only_order, is_scale_changed }, table) {
  const token = quoted(label, Infinity);
  const names = changed.map(name => in_text_of(table, name));
  if (is_only_order && !is_scale_changed)
    return say('The order of {names} differs from this step’s own. It took {token}.', { names: listed(names), token });
  if (is_scale_changed) names.push(say('guidance scale'));
  return names.length === 1
    ? say('{name} differs from this step’s own. It took {token}.', { name: names[0], token })
    : say('{names} differ from this step’s own. It took {token}.', { names: listed(names), token });
}
