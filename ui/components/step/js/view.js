// Row + settings + point in the chain -> view: one plain object that holds everything on screen.

import { count, stage_label } from './format.js';
import { raw_rank_of } from './row.js';
import { chain_of, is_cut_stage, OFF, raw_score, shape } from './shape.js';

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
  const stages = stages_of(shaped, settings);
  const draw = scene.is_drawn ? draw_of(scene) : null;
  const end_of_cut = name => {
    const place = shaped.stages.findIndex(stage => stage.name === name);
    return place < 0 ? null : shaped.extent(place + 1).rank;
  };
  const view = {
    index: row.index,
    is_pending: row.is_pending,
    vocab: row.vocab,
    exact: row.exact,
    points,
    point,
    rows,
    others: others_of(scene, rows, chosen),
    kept: scene.survivors.count,
    cut: cut_of(scene),
    stages,
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
    ...stages.map(stage => stage.last_rank),
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

// --- the chain over the row ------------------------------------------------------------------

function shape_of(state, changes = null) {
  const { row, settings } = state;
  const chain = chain_of(changes ? { ...settings, ...changes } : settings);
  const figures = changes ? null : engine_figures(row, chain);
  return shape(row, chain, { context: context_of(state), figures, keep: !changes });
}

/** The engine's results by stage, where the browser has only bins, and both have the same settings. */
function engine_figures(row, chain) {
  if (row.exact || !row.engine_stages) return null;
  return is_same_chain(chain, chain_of(row.engine_settings)) ? row.engine_stages : null;
}

const is_same_chain = (one, other) =>
  one.length === other.length &&
  one.every(({ name, value }, place) => name === other[place].name && value === other[place].value);

const is_as_recorded = ({ row, settings }) =>
  !row.recorded_settings || is_same_chain(chain_of(settings), chain_of(row.recorded_settings));

const has_u = row => row.u !== null && row.u !== undefined;

const is_greedy = shaped => shaped.stages.some(({ name, value }) => name === 'temperature' && value === 0);

const CONTEXTS = new WeakMap();

/** Ids of the tokens in front of the row's step. */
function context_of({ row, prompt_tokens, steps }) {
  const length = prompt_tokens.length + Math.min(row.index, steps.length);
  let known = CONTEXTS.get(row.values);
  if (known?.length !== length) {
    const tokens = [...prompt_tokens, ...steps.slice(0, row.index)];
    known = { length, ids: new Set(tokens.map(token => token.id)) };
    CONTEXTS.set(row.values, known);
  }
  return known.ids;
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
  [...view.rows, view.draw, view.chosen]
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
  if (is_greedy(shaped)) return shaped.final.ranking.id_at(1);
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
  const by_stage = shaped.stages
    .slice(0, done)
    .map(({ name, before, after }) => ({
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

function stages_of(shaped, settings) {
  let before = shaped.raw.count;
  let entropy_before = shaped.raw.entropy_bits;
  return Object.keys(OFF).map(name => {
    const place = shaped.stages.findIndex(stage => stage.name === name);
    const stage = shaped.stages[place];
    const after = stage ? stage.after.count : before;
    const entropy_after = stage ? stage.entropy_bits : entropy_before;
    const is_cut = stage && is_cut_stage(stage) && after < shaped.before_cuts.count;
    const result = {
      name,
      on: stage !== undefined,
      value: settings[name],
      before,
      after,
      mass_removed: stage ? stage.mass_removed : 0,
      entropy_before,
      entropy_after,
      last_rank: is_cut ? shaped.extent(place + 1).rank : null,
      tied: name === 'top_k' && stage ? Math.max(0, after - stage.value) : 0,
    };
    before = after;
    entropy_before = entropy_after;
    return result;
  });
}

/** The line between what is kept and what is removed, drawn by the last stage that removed something. */
function cut_of({ shaped, done, survivors }) {
  const removes = stage => is_cut_stage(stage) && stage.after.count < stage.before.count;
  const last = shaped.stages.slice(0, done).findLast(removes);
  if (!last) return null;
  const { rank, mass } = shaped.extent(done);
  return { after_rank: rank, stage: last.name, kept: survivors.count, mass: Math.min(1, mass) };
}

function draw_of({ state, shaped }) {
  const { row } = state;
  if (!has_u(row) || is_greedy(shaped)) return null;
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

// --- what would let a token in ---------------------------------------------------------------

/**
 * The smallest change of one setting that would let a removed token survive; null where it survives, or
 * where no such change exists.
 *
 * @param {object} state
 * @param {{id: number, raw_rank: number, logit: number|null}} token as a search found it
 * @returns {{setting: string, value: number}|null}
 */
export function admit(state, { id, raw_rank, logit }) {
  const { row } = state;
  if (raw_rank < 1 || raw_rank > row.possible || !Number.isFinite(logit)) return null;
  const survives = shaped => shaped.trace(raw_rank).at(-1) > 0;
  if (survives(shape_of(state))) return null;
  let best = null;
  for (const [setting, values] of Object.entries(looser(state, id))) {
    const admits = place => survives(shape_of(state, { [setting]: values.at(place) }));
    const place =
      setting === 'repetition_penalty' ? first_of_all(values.length, admits) : first(values.length, admits);
    if (place === null) continue;
    const value = values.at(place);
    const travel = travelled(setting, state.settings[setting], value, row.vocab);
    if (!best || travel < best.travel) best = { setting, value, travel };
  }
  return best && { setting: best.setting, value: best.value };
}

/** The first place that admits, where whatever lies beyond one that admits does too; null if none does. */
function first(length, admits) {
  if (!length || !admits(length - 1)) return null;
  let [low, high] = [0, length - 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (admits(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The same for the penalty, which moves other tokens of the context too: more need not mean better. */
function first_of_all(length, admits) {
  for (let place = 0; place < length; place++) if (admits(place)) return place;
  return null;
}

/** Values in steps of a slider, from the next one after `from` to `to`: {length, at(place)}. */
function notches(from, to, step) {
  const direction = Math.sign(to - from);
  const first = direction > 0 ? Math.floor(from / step + 1e-6) + 1 : Math.ceil(from / step - 1e-6) - 1;
  const length = direction * (Math.round(to / step) - first) + 1;
  const at = place => Number(((first + direction * place) * step).toFixed(2));
  return { length: direction ? Math.max(0, length) : 0, at };
}

/** For each setting that may let a token in: the values to try, from the least change on. */
function looser(state, id) {
  const { row, settings } = state;
  const { repetition_penalty, temperature, top_k, top_p, min_p } = settings;
  // A token of the context is held down by the penalty, any other is helped by it.
  const penalty_end = context_of(state).has(id) ? 0.5 : 2;
  const is_towards = penalty_end < 1 ? repetition_penalty > 0.5 : repetition_penalty < 2;
  const values = {
    repetition_penalty: is_towards ? notches(repetition_penalty, penalty_end, 0.05) : { length: 0 },
    temperature: temperature < 2 ? notches(temperature, 2, 0.05) : { length: 0 },
  };
  if (top_k !== OFF.top_k) {
    const length = row.possible - top_k;
    values.top_k = { length, at: place => (place === length - 1 ? OFF.top_k : top_k + 1 + place) };
  }
  if (top_p !== OFF.top_p) values.top_p = notches(top_p, OFF.top_p, 0.01);
  if (min_p !== OFF.min_p) values.min_p = notches(min_p, OFF.min_p, 0.01);
  return values;
}

/** How far a slider moves, as a share of its way. */
function travelled(setting, from, to, vocab) {
  if (setting === 'top_k') return Math.log2((to || vocab) / from) / Math.log2(vocab);
  return Math.abs(to - from) / { repetition_penalty: 1.5, temperature: 2, top_p: 1, min_p: 1 }[setting];
}
