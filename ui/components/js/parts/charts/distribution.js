// The four charts of one step's distribution, as plain data for Plotly: logits, softmax, cumulative
// probability, rank curve. No DOM in here; charts.js draws what `describe` returns.

import { absent } from './cost.js';
import { figures, styles } from './look.js';
import {
  bits,
  count,
  isolated,
  percent,
  plotly_text,
  quoted,
  score_text,
  stage_name,
  tokens,
} from '../../words/format.js';
import { EMPTY, nice_above, steady_span, steady_top } from '../../lib/plotly.js';

export { figures, styles, subplots } from './look.js';

/** Everything here is redrawn in place: see `describe`. */
export const animates = true;

// Probabilities below this have no place in the rank curve: no run will ever draw them.
const LOWEST_SHOWN = 1e-15;
// The curves' rank axis starts left of rank 1, so that the rise that belongs to rank 1 can be seen.
const FIRST = 0.7;

const finite = value => (Number.isFinite(value) ? value : null);
const positive = value => (value >= LOWEST_SHOWN ? value : null);

/** Rank of the last token that is kept: it can lie beyond their number, where a cut is not one by rank. */
const last_kept = view => view.cut?.after_rank ?? view.curve.ranks.at(-1);

/** The token that stands out: the recorded one; while the step is pending, the one that would be drawn. */
const is_chosen = row => row.chosen;

/** Values of the rows in three lists, one per state, with gaps: bars keep their number and their colours. */
function by_state(rows, value) {
  const lists = { kept: [], removed: [], chosen: [] };
  for (const row of rows) {
    const state = is_chosen(row) ? 'chosen' : row.removed_by ? 'removed' : 'kept';
    for (const name of Object.keys(lists)) lists[name].push(name === state ? value(row) : null);
  }
  return [lists.kept, lists.removed, lists.chosen];
}

/** The states that no bar has. */
const absent_states = rows =>
  absent({
    kept: rows.some(row => !is_chosen(row) && !row.removed_by),
    removed: rows.some(row => !is_chosen(row) && row.removed_by),
    chosen: rows.some(is_chosen),
  });

/** One path of boxes of these heights around whole numbers: an outline for all bars costs one element. */
function boxes(heights, half) {
  const x = [];
  const y = [];
  heights.forEach((height, place) => {
    x.push(place - half, place - half, place + half, place + half);
    y.push(0, height ?? 0, height ?? 0, 0);
  });
  return { x, y };
}

/** One path of level strokes at these heights; nothing where a height is null. */
function strokes(heights, half) {
  const x = [];
  const y = [];
  heights.forEach((height, place) => {
    if (height === null) return;
    x.push(place - half, place + half, null);
    y.push(height, height, null);
  });
  return { x, y };
}

/** Names of the points of the chain up to the one that is looked at. */
const applied = view => view.points.slice(0, view.point + 1).map(point => point.name);

const has_applied = (view, name) => applied(view).includes(name);

/** What the scores are at the point, in words. */
function score_name(view, settings) {
  const names = applied(view);
  if (names.includes('temperature') && !view.greedy) {
    return `after temperature (divided by ${settings.temperature.toFixed(2)})`;
  }
  return names.includes('repetition_penalty') ? 'after repetition penalty' : 'raw';
}

/** "rank 3, ␣the, id 262", for hover boxes. */
const heading = row => `rank ${count(row.rank)}, ${plotly_text(row.label, 40)}, id ${row.id}`;

function fate(row) {
  if (row.removed_by) return `removed by ${stage_name(row.removed_by)}`;
  return is_chosen(row) ? 'chosen' : 'kept';
}

/** The first few rows in words, for the spoken summaries. */
const leading = (rows, figure) =>
  rows
    .slice(0, 5)
    .map(row => `${isolated(row.label)} ${figure(row)} (${fate(row)})`)
    .join(', ');

