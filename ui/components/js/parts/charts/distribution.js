// Logits and softmax of one step over the same tokens, as plain data for Plotly. No DOM in here; group.js draws it.

import { EMPTY, faded, reader, steady_span, steady_top } from '../../lib/plotly.js';
import { name_in } from '../../words/chain.js';
import { formats, score_text } from '../../words/format.js';
import { marked, say } from '../../words/say.js';
import { bars, by_state, fate, hatch, heading, kept_text, leading, lines_over_bars, stop_lines } from './traces.js';

/** @import { State, View, ViewRow } from '../../types.js' */
/** @import { Described, FigureDefinition, Look, SubplotDefinition } from './types.js' */
/** @import { Formats } from '../../words/format.js' */
/** @typedef {Pick<State, 'view' | 'slow' | 'digits'>} Properties */

const MODEL = {
  look: 'model',
  text: marked('model’s own'),
  title: marked('Wide grey bar: the probability before any setting'),
};
const FINAL = {
  look: 'kept',
  text: marked('after settings'),
  title: marked('Narrow bar: the probability that the draw uses'),
};

export const name = 'distribution';
export const animates = true;
export const moves = true;
export const gap_ms = 60;

/** @type {FigureDefinition[]} */
export const figures = [
  { key: 'logits', name: marked('Logits'), term: 'logit', y_title: marked('score'), legend: [] },
  {
    key: 'softmax',
    name: marked('Softmax'),
    term: 'softmax',
    y_title: marked('probability'),
    legend: [MODEL, FINAL],
  },
];

/** @type {SubplotDefinition[]} */
export const subplots = [
  { figure: 'logits', number: 1, from: 0, to: 1, zooms: false, x_title: '', is_bare: true },
  { figure: 'softmax', number: 2, from: 0, to: 1, zooms: false, x_title: '', has_token_labels: true },
];

/**
 * The constant properties while stepping: type, axes, colours and patterns of every trace. Each trace has fixed colours
 * and bars have no outlines, because `Plotly.animate` does not restyle bars.
 * @param {Look} look
 */
export function styles(look) {
  const removed = {
    color: look.removed,
    pattern: hatch('/', look.before, faded(look.removed, 0.18)),
  };
  const chosen = {
    color: look.chosen,
    pattern: hatch('x', faded(look.text, 0.55), look.chosen),
  };
  const narrow = { width: 0.5 };
  return [
    bars(1, 'kept', { color: look.kept }),
    bars(1, 'removed', removed),
    bars(1, 'chosen', chosen),
    stop_lines(1, look),
    reader(1),
    bars(2, MODEL.text, { color: faded(look.before, 0.55) }),
    bars(2, 'removed', removed),
    bars(2, FINAL.text, { color: look.kept }, narrow),
    bars(2, 'chosen', chosen, narrow),
    stop_lines(2, look),
    reader(2),
  ];
}

/** @param {number} value */
const finite = value => (Number.isFinite(value) ? value : null);

/** The name of the scores at the point. @param {View} view */
function score_name({ score_changes, samplers, is_guided }) {
  if (!score_changes.length) return is_guided ? say('logits under guidance') : say('raw scores');
  return score_changes.length > 1
    ? say('scores after {count} samplers', { count: score_changes.length })
    : say('scores after {samplers}', { samplers: name_in(samplers, score_changes[0]) });
}

/**
 * @param {View} view
 * @param {ViewRow[]} rows
 * @param {Formats} in_digits
 * @param {object} memory
 * @param {boolean} is_calm
 */
function logits(view, rows, { score: score_of }, memory, is_calm) {
  const scores = rows.map(row => finite(row.score)).filter(score => score !== null);
  const range = scores.length ? steady_span(memory, Math.min(...scores), Math.max(...scores), is_calm) : [0, 1];
  const [base, top] = range;
  const x = rows.map((_, place) => place);
  const scores_are = score_name(view);
  const states = by_state(rows, row => (finite(row.score) === null ? null : row.score - base)).map(y => ({
    x,
    y,
    base,
  }));
  const lines = lines_over_bars(view, rows, base, top);
  const hovertext = rows.map(
    row =>
      `${heading(row)}<br>${say('score {score} ({what})', { score: score_text(row.score, 3), what: scores_are })}` +
      `<br>${say('logit {logit}', { logit: score_text(row.logit, 3) })}, ${fate(row, view)}`,
  );
  const [first, second] = rows;
  const [one, ...others] = view.score_changes;
  const what = one && !others.length ? say('after {sampler}', { sampler: name_in(view.samplers, one) }) : scores_are;
  const values = { what, score: score_of(first.score) };
  const is_ahead = second && Number.isFinite(second.score);
  return {
    data: [...states, lines.trace, { x, y: rows.map(row => finite(row.score) ?? base), hovertext }],
    range,
    marks: lines.marks,
    absent: [],
    text: is_ahead
      ? say('{what}: highest {score}, {gap} ahead', { ...values, gap: score_of(first.score - second.score) })
      : say('{what}: highest {score}', values),
    summary: say('{what} of the leading {count} tokens: {tokens}.', {
      what: scores_are,
      count: rows.length,
      tokens: leading(rows, view, row => score_text(row.score)),
    }),
  };
}

/**
 * @param {Properties & {view: View}} state
 * @param {ViewRow[]} rows
 * @param {Formats} in_digits
 * @param {object} memory
 * @param {boolean} is_calm
 */
