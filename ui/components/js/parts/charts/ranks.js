// The whole vocabulary by rank: running sum of the probabilities, and the probabilities. No DOM in here.

import { EMPTY, faded, nice_above, on, steady_top } from '../../lib/plotly.js';
import { count, percent, plotly_text, quoted } from '../../words/format.js';
import { marked, say, with_figures } from '../../words/say.js';
import { absent, kept_text, line, lines_over_ranks, stop_lines } from './traces.js';

/** @import { State, View } from '../../types.js' */
/** @import { Described, FigureDefinition, Look, SubplotDefinition } from './types.js' */
/** @typedef {Pick<State, 'view'>} Properties */

export const name = 'ranks';
export const animates = true;
export const gap_ms = 120;

/** @type {FigureDefinition[]} */
export const figures = [
  {
    key: 'cumulative',
    name: marked('Cumulative probability'),
    term: 'cumulative probability',
    y_title: marked('running sum'),
    legend: [
      { look: 'line-before', text: marked('before removal') },
      { look: 'line-kept', text: marked('after settings') },
    ],
  },
  {
    key: 'rank_curve',
    name: marked('Rank curve'),
    term: 'rank',
    y_title: marked('probability'),
    legend: [
      { look: 'line-before', text: marked('model’s own') },
      { look: 'line-kept', text: marked('kept') },
      { look: 'tail', text: marked('removed') },
      { look: 'dot-chosen', text: marked('chosen') },
    ],
  },
];

/** @type {SubplotDefinition[]} */
export const subplots = [
  { figure: 'cumulative', number: 1, from: 0, to: 1, zooms: true, x_title: marked('rank') },
  { figure: 'rank_curve', number: 2, from: 0, to: 1, zooms: true, x_title: marked('rank') },
];

// The rank curve omits probabilities below this: no run will ever draw them.
const LOWEST_SHOWN = 1e-15;
// The rank axis starts left of rank 1, so that the rise at rank 1 is visible.
const FIRST = 0.7;

/** @param {Look} look */
export function styles(look) {
  const before = { color: look.before, width: 1.5, dash: 'dash' };
  const diamond = { symbol: 'diamond', color: look.chosen, line: { color: look.text, width: 1.5 } };
  return [
    line(1, 'before removal', { ...before, shape: 'hv' }, { hoverinfo: 'text' }),
    line(1, 'after settings', { color: look.kept, width: 2, shape: 'hv' }),
    stop_lines(1, look),
    line(1, marked('share that a sampler keeps'), { color: look.cut, width: 1.5, dash: 'dot' }),
    line(
      1,
      'u',
      { color: look.chosen, width: 2 },
      {
        mode: 'lines+markers',
        cliponaxis: false,
        marker: { ...diamond, opacity: 1, size: [0, 11, 0], line: { color: look.text, width: [0, 1.5, 0] } },
      },
    ),
    line(
      2,
      'removed',
      { color: look.before, width: 2, dash: 'dot' },
      {
        fill: 'toself',
        fillcolor: faded(look.removed, 0.3),
        fillpattern: { shape: '/', fgcolor: look.removed, bgcolor: faded(look.removed, 0.12), size: 8, solidity: 0.25 },
      },
    ),
    line(2, 'model’s own', before, { hoverinfo: 'text' }),
    line(2, 'kept', { color: look.kept, width: 2.5 }),
    // A line through one point is invisible.
    on(2, {
      type: 'scatter',
      mode: 'markers',
      name: 'kept',
      hoverinfo: 'skip',
      cliponaxis: false,
      showlegend: false,
      marker: { symbol: 'circle', size: 9, color: look.kept },
    }),
    stop_lines(2, look),
    on(2, {
      type: 'scatter',
      mode: 'markers',
      name: 'chosen',
      hoverinfo: 'skip',
      cliponaxis: false,
      marker: { ...diamond, size: 11 },
    }),
  ];
}

/** @param {View} view */
const rank_range = view => [Math.log10(FIRST), Math.log10(view.vocab * 1.15)];

/** Hover texts of the curves, with the token if its row is in the view. @param {View} view */
function curve_texts({ rows, curve }) {
  const labels = new Map(rows.map(row => [row.rank, plotly_text(row.label, 40)]));
  return curve.ranks.map((rank, place) => {
    const label = labels.get(rank);
    const values = { rank: count(rank), token: label ?? '', probability: percent(curve.prob[place]) };
    return [
      label ? say('rank {rank}, {token}: {probability}', values) : say('rank {rank}: {probability}', values),
      say('up to here {probability}', { probability: percent(curve.cumulative[place]) }),
      say('model’s own at this rank {probability}', { probability: percent(curve.model_prob[place]) }),
      curve.kept[place] ? say('kept') : say('removed'),
    ].join('<br>');
  });
}