function logits(view, state, rows, memory, is_calm) {
  const scores = rows.map(row => finite(row.score)).filter(score => score !== null);
  const range = scores.length
    ? steady_span(memory, Math.min(...scores), Math.max(...scores), is_calm)
    : [0, 1];
  const base = range[0];
  const x = rows.map((_, place) => place);
  const name = score_name(view, state.settings);
  const data = by_state(rows, row => (finite(row.score) === null ? null : row.score - base)).map(y => ({
    x,
    y,
    base,
  }));
  data.push({
    x,
    y: rows.map(row => finite(row.score) ?? base),
    hovertext: rows.map(
      row =>
        `${heading(row)}<br>score ${score_text(row.score, 3)} (${name})` +
        `<br>raw logit ${score_text(row.logit, 3)}, ${fate(row)}`,
    ),
  });
  const [first, second] = rows;
  const lead = second ? `, ${score_text(first.score - second.score)} ahead of ${quoted(second.label)}` : '';
  const chosen =
    view.chosen && view.chosen.rank > rows.length
      ? ` Chosen: ${quoted(view.chosen.label)} at rank ${count(view.chosen.rank)}, not shown.`
      : '';
  return {
    data,
    range,
    absent: absent_states(rows),
    text: `Scores ${name}. Best: ${quoted(first.label)} ${score_text(first.score)}${lead}.${chosen}`,
    summary:
      `Scores ${name} of the leading ${rows.length} tokens: ` +
      `${leading(rows, row => score_text(row.score))}.`,
  };
}

function softmax(view, rows, memory, is_calm) {
  const x = rows.map((_, place) => place);
  const finals = rows.map(row => (row.final_prob > 0 ? row.final_prob : null));
  const most = Math.max(...rows.map(row => Math.max(row.raw_prob, row.prob, row.final_prob ?? 0)), 1e-9);
  const top = Math.min(1, steady_top(memory, most, is_calm));
  const words = row => {
    const drawn = row.final_prob === null ? '' : `<br>in the draw ${percent(row.final_prob)}`;
    return (
      `${heading(row)}: probability ${percent(row.prob)}` +
      `<br>before (T = 1, nothing cut) ${percent(row.raw_prob)}${drawn}<br>${fate(row)}`
    );
  };
  const data = [
    boxes(
      rows.map(row => row.raw_prob),
      0.47,
    ),
    ...by_state(rows, row => row.prob).map(y => ({ x, y })),
    strokes(finals, 0.47),
    {
      x,
      y: rows.map(row => Math.max(row.raw_prob, row.prob, row.final_prob ?? 0)),
      hovertext: rows.map(words),
    },
  ];
  const best = rows[0];
  const final = best.final_prob === null ? '' : `, ${bits(view.entropy.final)} in the draw`;
  const entropy = `Entropy ${bits(view.entropy.raw)} before${final}.`;
  const drawn = best.final_prob ? `, ${percent(best.final_prob)} in the draw` : '';
  return {
    data,
    range: [0, top],
    absent: [...absent_states(rows), ...absent({ 'in the draw': finals.some(height => height !== null) })],
    text:
      `${quoted(best.label)} ${percent(best.prob)} (before: ${percent(best.raw_prob)})${drawn}. ` + entropy,
    summary:
      `${leading(rows, row => percent(row.prob))}. ` +
      `${entropy} ${count(view.kept)} of ${tokens(view.vocab)} kept.`,
  };
}

/** Running sum of the final probabilities: what precedes the cuts, scaled so that the survivors hold all. */
function final_cumulative(view) {
  const { ranks, probs, cumulative, final } = view.curve;
  const scale = final && final[0] > 0 && probs[0] > 0 ? final[0] / probs[0] : null;
  if (scale === null) return null;
  const last = last_kept(view);
  const x = [];
  const y = [];
  for (let place = 0; place < ranks.length && ranks[place] < last; place += 1) {
    x.push(ranks[place]);
    y.push(Math.min(1, cumulative[place] * scale));
  }
  x.push(last, Math.max(last, ranks.at(-1)));
  y.push(1, 1);
  return { x, y };
}

