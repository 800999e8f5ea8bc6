// What the samplers of a chain did to the row on show: one entry for each that has a place, on or off.

import { chain_of, is_same_chain, value_of } from '../kernel/chain.js';
import { sampler_of } from '../kernel/table.js';

/**
 * @import { Figure, MovedToken, SamplerView, Settings } from '../types.js'
 * @import { Edit } from '../kernel/edited.js'
 * @import { StageResult } from '../kernel/result.js'
 * @import { Shaped } from '../kernel/shaped.js'
 * @import { Survivors } from '../kernel/survivors.js'
 * @import { RowScene } from './chain.js'
 */

const MOST_MOVED = 12;

/**
 * @param {RowScene} scene
 * @param {Shaped} shaped
 * @param {Settings} settings
 * @param {(id: number) => string} label_of
 * @returns {SamplerView[]}
 */
export function samplers_of(scene, shaped, settings, label_of) {
  const { table } = scene;
  const remarks = remarks_on(scene, settings);
  let before = shaped.raw.count;
  let entropy_before = shaped.raw_entropy;
  return (settings.order ?? table.order).map(name => {
    const sampler = sampler_of(table, name);
    const place = shaped.stages.findIndex(stage => stage.name === name);
    const stage = place < 0 ? null : shaped.stages[place];
    const after = stage ? stage.after.count : before;
    const entropy_after = stage ? stage.entropy_bits : entropy_before;
    const is_cut = stage !== null && place >= shaped.uncut && after < shaped.before_cuts.count;
    const extent = is_cut ? shaped.extent(place + 1) : null;
    const remark = remarks.get(name);
    const moved = stage ? moved_by(stage, label_of) : [];
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
      changes_scores: stage !== null && changes_scores(stage),
      first_rank: extent?.first ?? null,
      last_rank: extent?.last ?? null,
      figures: stage ? { ...entropies, ...figures_of(scene, stage, moved) } : {},
      case: stage?.case ?? '',
      moved,
      above: stage?.is_cut ? above_of(stage) : 0,
      no_effect: remark && !remark.has_effect ? remark.reason : null,
      remark: remark?.has_effect ? remark.reason : null,
    };
    before = after;
    entropy_before = entropy_after;
    return view;
  });
}

/**
 * The engine's remarks by sampler, where they are about this chain.
 *
 * @param {RowScene} scene
 * @param {Settings} settings
 */
function remarks_on({ table, remarks }, settings) {
  const holds = remarks && is_same_chain(chain_of(table, remarks.settings), chain_of(table, settings));
  return new Map((holds ? remarks.list : []).map(remark => [remark.name, remark]));
}

/** Whether a sampler gives tokens that are left other odds. @param {StageResult} stage */
function changes_scores({ made, before, after, is_cut, case: which }) {
  if (is_cut || !after.count) return false;
  if (made.kind === 'scale') return before.count > 1 && which !== 'none';
  return made.edits ? made.edits.some(edit => edit.value > -Infinity) : made.score_after !== undefined;
}

/**
 * What a sampler's sentences may name: its numbers, the common figures, and those of its rule.
 *
 * @param {RowScene} scene
 * @param {StageResult} stage
 * @param {MovedToken[]} moved
 * @returns {Record<string, Figure>}
 */
function figures_of({ table }, stage, moved) {
  const { name, value, before, after, made } = stage;
  const numbers = typeof value === 'number' ? { [sampler_of(table, name)?.numbers[0]?.name ?? name]: value } : value;
  const kind = stage.is_cut ? { above: above_of(stage) } : made.edits ? edit_figures(stage, made.edits) : {};
  return numeric({
    ...numbers,
    before: before.count,
    after: after.count,
    removed: before.count - after.count,
    ...kind,
    ...stage.figures,
    mass_removed: stage.mass_removed,
    names: moved.map(({ label }) => label),
  });
}

/**
 * Figures without what is no figure; one that is not finite is NaN.
 *
 * @param {Record<string, unknown>} figures
 */
function numeric(figures) {
  /** @type {Record<string, Figure>} */
  const found = {};
  for (const [name, figure] of Object.entries(figures)) {
    if (typeof figure === 'number' || name === 'names') found[name] = /** @type {Figure} */ (figure);
    else if (figure === null) found[name] = NaN;
  }
  return found;
}

/** How many tokens a cut removed in front of those that it left. @param {StageResult} stage */
const above_of = stage => (stage.after.count ? stage.follow_back(stage.after.start + 1) - stage.before.start - 1 : 0);

/**
 * Of an edit: how many tokens went which way, and their share before and after.
 *
 * @param {StageResult} stage
 * @param {Edit[]} edits
 */
function edit_figures({ before, after }, edits) {
  const rose = edits.filter(({ score, value }) => value > score).length;
  const banned = edits.filter(({ value }) => value === -Infinity).length;
  return {
    moved: edits.length,
    rose,
    fell: edits.length - rose - banned,
    banned,
    share_before: share_of(
      before,
      edits.map(({ score }) => score),
    ),
    share_after: share_of(
      after,
      edits.map(({ value }) => value),
    ),
  };
}

/**
 * The leading tokens that an edit moved, as they stood before it.
 *
 * @param {StageResult} stage
 * @param {(id: number) => string} label_of
 */
const moved_by = ({ made: { edits = [] } }, label_of) =>
  edits
    .toSorted((one, other) => other.score - one.score || one.id - other.id)
    .slice(0, MOST_MOVED)
    .map(({ id, score, value }) => ({ id, label: label_of(id), from: score, to: value }));

/**
 * What share of the survivors' probability tokens with these scores hold.
 *
 * @param {Survivors} survivors
 * @param {number[]} scores
 */
function share_of(survivors, scores) {
  if (!survivors.count || !scores.length) return 0;
  const { total, highest } = survivors.sums;
  return Math.min(1, scores.reduce((sum, score) => sum + Math.exp(score - highest), 0) / total);
}