function softmax({ view, slow }, rows, { percent, bits, score }, memory, is_calm) {
  if (slow && view.points[view.point].kind === 'logits') return not_yet(rows);
  const x = rows.map((_, place) => place);
  const is_final = rows[0].final_prob !== null;
  // Until the draw's probabilities exist: the samplers' result so far for the tokens that they keep.
  const after = rows.map(row => (row.removed_by ? null : (row.final_prob ?? row.prob)));
  const heights = [
    rows.map(row => (row.removed_by ? null : row.model_prob)),
    rows.map(row => (row.removed_by && !row.chosen ? row.model_prob : null)),
    after.map((height, place) => (rows[place].chosen ? null : height)),
    after.map((height, place) => (rows[place].chosen ? (height ?? rows[place].model_prob) : null)),
  ];
  const highest = rows.map((row, place) => Math.max(row.model_prob, after[place] ?? 0));
  const top = Math.min(1, steady_top(memory, Math.max(...highest, 1e-9), is_calm));
  const lines = lines_over_bars(view, rows, 0, top);
  const hovertext = rows.map(row => {
    const probability = percent(row.model_prob);
    const lines_of = [
      heading(row),
      view.is_guided
        ? say('under guidance {probability}', { probability })
        : say('model’s probability {probability}', { probability }),
    ];
    if (view.score_changes.length)
      lines_of.push(say('after score changes {probability}', { probability: percent(row.prob) }));
    if (row.final_prob !== null)
      lines_of.push(say('after settings {probability}', { probability: percent(row.final_prob) }));
    return [...lines_of, fate(row, view)].join('<br>');
  });
  const { model, final, shown } = view.entropy;
  const now = bits(is_final ? final : shown);
  const uncertainty = say('uncertainty: {whose} {entropy}, {where} {other}', {
    whose: view.is_guided ? say('under guidance') : say('model'),
    entropy: bits(model),
    where: is_final ? say('after settings') : say('here'),
    other: now,
  });
  return {
    data: [...heights.map(y => ({ x, y })), lines.trace, { x, y: highest, hovertext }],
    range: [0, top],
    marks: lines.marks,
    absent: [],
    renamed: {
      ...(view.is_guided ? { [MODEL.text]: marked('under guidance') } : {}),
      ...(is_final ? {} : { [FINAL.text]: marked('so far') }),
    },
    text: view.kept
      ? say('uncertainty {entropy} → {other}', { entropy: score(model), other: now })
      : say('no tokens left'),
    summary: `${leading(rows, view, row => percent(row.final_prob ?? row.prob))}. ${uncertainty}; ${kept_text(view)}.`,
  };
}

/** In slow motion, at the logits: there are no probabilities yet. @param {ViewRow[]} rows */
function not_yet(rows) {
  const text = say('no probabilities yet: the softmax makes them from the scores');
  const x = rows.map((_, place) => place);
  const none = { x, y: rows.map(() => null) };
  return {
    data: [none, none, none, none, EMPTY, { x, y: rows.map(() => 0), hovertext: rows.map(heading) }],
    range: [0, 1],
    marks: [],
    absent: figures[1].legend.map(entry => entry.text),
    text,
    summary: text,
  };
}

/** @param {number} places @param {number[]} score_range @param {number[]} prob_range */
function axes_of(places, score_range, prob_range) {
  const token_axis = { range: [-0.5, places - 0.5], showticklabels: false, showgrid: false };
  return {
    xaxis: token_axis,
    yaxis: { range: score_range, nticks: 4 },
    xaxis2: token_axis,
    yaxis2: { range: prob_range, nticks: 6, tickformat: '~%' },
  };
}

/** Empty charts with their later axes, before the first row. @returns {Described} */
function nothing() {
  const text = say('no scores here');
  const each = { text, summary: text, labels: [], marks: [] };
  return {
    data: styles({}).map(() => EMPTY),
    figures: {
      logits: { ...each, absent: [] },
      softmax: { ...each, absent: figures[1].legend.map(entry => entry.text) },
    },
    axes: axes_of(10, [0, 1], [0, 1]),
  };
}

/**
 * As many leading tokens as fit; the last bar is the chosen token's if it ranks further down.
 *
 * @param {View} view
 * @param {number} places
 */
function charted(view, places) {
  const leading = view.rows.slice(0, places);
  const { chosen } = view;
  const is_beyond = places > 1 && chosen !== null && !leading.some(row => row.id === chosen.id);
  if (!is_beyond) return { rows: leading, labels: leading.map(row => row.label) };
  const rows = leading.slice(0, places - 1);
  return { rows: [...rows, chosen], labels: [...rows.map(row => row.label), `… ${chosen.label}`] };
}

/**
 * Data, axes and captions of both charts.
 * @param {Properties} state
 * @param {{memory: Record<string, any>, places: number, is_calm: boolean}} frame the memory between calls; the number
 *   of bars that fit; whether a single step is shown rather than many in a row
 * @returns {Described}
 */
export function describe(state, { memory, places, is_calm }) {
  const { view } = state;
  if (!view?.rows.length) return nothing();
  const { rows, labels } = charted(view, places);
  const in_digits = formats(state.digits);
  const scores = logits(view, rows, in_digits, (memory.logits ??= {}), is_calm);
  const probabilities = softmax({ ...state, view }, rows, in_digits, (memory.softmax ??= {}), is_calm);
  return {
    data: [...scores.data, ...probabilities.data],
    figures: { logits: scores, softmax: { ...probabilities, labels } },
    axes: axes_of(rows.length, scores.range, probabilities.range),
  };
}