/** Where p lies on the sum before the cuts: top-p takes its share of what earlier cuts left. */
function nucleus_level(view, settings) {
  let left = 1;
  for (const stage of view.stages) {
    if (stage.name === 'top_p') break;
    if (stage.on && ['top_k', 'min_p'].includes(stage.name)) left *= 1 - stage.mass_removed;
  }
  return { level: settings.top_p * left, is_share: left < 1 - 1e-9 };
}

const is_there = rank => rank !== null && rank !== undefined;

/** The lines where the cuts end, as three traces (empty where a cut is off), and their labels. */
function cut_lines(view, settings, low, high, side) {
  const cuts = [
    [has_applied(view, 'top_k') ? view.top_k_rank : null, `k = ${count(settings.top_k)}`, 'cut'],
    [has_applied(view, 'top_p') ? view.nucleus_rank : null, `p = ${settings.top_p.toFixed(2)}`, 'cut_2'],
    [has_applied(view, 'min_p') ? view.min_p_rank : null, `min-p = ${settings.min_p.toFixed(2)}`, 'muted'],
  ];
  return {
    data: cuts.map(([rank]) => (is_there(rank) ? { x: [rank, rank], y: [low, high] } : EMPTY)),
    marks: cuts
      .filter(([rank]) => is_there(rank))
      .map(([rank, text, colour]) => ({ x: rank, y: null, text, colour, side })),
  };
}

const rank_range = view => [Math.log10(FIRST), Math.log10(view.vocab * 1.15)];

function cumulative(view, state, texts) {
  const { curve, draw } = view;
  const final = final_cumulative(view);
  const before_x = [FIRST, ...curve.ranks];
  const cuts = cut_lines(view, state.settings, 0, 1, 'bottom');
  const nucleus = nucleus_level(view, state.settings);
  const has_nucleus = has_applied(view, 'top_p') && is_there(view.nucleus_rank);
  if (has_nucleus) {
    const [, top_p] = cuts.data;
    top_p.x.unshift(FIRST, view.nucleus_rank, null);
    top_p.y.unshift(nucleus.level, nucleus.level, null);
  }
  const data = [
    { x: before_x, y: [0, ...curve.cumulative], hovertext: ['', ...texts] },
    final ? { x: [FIRST, ...final.x], y: [0, ...final.y] } : EMPTY,
    ...cuts.data,
    draw ? { x: [FIRST, draw.rank, draw.rank], y: [draw.u, draw.u, 0] } : EMPTY,
  ];
  const marks = [...cuts.marks];
  if (draw) {
    marks.unshift({ x: draw.rank, y: draw.u, text: `u = ${draw.u.toFixed(3)}`, colour: 'chosen_text' });
  }
  const sentences = [];
  if (has_nucleus) {
    const share = nucleus.is_share ? ' of what earlier cuts left' : '';
    const p = state.settings.top_p.toFixed(2);
    sentences.push(`p = ${p}${share} is reached at rank ${count(view.nucleus_rank)}.`);
  } else if (view.kept < view.vocab) {
    sentences.push(`${tokens(view.kept)} survive${view.kept === 1 ? 's' : ''} the cuts.`);
  } else {
    sentences.push(`Nothing is cut: all ${tokens(view.vocab)} can be drawn.`);
  }
  if (draw) {
    sentences.push(
      `u = ${draw.u.toFixed(3)} on the sum in the draw falls on rank ${count(draw.rank)}, ` +
        `${quoted(draw.label)}.`,
    );
  } else {
    sentences.push(view.greedy ? 'Temperature 0: the first rank, no draw.' : 'No draw at this point.');
  }
  const there = { 'in the draw': final !== null, u: Boolean(draw) };
  ['top_k', 'top_p', 'min_p'].forEach((name, place) => {
    there[stage_name(name)] = cuts.data[place] !== EMPTY;
  });
  return {
    data,
    marks,
    absent: absent(there),
    text: sentences.join(' '),
    summary: `${sentences.join(' ')} Before the cuts ${running_sums(curve)}.`,
  };
}