/** @param {View} view @param {string[]} texts */
function cumulative(view, texts) {
  const { curve, draw } = view;
  const lines = lines_over_ranks(view, 0, 1, 'bottom');
  const has_final = curve.cumulative_final.length > 0 && curve.cumulative_final[0] !== null;
  const masses = view.mass_lines.filter(each => each.level !== null);
  const levels = masses.length
    ? { x: masses.flatMap(({ rank }) => [FIRST, rank, null]), y: masses.flatMap(({ level }) => [level, level, null]) }
    : EMPTY;
  const data = [
    { x: [FIRST, ...curve.ranks], y: [0, ...curve.cumulative], hovertext: ['', ...texts] },
    has_final ? { x: [FIRST, ...curve.ranks], y: [0, ...curve.cumulative_final] } : EMPTY,
    lines.trace,
    levels,
    draw ? { x: [FIRST, draw.rank, draw.rank], y: [draw.level, draw.level, 0] } : EMPTY,
  ];
  const marks = [...lines.marks];
  if (draw)
    marks.unshift({
      x: draw.rank,
      y: draw.level,
      text: with_figures(`u = ${draw.u.toFixed(3)}`),
      colour: 'chosen-text',
      side: 'top',
    });
  const [mass] = masses;
  const at = { share: mass?.label ?? '', rank: count(mass?.rank ?? 0) };
  const is_reached = mass?.is_share
    ? say('{share} of the remaining probability is reached at rank {rank}', at)
    : say('{share} is reached at rank {rank}', at);
  const reached = mass ? is_reached : view.kept < view.vocab ? kept_text(view) : say('nothing is removed');
  const on = { u: with_figures(draw?.u.toFixed(3) ?? ''), rank: count(draw?.rank ?? 0), token: quoted(draw?.label) };
  const falls = draw?.label
    ? say('u = {u} falls on rank {rank}, {token}', on)
    : say('u = {u} falls on rank {rank}', on);
  const drawn = draw
    ? falls
    : view.greedy
      ? say('temperature 0: the first rank, no draw')
      : say('no draw at this point');
  const text = `${reached} · ${drawn}`;
  return {
    data,
    marks,
    text,
    absent: absent({ 'after settings': has_final }),
    summary: say('{text}. Before removal {sums}.', { text, sums: running_sums(curve.cumulative) }),
  };
}

/** "rank 1 holds 40 %, the first 10 hold 91 %, ..." for the spoken summary. @param {number[]} sums all ranks to 100 */
function running_sums(sums) {
  return [1, 10, 100]
    .filter(rank => rank <= sums.length)
    .map(rank =>
      rank === 1
        ? say('rank 1 holds {mass}', { mass: percent(sums[0]) })
        : say('the first {rank} hold {mass}', { rank, mass: percent(sums[rank - 1]) }),
    )
    .join(', ');
}

