// Row + settings + point in the chain -> view: one plain object that holds everything on screen.

import { count, stage_label } from '../words/format.js';
import { raw_rank_of } from '../kernel/row.js';
import { raw_score } from '../kernel/shape.js';
import { has_u, is_as_recorded, is_greedy, shape_of } from './chain.js';
import { cut_of, default_order_of, stages_of } from './stages.js';

export { admit } from './admit.js';

/** Everything on screen, made of the state; null while there is no row. The README lists what it holds. */
export function make_view(state) {
  if (!state.row) return null;
  const { row, settings } = state;
  const shaped = shape_of(state);
  const points = points_of(shaped);
  const point = Math.min(state.point ?? points.length - 1, points.length - 1);
  const scene = scene_of(state, shaped, point);

  const rows = leading_rows(scene);
  const chosen = chosen_row(scene, rows);
  const stages = stages_of(shaped, settings, id => label_of(state, id));
  const draw = scene.is_drawn ? draw_of(scene) : null;
  const end_of_cut = name => {
    const place = shaped.stages.findIndex(stage => stage.name === name);
    return place < 0 ? null : shaped.extent(place + 1).rank;
  };
  const view = {
    index: row.index,
    is_pending: row.is_pending,
    vocab: row.vocab,
    ...exactness(row, shaped),
    points,
    point,
    ranked: scene.ranked,
    rows,
    leaders: leaders_of(scene, scene.survivors),
    model_leaders: leaders_of(scene, shaped.start),
    others: others_of(scene, rows, chosen),
    kept: scene.survivors.count,
    cut: cut_of(scene),
    emptied_by: shaped.emptied_by?.name ?? null,
    stages,
    default_order: default_order_of(state, shaped),
    curve: null,
    top_k_rank: end_of_cut('top_k'),
    nucleus_rank: end_of_cut('top_p'),
    min_p_rank: end_of_cut('min_p'),
    draw,
    chosen,
    entropy: {
      raw: shaped.raw.entropy_bits,
      tempered: shaped.tempered_entropy,
      final: shaped.entropy_after(shaped.stages.length),
      shown: scene.done ? shaped.entropy_after(scene.done) : shaped.raw.entropy_bits,
    },
    greedy: is_greedy(shaped),
    as_recorded: is_as_recorded(state),
  };
  view.curve = curve_of(scene, [
    ...stages.flatMap(stage => [stage.first_rank, stage.last_rank]),
    view.cut?.first_rank,
    view.cut?.after_rank,
    draw?.rank,
    chosen?.rank,
    rows.at(-1)?.rank,
  ]);
  return view;
}

/**
 * Any token as a row of `view`, wherever it ranks.
 *
 * @param {object} state
 * @param {object} view made of this state
 * @param {{id: number, label: string, raw_rank: number, logit: number|null}} token as a search found it
 */
export function candidate(state, view, { id, label, raw_rank, logit }) {
  const row = row_of(scene_of(state, shape_of(state), view.point), id, raw_rank, logit);
  return { ...row, label: label ?? row.label };
}

/**
 * A token's way through the chain: how it stands in the raw logits, and after every stage that is on.
 *
 * @param {object} state
 * @param {{id: number, raw_rank?: number, logit?: number|null}} token as a row of the view or a search has it
 * @returns {{name: string, rank: number|null, score: number, prob: number, removed: boolean}[]} `rank` counts
 *   those still in the race, `prob` is renormalised over them; a removed token keeps its last score
 */
export function trace_of(state, { id, raw_rank = raw_rank_of(state.row, id), logit = null }) {
  const { row } = state;
  const shaped = shape_of(state);
  const names = ['raw', ...shaped.stages.map(({ name }) => name)];
  if (raw_rank < 1 || raw_rank > row.possible) {
    return names.map(name => ({ name, rank: null, score: -Infinity, prob: 0, removed: true }));
  }
  const ranks = shaped.trace(raw_rank);
  const first = logit ?? raw_score(row, id, raw_rank);
  let score = first;
  return names.map((name, done) => {
    const rank = ranks[done];
    if (!rank) return { name, rank: null, score, prob: 0, removed: true };
    const { ranking, start, mass } = shaped.after(done);
    score = shaped.score(first, id, done);
    const prob = Math.exp(score - ranking.highest) / mass;
    return { name, rank: rank - start, score, prob, removed: false };
  });
}

// --- the chain over the row ------------------------------------------------------------------