/** "rank 1 holds 40 %, the first 10 hold 91 %, ..." for the spoken summary. */
function running_sums(curve) {
  const parts = [1, 10, 100].filter(rank => rank <= curve.ranks.length);
  return parts
    .map(rank =>
      rank === 1
        ? `rank 1 holds ${percent(curve.cumulative[0])}`
        : `the first ${rank} hold ${percent(curve.cumulative[rank - 1])}`,
    )
    .join(', ');
}

/** Hover texts of the curves, with the token where its row is there. */
function curve_texts(view) {
  const labels = new Map(view.rows.map(row => [row.rank, plotly_text(row.label, 40)]));
  const { ranks, probs, cumulative: sums, raw_probs } = view.curve;
  const last = last_kept(view);
  return Array.from(ranks, (rank, place) => {
    const label = labels.has(rank) ? `, ${labels.get(rank)}` : '';
    return (
      `rank ${count(rank)}${label}: probability ${percent(probs[place])}` +
      `<br>up to here ${percent(sums[place])}` +
      `<br>before (T = 1, nothing cut) ${percent(raw_probs[place])}` +
      `<br>${rank <= last ? 'kept' : 'removed'}`
    );
  });
}

function rank_curve(view, state, memory, is_calm, texts) {
  const { ranks, probs, raw_probs } = view.curve;
  const bottom = steady_bottom(memory, [probs, raw_probs], is_calm);
  const shown = Array.from(probs, positive);
  const raw = Array.from(raw_probs, positive);
  const kept_x = [];
  const kept_y = [];
  const tail_x = [];
  const tail_y = [];
  const last = last_kept(view);
  ranks.forEach((rank, place) => {
    if (shown[place] === null) return;
    const [x, y] = rank <= last ? [kept_x, kept_y] : [tail_x, tail_y];
    x.push(rank);
    y.push(shown[place]);
  });
  if (tail_x.length) {
    // Closed along the bottom, so that the whole removed tail is one shaded shape.
    tail_x.push(tail_x.at(-1), tail_x[0], tail_x[0]);
    tail_y.push(bottom, bottom, tail_y[0]);
  }
  const cuts = cut_lines(view, state.settings, bottom, 1, 'top');
  const chosen = view.chosen?.rank > 0 ? view.chosen : null;
  const data = [
    { x: tail_x, y: tail_y },
    { x: ranks, y: raw, hovertext: texts },
    { x: kept_x, y: kept_y },
    kept_x.length === 1 ? { x: kept_x, y: kept_y } : EMPTY,
    ...cuts.data,
    chosen && chosen.prob >= bottom ? { x: [chosen.rank], y: [chosen.prob] } : EMPTY,
  ];
  const tail = view.vocab - view.kept;
  const removed = tail === 1 ? 'the removed one' : `the ${count(tail)} removed`;
  const held = view.cut
    ? ` ${view.kept === 1 ? 'It' : 'They'} held ${percent(view.cut.mass)}; ` +
      `${removed} ${percent(1 - view.cut.mass)}.`
    : '';
  const are = view.kept === 1 ? 'is' : 'are';
  const kept =
    tail > 0
      ? `${count(view.kept)} of ${tokens(view.vocab)} ${are} kept.${held}`
      : `All ${tokens(view.vocab)} are kept.`;
  const binned = view.exact ? '' : ' While playing, the far tail is an average.';
  const where = chosen ? ` ${quoted(chosen.label)} was chosen at rank ${count(chosen.rank)}.` : '';
  const has_chosen = Boolean(chosen) && chosen.prob >= bottom;
  return {
    data,
    marks: cuts.marks,
    range: [Math.log10(bottom), 0.25],
    text: `${kept}${binned || where}`,
    absent: absent({ kept: kept_x.length > 0, removed: tail_x.length > 0, chosen: has_chosen }),
    summary: `${kept}${binned}${where} The least likely token has ${percent(probs.at(-1))}.`,
  };
}