/** @param {View} view @param {{top?: number}} memory @param {boolean} is_calm @param {string[]} texts */
function rank_curve(view, memory, is_calm, texts) {
  const { ranks, prob, model_prob, kept } = view.curve;
  const bottom = steady_bottom(memory, [prob, model_prob], is_calm);
  const shown = prob.map(value => (value >= LOWEST_SHOWN ? value : null));
  const kept_line = { x: /** @type {(number|null)[]} */ ([]), y: /** @type {(number|null)[]} */ ([]) };
  const points = { x: /** @type {number[]} */ ([]), y: /** @type {(number|null)[]} */ ([]) };
  const removed = { x: /** @type {(number|null)[]} */ ([]), y: /** @type {(number|null)[]} */ ([]) };
  for (const [from, to] of stretches(kept)) {
    const [x, y] = [ranks.slice(from, to), shown.slice(from, to)];
    if (kept[from]) {
      kept_line.x.push(...x, null);
      kept_line.y.push(...y, null);
      if (x.length === 1) {
        points.x.push(x[0]);
        points.y.push(y[0]);
      }
      continue;
    }
    const last = y.findLastIndex(value => value !== null);
    if (last < 0) continue;
    // Closed along the bottom, so that removed tokens form one shaded shape.
    removed.x.push(...x.slice(0, last + 1), x[last], x[0], x[0], null);
    removed.y.push(...y.slice(0, last + 1), bottom, bottom, y[0], null);
  }
  const lines = lines_over_ranks(view, bottom, 1, 'top');
  const chosen = view.chosen && view.chosen.rank > 0 && view.chosen.prob >= bottom ? view.chosen : null;
  const words = [kept_text(view)];
  if (view.is_averaged) words.push(say('the far tail is an average while steps run'));
  else if (view.chosen)
    words.push(say('{token} at rank {rank}', { token: quoted(view.chosen.label), rank: count(view.chosen.rank) }));
  const text = words.join(' · ');
  return {
    data: [
      removed,
      { x: ranks, y: model_prob.map(value => (value >= LOWEST_SHOWN ? value : null)), hovertext: texts },
      kept_line,
      points,
      lines.trace,
      chosen ? { x: [chosen.rank], y: [chosen.prob] } : EMPTY,
    ],
    marks: lines.marks,
    range: [Math.log10(bottom), 0.25],
    text,
    summary: say('{text}. The least likely token has {probability}.', { text, probability: percent(prob.at(-1) ?? 0) }),
    absent: absent({ kept: kept.includes(true), removed: kept.includes(false), chosen: chosen !== null }),
  };
}

/** The runs of equal values, each as [from, to). @param {boolean[]} values */
function stretches(values) {
  /** @type {[number, number][]} */
  const found = [];
  for (let from = 0; from < values.length; ) {
    let to = from + 1;
    while (to < values.length && values[to] === values[from]) to++;
    found.push([from, to]);
    from = to;
  }
  return found;
}

/**
 * Lower end of the logarithmic axis: a whole, even power of ten, slow to rise.
 *
 * @param {object} memory
 * @param {number[][]} lists
 * @param {boolean} calm
 */
function steady_bottom(memory, lists, calm) {
  let least = 1;
  for (const list of lists) for (const prob of list) if (prob >= LOWEST_SHOWN && prob < least) least = prob;
  const decades = Math.min(15, nice_above(Math.max(2, Math.ceil(-Math.log10(least)))));
  return 10 ** -Math.min(15, steady_top(memory, decades / 1.02, calm));
}

// The same ticks for any range, as long as they all fit: changing only a range costs a fraction of other changes.
const PROB_TICKS = [1, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14];
const PROB_TEXTS = ['100 %', '1 %', '0.01 %', '1e-6', '1e-8', '1e-10', '1e-12', '1e-14'];

/** @param {View|null} view @param {number[]} curve_range */
function axes_of(view, curve_range) {
  /** @type {number[]} */
  const ticks = [];
  for (let rank = 1; view && rank <= view.vocab * 1.15; rank *= 10) ticks.push(rank);
  const rank_axis = {
    type: 'log',
    range: view ? rank_range(view) : [Math.log10(FIRST), 4],
    tickvals: ticks,
    ticktext: ticks.map(count),
  };
  return {
    xaxis: rank_axis,
    yaxis: { range: [0, 1.04], tickvals: [0, 0.25, 0.5, 0.75, 1], tickformat: '.0%' },
    xaxis2: rank_axis,
    yaxis2: { type: 'log', range: curve_range, tickvals: PROB_TICKS, ticktext: PROB_TEXTS.map(with_figures) },
  };
}

/**
 * @param {Properties} state
 * @param {{memory: Record<string, any>, is_calm: boolean}} frame
 * @returns {Described}
 */
export function describe({ view }, { memory, is_calm }) {
  if (!view?.rows.length) {
    const text = say('no scores here');
    const each = (/** @type {number} */ place) => ({
      text,
      summary: text,
      marks: [],
      absent: figures[place].legend.map(entry => entry.text),
    });
    return {
      data: styles({}).map(() => EMPTY),
      figures: { cumulative: each(0), rank_curve: each(1) },
      axes: axes_of(null, [-6, 0.25]),
    };
  }
  const texts = curve_texts(view);
  const sums = cumulative(view, texts);
  const curve = rank_curve(view, (memory.rank_curve ??= {}), is_calm, texts);
  return {
    data: [...sums.data, ...curve.data],
    figures: { cumulative: sums, rank_curve: curve },
    axes: axes_of(view, curve.range),
  };
}
