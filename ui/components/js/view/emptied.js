// What to say where a chain leaves nobody: which card took the last token, and what helps.

import { stage_label } from '../words/format.js';
import { is_cut_stage } from '../kernel/rules_cut.js';

const LISTS = ['banned', 'logit_bias']; // cards that a single token can be taken off

/**
 * Why nothing can be drawn with the whole chain; null where something can.
 *
 * @param {object|null} view
 * @returns {{label: string, reason: string, remedy: string}|null} `label` is the card's, `reason` half a
 *   sentence that begins with it, `remedy` a sentence
 */
export function nothing_left(view) {
  if (!view?.emptied_by) return null;
  const label = stage_label(view.emptied_by);
  return { label, reason: `${label} took the last token`, remedy: remedy(view, label) };
}

/** Only bans and biases empty a row: behind a cut they may find no other token, in front of it they do. */
function remedy({ stages, emptied_by }, label) {
  const place = stages.findIndex(({ name }) => name === emptied_by);
  const cut = stages
    .slice(0, place)
    .find(stage => stage.on && is_cut_stage(stage) && stage.after < stage.before);
  if (cut) return `Move ${label} in front of ${stage_label(cut.name)}, or switch one of the two off.`;
  return `${LISTS.includes(emptied_by) ? 'Take a token off its card' : 'Loosen it'}, or switch it off.`;
}
