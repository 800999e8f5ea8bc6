// What the stages of a chain did to the row on show: one entry a card, the line between kept and removed, and
// how the result differs from that of the default order.

import { count, stage_name, tokens } from '../words/format.js';
import { remarks } from './remarks.js';
import { DEFAULT_ORDER, is_cut_stage } from '../kernel/shape.js';
import { has_u, is_greedy, shape_other } from './chain.js';

const MOST_EDITED = 12;
const MOST_COMPARED = 500; // tokens that are looked at one by one while a slider moves
const INNER = ['after', 'touched', 'edits', 'unknown', 'places', 'divisor']; // the arithmetic's own

/** One entry for every card, on or off, in the order of the cards. */
export function stages_of(shaped, settings, label_of) {
  const known = remarks(shaped.stages);
  let before = shaped.raw.count;
  let entropy_before = shaped.raw.entropy_bits;
  return (settings.order ?? DEFAULT_ORDER).map(name => {
    const place = shaped.stages.findIndex(stage => stage.name === name);
    const stage = shaped.stages[place];
    const after = stage ? stage.after.count : before;
    const entropy_after = stage ? stage.entropy_bits : entropy_before;
    const is_cut = stage && is_cut_stage(stage) && after < shaped.before_cuts.count;
    const extent = is_cut ? shaped.extent(place + 1) : null;
    const remark = known[place] ?? null;
    const result = {
      name,
      on: stage !== undefined,
      value: settings[name],
      before,
      after,
      mass_removed: stage ? stage.mass_removed : 0,
      entropy_before,
      entropy_after,
      first_rank: extent?.first ?? 1,
      last_rank: extent?.rank ?? null,
      tied: name === 'top_k' && stage ? Math.max(0, after - stage.value) : 0,
      switched_off: remark && !remark.has_effect ? remark.reason : null,
      remark: remark?.has_effect ? remark.reason : null,
      figures: stage ? figures_of(stage, label_of) : {},
    };
    before = after;
    entropy_before = entropy_after;
    return result;
  });
}

/** What picture and words of a stage need: its own figures, and what it did to whom. */
function figures_of(stage, label_of) {
  const { before, after, made } = stage;
  const figures = Object.fromEntries(Object.entries(made).filter(([name]) => !INNER.includes(name)));
  if (made.edits) return { ...figures, ...edit_figures(stage, label_of) };
  if (!is_cut_stage(stage) || !before.count) return figures;
  return { ...figures, above: after.start - before.start, leader_prob: before.prob_at(before.start + 1) };
}

/** Of an edit: the leading tokens that it moved, how many went which way, and their share before and after. */
function edit_figures({ before, after, made: { edits } }, label_of) {
  const leading = [...edits].sort((one, other) => one.rank - other.rank).slice(0, MOST_EDITED);
  return {
    edited: leading.map(({ id, score, value }) => ({ id, label: label_of(id), from: score, to: value })),
    edited_count: edits.length,
    rose: edits.filter(({ score, value }) => value > score).length,
    banned: edits.filter(({ value }) => value === -Infinity).length,
    share_before: share_of(
      before,
      edits.map(edit => edit.score),
    ),
    share_after: share_of(
      after,
      edits.map(edit => edit.value),
    ),
  };
}

/** What share of the survivors' probability tokens with these scores hold. */
function share_of(survivors, scores) {
  if (!survivors.count || !scores.length) return 0;
  const { total, highest } = survivors.rough_sums;
  return Math.min(1, scores.reduce((sum, score) => sum + Math.exp(score - highest), 0) / total);
}

// --- the lines in the table ------------------------------------------------------------------

/** The lines between what is kept and what is removed, each with the stage that removed what lies beyond it. */
export function cut_of({ shaped, done, survivors }) {
  const { before_cuts } = shaped;
  if (done <= shaped.uncut || survivors.count === before_cuts.count) return null;
  const { first, rank, mass } = shaped.extent(done);
  return {
    first_rank: first,
    after_rank: rank,
    stage: rank < before_cuts.count ? remover_of(shaped, rank + 1, done) : null,
    above: first > 1 ? removers_above(shaped, first, done) : [],
    kept: survivors.count,
    mass: Math.min(1, mass),
  };
}

