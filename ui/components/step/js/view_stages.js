// What the stages of a chain did to the row on show: one entry a card, the line between kept and removed, and
// how the result differs from that of the default order.

import { count, stage_name, tokens } from './format.js';
import { remarks } from './remarks.js';
import { DEFAULT_ORDER, is_cut_stage } from './shape.js';
import { has_u, is_greedy, shape_other } from './view_chain.js';

const MOST_EDITED = 12;
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

/** What the picture of a stage needs: its own figures, and of an edit the leading tokens that it moved. */
function figures_of({ made }, label_of) {
  const { edits } = made;
  const figures = Object.fromEntries(Object.entries(made).filter(([name]) => !INNER.includes(name)));
  if (!edits) return figures;
  const leading = [...edits].sort((one, other) => one.rank - other.rank).slice(0, MOST_EDITED);
  const edited = leading.map(({ id, score, value }) => ({ id, label: label_of(id), from: score, to: value }));
  return { ...figures, edited, edited_count: edits.length };
}

/** The lines between what is kept and what is removed, drawn by the last stage that removed something. */
export function cut_of({ shaped, done, survivors }) {
  const removes = stage => is_cut_stage(stage) && stage.after.count < stage.before.count;
  const last = shaped.stages.slice(0, done).findLast(removes);
  if (!last) return null;
  const { first, rank, mass } = shaped.extent(done);
  return {
    first_rank: first,
    after_rank: rank,
    stage: last.name,
    kept: survivors.count,
    mass: Math.min(1, mass),
  };
}

/** How the result differs from the one that the same stages have in the default order. */
export function default_order_of(state, shaped) {
  const chain = shaped.stages.map(({ name, value }) => ({ name, value }));
  const place = ({ name }) => DEFAULT_ORDER.indexOf(name);
  const sorted = [...chain].sort((one, other) => place(one) - place(other));
  const is_default = sorted.every((stage, index) => stage === chain[index]);
  if (is_default) return { is_default, kept: shaped.final.count, same: true, sentence: '' };
  const other = shape_other(state, sorted);
  const same = drawn_rank(state, shaped) === drawn_rank(state, other);
  const kept = other.final.count;
  const names = sorted.map(({ name }) => stage_name(name)).join(', ');
  const sentence = `In the default order (${names}) ${difference(state.row, shaped, other, same)}.`;
  return { is_default, kept, same, sentence };
}

/** Rank in the raw row of what a chain's draw takes: the same token has the same one. */
function drawn_rank({ row }, shaped) {
  if (!shaped.final.count) return null;
  if (is_greedy(shaped)) return shaped.rank_in_row(shaped.final.start + 1);
  return has_u(row) ? shaped.rank_in_row(shaped.draw(row.u).rank) : null;
}

function difference(row, { final: own }, { final: other }, same) {
  if (!other.count) return 'no token would be left';
  const is_equal = own.count === other.count && same
    && Math.abs(own.entropy_bits - other.entropy_bits) < 1e-9
    && Math.abs(own.prob_at(own.start + 1) - other.prob_at(other.start + 1)) < 1e-9;
  if (is_equal) return 'the result is the same here';
  const number = own.count === other.count
    ? `as many tokens stay, ${count(own.count)}, with other odds`
    : `${tokens(other.count)} would stay instead of ${count(own.count)}`;
  if (!has_u(row)) return number;
  return `${number}, and the same u draws ${same ? 'the same token' : 'another token'}`;
}