/** Lower end of the logarithmic axis: a whole, even power of ten, slow to rise. */
function steady_bottom(memory, lists, calm) {
  let least = 1;
  for (const list of lists) for (const prob of list) if (prob >= LOWEST_SHOWN && prob < least) least = prob;
  const decades = Math.min(15, nice_decades(-Math.log10(least)));
  const top = steady_top(memory, decades / 1.02, calm);
  return 10 ** -Math.min(15, top);
}

const nice_decades = needed => nice_above(Math.max(2, Math.ceil(needed)));

// The same ticks whatever the range: a range alone can be changed at a fraction of the cost of anything else.
const PROB_TICKS = [1, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14];
const PROB_TEXTS = ['100 %', '1 %', '0.01 %', '1e-6', '1e-8', '1e-10', '1e-12', '1e-14'];

function rank_ticks(view) {
  const values = [];
  for (let rank = 1; rank <= view.vocab * 1.15; rank *= 10) values.push(rank);
  return { tickvals: values, ticktext: values.map(count) };
}

/** Before the first row: empty charts with the axes that they will have. */
function nothing() {
  const traces = styles({}).map(() => EMPTY);
  const text = 'No scores yet: start a text.';
  const each = Object.fromEntries(
    figures.map(({ key, legend }) => [
      key,
      { text, summary: text, labels: [], marks: [], absent: legend.map(entry => entry.text) },
    ]),
  );
  return { data: traces, figures: each, axes: axes_of(null, 1, [0, 1], [0, 1], [-6, 0.25]) };
}

function axes_of(view, places, score_range, prob_range, curve_range) {
  const token_axis = { range: [-0.5, places - 0.5], showticklabels: false, showgrid: false };
  const rank_axis = view
    ? { type: 'log', range: rank_range(view), ...rank_ticks(view) }
    : { type: 'log', range: [Math.log10(FIRST), 4], tickvals: [], ticktext: [] };
  return {
    xaxis: token_axis,
    yaxis: { range: score_range, nticks: 6 },
    xaxis2: token_axis,
    yaxis2: { range: prob_range, nticks: 6, tickformat: '~%' },
    xaxis3: rank_axis,
    yaxis3: { range: [0, 1.04], tickvals: [0, 0.25, 0.5, 0.75, 1], tickformat: '.0%' },
    xaxis4: rank_axis,
    yaxis4: { type: 'log', range: curve_range, tickvals: PROB_TICKS, ticktext: PROB_TEXTS },
  };
}

/**
 * Data, axes, captions, labels of all four charts for one view.
 * @param {object} state
 * @param {object|null} view
 * @param {{memory: object, places: number, is_calm: boolean}} frame what is remembered between calls;
 *   how many bars have room; whether a single step is shown, not many in a row
 */
export function describe(state, view, { memory, places, is_calm }) {
  if (!view || !view.rows.length) return nothing();
  const rows = view.rows.slice(0, places);
  const texts = curve_texts(view);
  const parts = {
    logits: logits(view, state, rows, (memory.logits ??= {}), is_calm),
    softmax: softmax(view, rows, (memory.softmax ??= {}), is_calm),
    cumulative: cumulative(view, state, texts),
    rank_curve: rank_curve(view, state, (memory.rank_curve ??= {}), is_calm, texts),
  };
  const labels = rows.map(row => row.label);
  parts.logits.labels = labels;
  parts.softmax.labels = labels;
  return {
    data: figures.flatMap(figure => parts[figure.key].data),
    figures: parts,
    axes: axes_of(view, rows.length, parts.logits.range, parts.softmax.range, parts.rank_curve.range),
  };
}
