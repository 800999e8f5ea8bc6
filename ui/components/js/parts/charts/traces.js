// Traces of the charts: bars by state, curves, lines where samplers stop; and words on the tokens.

import { EMPTY, on } from '../../lib/plotly.js';
import { name_in } from '../../words/chain.js';
import { count, listed, percent, plotly_text } from '../../words/format.js';
import { marked, say } from '../../words/say.js';

/** @import { Line, View, ViewRow } from '../../types.js' */
/** @import { Look, Mark } from './types.js' */

/** @param {number} number @param {string} name @param {object} marker @param {object} [more] */
export const bars = (number, name, marker, more = {}) =>
  on(number, { type: 'bar', name, marker, width: 0.78, hoverinfo: 'skip', ...more });

/** @param {number} number @param {string} name @param {object} style @param {object} [more] */
export const line = (number, name, style, more = {}) =>
  on(number, { type: 'scatter', mode: 'lines', name, line: style, hoverinfo: 'skip', ...more });

/** The lines where samplers stop, as one trace. @param {number} number @param {Look} look */
export const stop_lines = (number, look) =>
  line(number, marked('where samplers stop'), { color: look.cut, width: 2, dash: 'dash' });

/** @param {string} shape @param {string} colour @param {string} ground */
export const hatch = (shape, colour, ground) => ({
  shape,
  fillmode: 'replace',
  fgcolor: colour,
  bgcolor: ground,
  size: 6,
  solidity: 0.42,
});

/**
 * Values of rows in three lists, one per state, with gaps: the bars keep their number and colours.
 * @param {ViewRow[]} rows
 * @param {(row: ViewRow) => number|null} value
 */
export function by_state(rows, value) {
  /** @type {Record<'kept'|'removed'|'chosen', (number|null)[]>} */
  const lists = { kept: [], removed: [], chosen: [] };
  for (const row of rows) {
    const state = row.chosen ? 'chosen' : row.removed_by ? 'removed' : 'kept';
    for (const name of /** @type {const} */ (['kept', 'removed', 'chosen']))
      lists[name].push(name === state ? value(row) : null);
  }
  return [lists.kept, lists.removed, lists.chosen];
}

/**
 * The legend entries, by text, whose marks are currently not on the chart.
 *
 * @param {Record<string, boolean>} is_there
 */
export const absent = is_there => Object.keys(is_there).filter(text => !is_there[text]);

/**
 * The stops of samplers as places between ranks: the edge after a rank, with the names of the samplers that stop there.
 * @param {View} view
 * @returns {{rank: number, text: string}[]} `rank` 0: before all ranks
 */
function edges(view) {
  /** @type {Map<number, string[]>} */
  const found = new Map();
  const add = (/** @type {number} */ rank, /** @type {Line} */ { label, is_contiguous }) => {
    found.set(rank, [...(found.get(rank) ?? []), is_contiguous ? label : say('{line} (with gaps)', { line: label })]);
  };
  for (const each of view.lines) {
    if (!each.in_ranking || !each.kept) continue;
    if (each.is_lower) add(each.last_rank, each);
    if (each.is_upper) add(each.first_rank - 1, each);
  }
  return [...found].sort(([one], [other]) => one - other).map(([rank, labels]) => ({ rank, text: listed(labels) }));
}

/**
 * The lines over bars of the leading tokens; an edge beyond the last bar has only a word at the right end.
 * @param {View} view
 * @param {ViewRow[]} rows one per bar; the last one may be a token further down
 * @param {number} low
 * @param {number} high end of the y axis
 */
export function lines_over_bars(view, rows, low, high) {
  const first = rows[0]?.rank ?? 1;
  const in_order = rows.at(-1)?.rank === first + rows.length - 1 ? rows.length : rows.length - 1;
  /** @type {Mark[]} */
  const marks = [];
  /** @type {number[]} */
  const places = [];
  for (const { rank, text } of edges(view)) {
    const x = rank - first + 0.5;
    const is_beyond = x > in_order - 0.5;
    if (!is_beyond) places.push(x);
    const words = is_beyond ? say('{line}: rank {rank} ▸', { line: text, rank: count(rank) }) : text;
    marks.push({ x: is_beyond ? rows.length - 0.5 : x, y: null, text: words, colour: 'cut-text', side: 'top' });
  }
  return { trace: verticals(places, low, high), marks };
}

/**
 * The lines over a rank axis.
 * @param {View} view
 * @param {number} low
 * @param {number} high
 * @param {'top' | 'bottom'} side
 */
export function lines_over_ranks(view, low, high, side) {
  const found = edges(view).filter(({ rank }) => rank > 0);
  return {
    trace: verticals(
      found.map(({ rank }) => rank),
      low,
      high,
    ),
    marks: found.map(({ rank, text }) => /** @type {Mark} */ ({ x: rank, y: null, text, colour: 'cut-text', side })),
  };
}

/** @param {number[]} places @param {number} low @param {number} high */
function verticals(places, low, high) {
  if (!places.length) return EMPTY;
  return { x: places.flatMap(x => [x, x, null]), y: places.flatMap(() => [low, high, null]) };
}

/** "rank 3, ␣the, id 262", for hover boxes. @param {ViewRow} row */
export const heading = row =>
  say('rank {rank}, {token}, id {id}', { rank: count(row.rank), token: plotly_text(row.label, 40), id: row.id });

/** A token's fate. @param {ViewRow} row @param {View} view */
export function fate(row, view) {
  const how = row.removed_by
    ? say('removed by {sampler}', { sampler: name_in(view.samplers, row.removed_by) })
    : say('kept');
  return row.chosen ? say('{fate}, chosen', { fate: how }) : how;
}

/**
 * The first few rows in words, for the spoken summaries.
 *
 * @param {ViewRow[]} rows
 * @param {View} view
 * @param {(row: ViewRow) => string} figure
 */
export const leading = (rows, view, figure) =>
  rows
    .slice(0, 5)
    .map(row => `${row.label} ${figure(row)} (${fate(row, view)})`)
    .join(', ');

/** @param {View} view */
export const kept_text = ({ kept, vocab, cut }) => {
  const values = { kept: count(kept), all: count(vocab), mass: cut ? percent(cut.mass) : '' };
  if (kept === vocab) return say('all {all} tokens kept', values);
  if (!cut) return say('{kept} of {all} kept', values);
  return kept === 1
    ? say('{kept} of {all} kept, which holds {mass}', values)
    : say('{kept} of {all} kept, which hold {mass}', values);
};
