// The effects of a chain's samplers on the row on show: one entry for each that has a place, on or off.

import { chain_of, is_same_chain, value_of } from '../kernel/chain.js';
import { sampler_of } from '../kernel/table.js';
import { label_of } from './rows.js';

/**
 * @import { Figure, SamplerView, Settings } from '../types.js'
 * @import { Shaped } from '../kernel/shape.js'
 * @import { Stage } from '../kernel/stages.js'
 * @import { RowScene } from './what_if.js'
 */

/**
 * @param {RowScene} scene
 * @param {Shaped} shaped
 * @param {Settings} settings
 * @returns {SamplerView[]}
 */
export function samplers_of(scene, shaped, settings) {
  const { table } = scene;
  const remarks = remarks_on(scene, settings);
  let { count: before, entropy_bits: entropy_before } = shaped.start;
  return (settings.order ?? table.order).map(name => {
    const sampler = sampler_of(table, name);
    const place = shaped.stages.findIndex(stage => stage.name === name);
    const stage = place < 0 ? null : shaped.stages[place];
    const after = stage ? stage.after.count : before;
    const entropy_after = stage ? stage.after.entropy_bits : entropy_before;
    const is_cut = stage !== null && place >= shaped.uncut && after < shaped.before_cuts.count;
    const extent = is_cut ? shaped.extent(place + 1) : null;
    const remark = remarks.get(name);
    const moved = (stage?.told?.leading ?? []).map(([id, from, to]) => ({
      ...{ id, label: label_of(scene, id), from, to: to ?? -Infinity },
    }));
    const entropies = { entropy_before, entropy_after };
    /** @type {SamplerView} */
    const view = {
      name,
      label: sampler?.label ?? name,
      in_text: sampler?.in_text ?? name,
      kind: sampler?.kind ?? 'cut',
      on: stage !== null,
      value: value_of(table, settings, name),
      before,
      after,
      mass_removed: stage?.mass_removed ?? 0,
      ...entropies,
      changes_scores: stage?.changes_odds ?? false,
      first_rank: extent?.first ?? null,
      last_rank: extent?.last ?? null,
      figures: stage ? { ...entropies, ...figures_of(scene, stage), names: moved.map(({ label }) => label) } : {},
      case: stage?.case ?? '',
      moved,
      above: stage?.figures.above ?? 0,
      no_effect: remark && !remark.has_effect ? remark.reason : null,
      remark: remark?.has_effect ? remark.reason : null,
    };
    before = after;
    entropy_before = entropy_after;
    return view;
  });
}

/**
 * The engine's remarks by sampler, if they are about this chain.
 *
 * @param {RowScene} scene
 * @param {Settings} settings
 */
function remarks_on({ table, remarks }, settings) {
  const holds = remarks && is_same_chain(chain_of(table, remarks.settings), chain_of(table, settings));
  return new Map((holds ? remarks.list : []).map(remark => [remark.name, remark]));
}

/**
 * The values that a sampler's sentences may name: its numbers, the common figures, and those of its rule; NaN if not
 * finite.
 *
 * @param {RowScene} scene
 * @param {Stage} stage
 * @returns {Record<string, Figure>}
 */
function figures_of({ table }, { name, value, figures }) {
  const numbers = typeof value === 'number' ? { [sampler_of(table, name)?.numbers[0]?.name ?? name]: value } : value;
  /** @type {[string, any][]} */
  const all = Object.entries({ ...numbers, ...figures });
  const known = all.filter(([, figure]) => typeof figure === 'number' || figure === null);
  return Object.fromEntries(known.map(([key, figure]) => [key, figure ?? NaN]));
}
