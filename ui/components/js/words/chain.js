// Words on a chain as a whole: what leaves no token, what the default order would change, what a what-if is.

import { in_text_of, label_of, sampler_of } from '../kernel/table.js';
import { count, listed, tokens } from './format.js';

/**
 * @import { DefaultOrder, Draw, SamplerView, Table, View, WhatIf } from '../types.js'
 */

/** Whether a sampler removed tokens by rank, as greedy does too. @param {SamplerView} sampler */
export const is_cut = sampler => sampler.kind === 'cut' || sampler.case === 'greedy';

/**
 * Why nothing can be drawn with the whole chain; null where something can.
 *
 * Only edits leave no token: behind a cut one may find no other token, in front of it it would.
 *
 * @param {View | null} view
 * @param {Table} table
 * @returns {{label: string, reason: string, remedy: string} | null} `label` is the sampler's, `reason` half a
 *   sentence that begins with it, `remedy` a sentence
 */
export function nothing_left(view, table) {
  if (!view?.emptied_by) return null;
  const { samplers, emptied_by } = view;
  const label = label_of(table, emptied_by);
  const place = samplers.findIndex(({ name }) => name === emptied_by);
  const cut = samplers.slice(0, place).find(sampler => sampler.after < sampler.before && is_cut(sampler));
  const shape = sampler_of(table, emptied_by)?.value;
  const own = shape === 'biases' || shape === 'sequences' ? `Take a token off ${label}` : `Loosen ${label}`;
  const remedy = cut
    ? `Move ${label} in front of ${cut.label}, or switch one of the two off.`
    : `${own}, or switch it off.`;
  return { label, reason: `${label} removed the last token`, remedy };
}

/**
 * How the result differs from the default order's; '' where the samplers stand in it.
 *
 * @param {Pick<View, 'default_order'>} view
 * @param {Table} table
 */
export function default_order_text({ default_order }, table) {
  if (default_order.is_default) return '';
  const order = default_order.order.map(name => in_text_of(table, name)).join(', ');
  return `In the default order (${order}) ${difference(default_order)}.`;
}

/** @param {DefaultOrder} order */
function difference({ now, kept, same_tokens, same_odds, same_draw, taken_by }) {
  if (!kept) return now ? 'no token would be left' : 'no token would be left either';
  if (!now) return `${tokens(kept)} would be left, where none is left now`;
  if (same_odds) return 'the result is the same here';
  if (now === 1 && kept === 1) return 'another token is left'; // and is taken, whatever u is
  const which = same_draw ? 'the same token' : 'another token';
  const end = { greedy: `, and greedy takes ${which}`, u: `, and the same u draws ${which}`, nothing: '' }[taken_by];
  if (now !== kept) return `${tokens(kept)} would be left instead of ${count(now)}${end}`;
  if (same_tokens) return `the same ${tokens(kept)} are left, with other probabilities${end}`;
  const but = same_tokens === null ? 'with other probabilities' : 'but not the same';
  return `as many tokens are left, ${count(kept)}, ${but}${end}`;
}

/**
 * What differs where a step is shown with other settings than it was taken with.
 *
 * @param {WhatIf} what_if
 * @param {Table} table
 */
export function what_if_text({ label, changed, is_only_order, is_scale_changed }, table) {
  const end = `from this step’s own. It took \u2068${label}\u2069.`;
  if (is_only_order && !is_scale_changed)
    return `The order of ${listed(changed.map(name => in_text_of(table, name)))} differs ${end}`;
  const names = [...changed.map(name => in_text_of(table, name)), ...(is_scale_changed ? ['guidance scale'] : [])];
  return `${listed(names)} differ${names.length === 1 ? 's' : ''} ${end}`;
}