/** Whether every figure is exact and, where not, why. */
function exactness(row, shaped) {
  if (!row.exact) return { exact: false, inexact_because: 'The tail of the row came in bins, to keep pace.' };
  const number = new Set(shaped.unknown).size;
  if (!number) return { exact: true, inexact_because: null };
  const which = number === 1 ? 'one token that is edited' : `${count(number)} tokens that are edited`;
  return { exact: false, inexact_because: `The scores of ${which} have not come from the server yet.` };
}

function points_of(shaped) {
  return [
    { name: 'raw', label: 'Logits' },
    ...shaped.stages.map(({ name }) => ({ name, label: stage_label(name) })),
    { name: 'renormalised', label: 'Softmax' },
    { name: 'drawn', label: 'Draw' },
  ];
}

/** What is on show at a point: how many stages are done, who is left, and the ranking that rows stand in. */
function scene_of(state, shaped, point) {
  const total = shaped.stages.length;
  const done = Math.min(point, total);
  const ranked = Math.min(done, shaped.uncut); // stages that the shown ranking has behind it
  return {
    state,
    shaped,
    done,
    ranked,
    base: shaped.after(ranked),
    survivors: shaped.after(done),
    is_final: point > total,
    is_drawn: point > total + 1,
    chosen: chosen_id(state, shaped),
  };
}

// --- rows ------------------------------------------------------------------------------------

/** Tokens on screen whose labels did not come with the row. */
export const unlabelled = (state, view) =>
  [...view.rows, ...view.leaders, ...view.model_leaders, view.draw, view.chosen]
    .filter(token => token && token.id !== null && !state.row.labels.has(token.id))
    .map(token => token.id);

function label_of({ row, steps }, id) {
  return row.labels.get(id) ?? (row.chosen === id ? steps[row.index]?.label : undefined) ?? `id ${id}`;
}

function leading_rows(scene) {
  const { ranking } = scene.base;
  const { row, row_count } = scene.state;
  return Array.from({ length: Math.min(row_count, ranking.known) }, (_, place) => {
    const id = ranking.id_at(place + 1);
    const raw_rank = raw_rank_of(row, id);
    return row_of(scene, id, raw_rank, raw_score(row, id, raw_rank));
  });
}

/** The two most likely of these tokens, as far as their ids are known; `share` is over all of these. */
function leaders_of(scene, survivors) {
  const { row } = scene.state;
  const ranks = [1, 2].map(place => survivors.start + place).filter(rank => rank <= survivors.stop);
  return ranks
    .filter(rank => survivors.ranking.id_at(rank) !== null)
    .map(rank => {
      const id = survivors.ranking.id_at(rank);
      const raw_rank = raw_rank_of(row, id);
      return { ...row_of(scene, id, raw_rank, raw_score(row, id, raw_rank)), share: survivors.prob_at(rank) };
    });
}

/** One token; a token at -inf has no place in the ranking and stands behind all others. */
function row_of(scene, id, raw_rank, logit) {
  const { state, shaped, done, ranked, base, is_final } = scene;
  const { row } = state;
  const token = { id, label: label_of(state, id), chosen: scene.chosen === id };
  if (raw_rank < 1 || raw_rank > row.possible || !Number.isFinite(logit)) {
    return {
      ...token,
      rank: Math.max(raw_rank, row.possible + 1),
      logit: -Infinity,
      score: -Infinity,
      raw_prob: 0,
      prob: 0,
      cumulative: 1,
      removed_by: null,
      final_prob: is_final ? 0 : null,
    };
  }
  const ranks = shaped.trace(raw_rank);
  const out = ranks.findIndex(rank => rank === 0);
  const is_removed = out >= 0 && out <= done;
  const { raw, final } = shaped;
  // Weights from the token's own score, which in a binned tail is not the bin's.
  const weight = (ranking, stages) => Math.exp(shaped.score(logit, id, stages) - ranking.highest);
  const final_prob = () => (out < 0 ? weight(final.ranking, shaped.stages.length) / final.mass : 0);
  return {
    ...token,
    rank: ranks[ranked] || base.ranking.count + 1,
    logit,
    score: shaped.score(logit, id, is_removed ? out - 1 : done),
    raw_prob: weight(raw, 0) / raw.total,
    prob: ranks[ranked] ? weight(base.ranking, ranked) / base.mass : 0,
    cumulative: ranks[ranked] ? Math.min(1, base.ranking.cumulative_at(ranks[ranked]) / base.mass) : 1,
    removed_by: is_removed ? shaped.stages[out - 1].name : null,
    final_prob: is_final ? final_prob() : null,
  };
}

/** The step's token; in manual mode, while it has none, the one that the draw proposes. */
function chosen_id({ row, manual }, shaped) {
  if (row.chosen !== null && row.chosen !== undefined) return row.chosen;
  if (!manual || !row.is_pending) return null;
  if (!shaped.final.count) return null;
  if (is_greedy(shaped)) return shaped.final.ranking.id_at(shaped.final.start + 1);
  return has_u(row) ? shaped.draw(row.u).id : null;
}