/** The stage that removed what has this rank before the cuts. */
function remover_of(shaped, rank, done) {
  if (!shaped.after(done).count) return shaped.emptied_by.name;
  const out = shaped.trace(rank, shaped.uncut).indexOf(0);
  if (out > 0) return shaped.stages[shaped.uncut + out - 1].name;
  // Ranks within a bin are not told apart.
  const removes = stage => stage.after.count < stage.before.count;
  return shaped.stages.slice(shaped.uncut, done).findLast(removes).name;
}

/** The stages that removed tokens in front of the first one left. */
function removers_above(shaped, first, done) {
  const late = shaped.stages.slice(shaped.uncut, done);
  const is_above = (rank, place) => shaped.rank_before_cuts(rank, shaped.uncut + place) < first;
  const removes = (stage, place) => ranks_removed_at_the_top(stage).some(rank => is_above(rank, place));
  return late.filter(removes).map(({ name }) => name);
}

/** Ranks just before a stage of what it bans, or cuts in front of those it leaves. */
function ranks_removed_at_the_top({ before, after, made }) {
  if (made.edits) return made.edits.filter(edit => edit.value === -Infinity).map(edit => edit.rank);
  if (after.ranking !== before.ranking) return [];
  const length = Math.min(after.start - before.start, MOST_COMPARED);
  return Array.from({ length }, (_, place) => before.start + 1 + place);
}

// --- the default order -----------------------------------------------------------------------

/** How the result differs from the one that the same stages have in the default order. */
export function default_order_of(state, shaped) {
  const chain = shaped.stages.map(({ name, value }) => ({ name, value }));
  const place = ({ name }) => DEFAULT_ORDER.indexOf(name);
  const sorted = [...chain].sort((one, other) => place(one) - place(other));
  const is_default = sorted.every((stage, index) => stage === chain[index]);
  if (is_default) return { is_default, kept: shaped.final.count, same: true, sentence: '' };
  const other = shape_other(state, sorted);
  const same = drawn_rank(state, shaped) === drawn_rank(state, other);
  const names = sorted.map(({ name }) => stage_name(name)).join(', ');
  const sentence = `In the default order (${names}) ${difference(state.row, shaped, other, same)}.`;
  return { is_default, kept: other.final.count, same, sentence };
}

/** Rank in the raw row of what a chain's draw takes: the same token has the same one. */
function drawn_rank({ row }, shaped) {
  if (!shaped.final.count) return null;
  if (is_greedy(shaped)) return shaped.rank_in_row(shaped.final.start + 1);
  return has_u(row) ? shaped.rank_in_row(shaped.draw(row.u).rank) : null;
}

function difference(row, shaped, other, same) {
  const [now, then] = [shaped.final, other.final];
  if (!then.count) return now.count ? 'no token would be left' : 'no token would be left either';
  if (!now.count) return `${tokens(then.count)} would stay, where none is left now`;
  const is_same_set = now.count === then.count ? has_same_tokens(shaped, other) : false;
  const is_equal =
    is_same_set !== false &&
    same &&
    Math.abs(now.entropy_bits - then.entropy_bits) < 1e-9 &&
    Math.abs(now.prob_at(now.start + 1) - then.prob_at(then.start + 1)) < 1e-9;
  if (is_equal) return 'the result is the same here';
  if (now.count === 1 && then.count === 1) return 'another token stays'; // and is taken, whatever u is
  const number = number_text(now.count, then.count, is_same_set);
  const which = same ? 'the same token' : 'another token';
  if (is_greedy(shaped)) return `${number}, and greedy takes ${which}`;
  return has_u(row) ? `${number}, and the same u draws ${which}` : number;
}

function number_text(now, then, is_same_set) {
  if (now !== then) return `${tokens(then)} would stay instead of ${count(now)}`;
  if (is_same_set) return `the same ${tokens(then)} stay, with other odds`;
  return `as many tokens stay, ${count(then)}, ${is_same_set === null ? 'with other odds' : 'but not the same'}`;
}

/** Whether two chains over one row leave the same tokens; null where there are too many to compare. */
function has_same_tokens(one, other) {
  const { start, stop, count: number } = one.final;
  if (number > MOST_COMPARED) return null;
  for (let rank = start + 1; rank <= stop; rank++) {
    if (!other.trace(one.rank_in_row(rank)).at(-1)) return false;
  }
  return true;
}