/** The row of that token; null while there is none, and where its rank did not come along. */
function chosen_row(scene, rows) {
  const {
    state: { row },
    chosen,
  } = scene;
  if (chosen === null) return null;
  const shown = rows.find(each => each.id === chosen);
  if (shown) return shown;
  const raw_rank = raw_rank_of(row, chosen);
  if (raw_rank) return row_of(scene, chosen, raw_rank, raw_score(row, chosen, raw_rank));
  // Where all ids came along, one without a rank is at -inf.
  return row.ids.length === row.possible ? row_of(scene, chosen, 0, -Infinity) : null;
}

/** All tokens that have no row, neither among the leading ones nor as the chosen one. */
function others_of(scene, rows, chosen) {
  const { state, shaped, done, base, survivors, is_final } = scene;
  const shown = chosen && !rows.includes(chosen) ? [...rows, chosen] : rows;
  const sum = name => shown.reduce((total, row) => total + row[name], 0);
  const by_stage = shaped.stages.slice(0, done).map(({ name, before, after }) => ({
    name,
    number: before.count - after.count - shown.filter(row => row.removed_by === name).length,
  }));
  const removing = by_stage.filter(({ number }) => number > 0);
  const possible = shown.filter(row => row.logit > -Infinity);
  const kept = survivors.count - possible.filter(row => row.removed_by === null).length;
  return {
    count: state.row.vocab - shown.length,
    kept,
    prob: base.count > possible.length ? Math.max(0, 1 - sum('prob')) : 0,
    final_prob: !is_final ? null : kept > 0 ? Math.max(0, 1 - sum('final_prob')) : 0,
    removed_by: removing.length > 1 ? 'several' : (removing[0]?.name ?? null),
  };
}

// --- stages, cut, draw -----------------------------------------------------------------------

function draw_of({ state, shaped }) {
  const { row } = state;
  if (!has_u(row) || is_greedy(shaped) || !shaped.final.count) return null;
  const { rank, id, from, to } = shaped.draw(row.u);
  const drawn = id ?? drawn_beyond(state, shaped, rank);
  return {
    u: row.u,
    rank: shaped.rank_before_cuts(rank),
    id: drawn,
    label: drawn === null ? `rank ${count(rank)}` : label_of(state, drawn),
    from,
    to,
    same: drawn !== null && drawn === row.chosen,
  };
}

/** A token beyond the ids that came along: it can still be told to be the step's own. */
function drawn_beyond(state, shaped, rank) {
  const { row } = state;
  if (row.chosen === null || row.chosen === undefined) return null;
  const raw_rank = raw_rank_of(row, row.chosen);
  const is_own = raw_rank > 0 && shaped.trace(raw_rank).at(-1) === rank;
  // Ranks within a bin are not told apart, but the same settings draw the same token.
  const is_repeated = !row.exact && !row.forced && is_as_recorded(state);
  return is_own || is_repeated ? row.chosen : null;
}

// --- the curve -------------------------------------------------------------------------------

const DENSE = 100;
const SPACED = 200;

/** Ranks from 1 to `last`: every one up to 100, then log-spaced, and those around the `marked` ones. */
function curve_ranks(last, marked) {
  const ranks = new Set();
  for (let rank = 1; rank <= Math.min(last, DENSE); rank++) ranks.add(rank);
  for (let step = 1; last > DENSE && step <= SPACED; step++) {
    ranks.add(Math.round(DENSE * (last / DENSE) ** (step / SPACED)));
  }
  for (const mark of marked) {
    for (const rank of [mark - 1, mark, mark + 1]) if (rank >= 1 && rank <= last) ranks.add(rank);
  }
  return Array.from(ranks).sort((a, b) => a - b);
}

function curve_of({ shaped, base, is_final, ranked }, marked) {
  const { ranking, mass } = base;
  const { raw } = shaped;
  const ranks = curve_ranks(
    ranking.count,
    marked.filter(rank => Number.isInteger(rank)),
  );
  return {
    ranks,
    raw_probs: ranks.map(rank => raw.prob_at(rank)),
    probs: ranked ? ranks.map(rank => ranking.weight_at(rank) / mass) : ranks.map(rank => raw.prob_at(rank)),
    cumulative: ranks.map(rank => Math.min(1, ranking.cumulative_at(rank) / mass)),
    final: ranks.map(rank => (is_final ? shaped.final_prob_of(rank) : null)),
  };
}
