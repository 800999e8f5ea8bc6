// The cost of the steps, as plain data for Plotly: bytes of the key/value cache, milliseconds of each part of a step.
// No DOM in here.

import { EMPTY, faded, nice_above, on, reader, steady_top } from '../../lib/plotly.js';
import { count, ms, size } from '../../words/format.js';
import { marked, say, with_figures } from '../../words/say.js';
import { absent, line } from './traces.js';

/** @import { State, Step } from '../../types.js' */
/** @import { Described, FigureDefinition, Look, Mark, SubplotDefinition } from './types.js' */
/** @typedef {Pick<State, 'steps' | 'index' | 'cache_formula' | 'prompt_tokens' | 'negative_tokens' | 'read_only'>} Properties */
/** @typedef {Step & {index: number}} Numbered */
/** @typedef {Numbered & {cache_bytes: number, cache_bytes_held: number}} Counted a step whose cache's size is known */
/** @typedef {{x: (number|null)[], y: (number|null)[]}} Path */

/** Under guidance: the share of the negative prompt. */
const NEGATIVE = marked('negative prompt');

export const name = 'cost';
/** Marks come and go here; `animate` does not support that. */
export const animates = false;
export const moves = true;
export const gap_ms = 1200;

/** @type {FigureDefinition[]} */
export const figures = [
  {
    key: 'kv_cache',
    name: marked('KV cache'),
    term: 'KV cache',
    y_title: marked('bytes'),
    legend: [
      { look: 'kept', text: marked('in use') },
      { look: 'negative', text: NEGATIVE },
      { look: 'line-held', text: marked('reserved') },
      { look: 'line-predicted', text: marked('predicted') },
      { look: 'line-chosen', text: marked('this step') },
    ],
  },
  {
    key: 'latency',
    name: marked('Latency per step'),
    term: 'latency',
    y_title: 'ms',
    unit: 'ms',
    legend: [
      { look: 'kept', text: marked('model') },
      { look: 'negative', text: NEGATIVE },
      { look: 'network', text: marked('network') },
      { look: 'shape', text: marked('apply settings') },
      { look: 'draw', text: marked('draw') },
      { look: 'other', text: marked('other') },
      { look: 'line-final', text: marked('no pass needed') },
      { look: 'higher', text: marked('above the axis') },
    ],
  },
];

/** Prefills have a separate plot, on the same scale as the other steps. @type {SubplotDefinition[]} */
export const subplots = [
  { figure: 'kv_cache', number: 1, from: 0, to: 1, zooms: true, x_title: marked('step') },
  { figure: 'latency', number: 2, from: 0, to: 0.2, zooms: false, x_title: marked('prefill') },
  { figure: 'latency', number: 3, from: 0.2, to: 1, zooms: true, x_title: marked('step') },
];

// Up to this many steps are separate bars; more are drawn as one stepped surface.
const MOST_BARS = 150;
const MOST_COLUMNS = 500;
// Steps in the tokens-per-second figure.
const RECENT = 20;
// A few slow steps must not flatten the rest: the axis ends a little above the time of 98 % of the steps.
const USUAL_SHARE = 0.98;
const HEADROOM = 1.3;
// Among fewer steps than this, none can be called unusual.
const FEW = 5;
// Number of traces that `kv_cache` draws.
const CACHE_TRACES = 6;
// The scale holds a prefill up to this many times as long as the other steps. A longer one would dwarf them.
const MOST_TIMES = 4;

/**
 * @param {number} number
 * @param {string} text
 * @param {string} colour
 * @param {object|null} pattern
 * @param {boolean} [showlegend]
 */
const surface = (number, text, colour, pattern, showlegend = true) =>
  on(number, {
    type: 'scatter',
    mode: 'lines',
    name: text,
    hoverinfo: 'skip',
    showlegend,
    line: { width: 0, color: colour, simplify: false },
    fill: 'tozeroy',
    fillcolor: colour,
    ...(pattern ? { fillpattern: { fillmode: 'replace', size: 5, solidity: 0.3, ...pattern, bgcolor: colour } } : {}),
  });

/** Type, axes, colours and patterns of every trace, in the order of `describe`'s data. @param {Look} look */
export function styles(look) {
  const parts = (/** @type {number} */ number, /** @type {boolean} */ showlegend) => [
    // From back to front, each surface is the sum up to its part, so that its visible area is its own part.
    surface(number, 'other', look.before, { shape: '/', fgcolor: look.ground }, showlegend),
    surface(number, 'draw', look['cut-2'], { shape: '.', fgcolor: look.ground }, showlegend),
    surface(number, 'apply settings', look.chosen, { shape: 'x', fgcolor: look.text }, showlegend),
    surface(number, 'network', look.cut, { shape: '-', fgcolor: look.ground }, showlegend),
    surface(number, 'model', look.kept, null, showlegend),
    surface(number, NEGATIVE, look.kept, { shape: '/', fgcolor: look.ground }, showlegend),
    line(number, 'no pass needed', { color: look.text, width: 3, simplify: false }, { showlegend }),
  ];
  const this_step = (/** @type {number} */ number) =>
    line(
      number,
      'this step',
      { color: look.chosen, width: 6, simplify: false },
      { showlegend: false, cliponaxis: false },
    );
  const above = (/** @type {number} */ number) =>
    on(number, {
      type: 'scatter',
      mode: 'markers',
      name: 'above the axis',
      hoverinfo: 'skip',
      cliponaxis: false,
      marker: { symbol: 'triangle-up', size: 9, color: look.cut },
    });
  return [
    surface(1, 'in use', faded(look.kept, 0.8), null),
    surface(1, NEGATIVE, look.kept, { shape: '/', fgcolor: look.ground }),
    line(1, 'reserved', { color: look.cut, width: 2, shape: 'hvh', simplify: false }),
    line(1, 'predicted', { color: look['cut-2'], width: 2.5, dash: 'dot', simplify: false }),
    this_step(1),
    reader(1),
    ...parts(2, false),
    above(2),
    this_step(2),
    reader(2),
    ...parts(3, true),
    above(3),
    this_step(3),
    reader(3),
  ];
}

/**
 * Any number of bars as one path, with gaps if there is room.
 *
 * @param {number[]} x
 * @param {number[]} heights
 * @returns {Path}
 */
function columns(x, heights) {
  if (x.length > MOST_COLUMNS) return coarse_columns(x, heights);
  const apart = x.length <= MOST_BARS;
  const half = apart ? 0.4 : 0.5;
  /** @type {Path} */
  const path = { x: [], y: [] };
  x.forEach((place, index) => {
    const height = heights[index];
    if (apart) {
      path.x.push(place - half, place - half, place + half, place + half);
      path.y.push(0, height, height, 0);
    } else {
      path.x.push(place - half, place + half);
      path.y.push(height, height);
    }
  });
  return path;
}

/**
 * Bars that show the highest of every few steps: a plot has no more pixels than this. Hovering still finds every step.
 *
 * @param {number[]} x
 * @param {number[]} heights
 */
function coarse_columns(x, heights) {
  const every = Math.ceil(x.length / MOST_COLUMNS);
  /** @type {Path} */
  const path = { x: [], y: [] };
  for (let start = 0; start < x.length; start += every) {
    const highest = Math.max(...heights.slice(start, start + every));
    path.x.push(x[start] - 0.5, x[Math.min(start + every, x.length) - 1] + 0.5);
    path.y.push(highest, highest);
  }
  return path;
}

/** A short level stroke at each of the chosen places. @param {number[]} places @param {number[]} heights */
function level_strokes(places, heights) {
  /** @type {Path} */
  const path = { x: [], y: [] };
  places.forEach((place, index) => {
    path.x.push(place - 0.45, place + 0.45, null);
    path.y.push(heights[index], heights[index], null);
  });
  return path;
}

/** @param {number[]} values */
const sum = values => values.reduce((total, value) => total + value, 0);

/** The value below which the given share of the values lies. @param {number[]} values @param {number} share */
function quantile(values, share) {
  const sorted = [...values].sort((first, second) => first - second);
  return sorted[Math.floor(share * (sorted.length - 1))];
}

/**
 * The number of steps that the axis has room for: it grows in jumps, so that bars do not move at each step.
 *
 * @param {number} number
 */
const room = number => Math.max(10, nice_above(number));

/** @param {number} most */
const step_axis = most => ({
  range: [0.4, most + 0.6],
  tickformat: ',d',
  nticks: 5,
  ...(most <= 10 ? { dtick: 2, tick0: 2 } : {}),
});

/** The few ticks of a byte axis, in one binary unit. @param {number} top */
function byte_ticks(top) {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(top) / 10)));
  const unit = 1024 ** power;
  const gap = nice_above(top / unit / 3);
  const values = [];
  for (let place = 0; place * gap * unit <= top * 1.0001; place += 1) values.push(place * gap * unit);
  return {
    tickvals: values,
    ticktext: values.map(value => with_figures(`${Number((value / unit).toPrecision(4))} ${units[power]}`)),
  };
}

/**
 * A round number of bytes in its display unit.
 *
 * @param {{unit?: number, top?: number}} memory
 * @param {number} most
 * @param {boolean} is_calm
 */
function steady_bytes(memory, most, is_calm) {
  const unit = 1024 ** Math.max(0, Math.floor(Math.log2(Math.max(1, most)) / 10));
  if (memory.unit !== unit) Object.assign(memory, { unit, top: 0 });
  return steady_top(memory, most / unit, is_calm) * unit;
}

/** @param {Numbered[]} steps @param {number[]} places @param {number} index */
function this_step_mark(steps, places, index) {
  const at = steps.findIndex(step => step.index === index);
  return at < 0 ? EMPTY : { x: [places[at] - 0.45, places[at] + 0.45], y: [0, 0] };
}

/** @param {Step} step */
const has_negative = step => (step.negative_cache_bytes ?? null) !== null;

/**
 * The number of positions in a step's cache; under guidance, those of both texts.
 *
 * @param {Properties} state
 * @param {Step} step
 */
function positions_words({ prompt_tokens, negative_tokens }, step) {
  if (!has_negative(step) || !negative_tokens) return say('{count} positions', { count: count(step.positions) });
  const other = count(step.positions - prompt_tokens.length + negative_tokens.length);
  return say('{one} + {other} positions', { one: count(step.positions), other });
}

/** @param {Numbered} step @returns {step is Counted} */
function is_counted(step) {
  return step.cache_bytes !== null && step.cache_bytes_held !== null;
}

/** @param {Properties} state @param {Counted} step */
const bytes_words = (state, step) =>
  say('{bytes} for {positions}', { bytes: size(step.cache_bytes), positions: positions_words(state, step) });

/** The share of the negative prompt, if there is one. @param {Step} step */
const negative_words = step =>
  has_negative(step)
    ? [say('including {bytes} for the negative prompt', { bytes: size(step.negative_cache_bytes ?? 0) })]
    : [];

/** The label of the line over the columns. @param {Counted} step @param {number} x @returns {Mark} */
const reserved_mark = ({ cache_bytes_held }, x) => ({
  x,
  y: cache_bytes_held,
  text: say('reserved {bytes}', { bytes: size(cache_bytes_held) }),
  colour: 'cut-text',
  side: 'top',
});

/** @param {Properties} state @param {Numbered[]} steps */
function cache_text(state, steps) {
  const shown = shown_of(state, steps);
  return is_counted(shown) ? bytes_words(state, shown) : say('The model does not report the size of its cache.');
}

/**
 * The empty chart for a model that does not report its cache size.
 *
 * @param {Properties} state
 * @param {Numbered[]} steps
 */
function untold_cache(state, steps) {
  const text = cache_text(state, steps);
  const yaxis = { range: [0, 1], tickvals: [], ticktext: [] };
  return {
    data: Array.from({ length: CACHE_TRACES }, () => EMPTY),
    marks: [],
    text,
    summary: text,
    absent: figures[0].legend.map(entry => entry.text),
    axes: { xaxis: step_axis(room(steps[steps.length - 1].index + 1)), yaxis },
  };
}

/** @param {Properties} state @param {Counted[]} steps @param {object} memory @param {boolean} is_calm */
function kv_cache(state, steps, memory, is_calm) {
  const x = steps.map(step => step.index + 1);
  const predicted = steps.map(step => step.formula_bytes ?? null);
  const most = Math.max(
    1,
    ...steps.map(step => Math.max(step.cache_bytes, step.cache_bytes_held, step.formula_bytes ?? 0)),
  );
  const top = steady_bytes(memory, most * 1.03, is_calm);
  const wide_x = x.length === 1 ? [x[0] - 0.45, x[0] + 0.45] : x;
  const ends = (/** @type {(number|null)[]} */ values) => (values.length === 1 ? [values[0], values[0]] : values);
  const has_formula = predicted.some(value => value !== null);
  const is_guided = steps.some(has_negative);
  const hovertext = steps.map((step, place) => {
    const by_formula = predicted[place];
    const values = { step: count(x[place]), bytes: size(step.cache_bytes), positions: positions_words(state, step) };
    return [
      say('step {step}: {bytes} in use, {positions}', values),
      ...negative_words(step),
      say('reserved {bytes}', { bytes: size(step.cache_bytes_held) }),
      ...(by_formula === null ? [] : [say('predicted {bytes}', { bytes: size(by_formula) })]),
    ].join('<br>');
  });
  const shown = steps.find(step => step.index === state.index) ?? steps[steps.length - 1];
  const is_more = shown.cache_bytes_held > shown.cache_bytes;
  const now = [bytes_words(state, shown), ...negative_words(shown)].join(', ');
  const reserved = is_more ? `; ${say('reserved {bytes}', { bytes: size(shown.cache_bytes_held) })}` : '';
  const rule = state.cache_formula
    ? say('Predicted by {formula}.', { formula: state.cache_formula })
    : is_guided
      ? say('No single formula covers two texts.')
      : state.read_only
        ? say('The trace has no formula.')
        : say('This model has no formula.');
  return {
    data: [
      columns(
        x,
        steps.map(step => step.cache_bytes),
      ),
      is_guided
        ? columns(
            x,
            steps.map(step => step.negative_cache_bytes ?? 0),
          )
        : EMPTY,
      { x: wide_x, y: ends(steps.map(step => step.cache_bytes_held)) },
      has_formula ? { x: wide_x, y: ends(predicted) } : EMPTY,
      this_step_mark(steps, x, state.index),
      { x, y: steps.map(step => step.cache_bytes), customdata: steps.map(step => step.index), hovertext },
    ],
    marks: is_more ? [reserved_mark(shown, x[0])] : [],
    text: cache_text(state, steps),
    summary: say('Step {step}: {bytes}. {rule}', { step: count(shown.index + 1), bytes: now + reserved, rule }),
    absent: absent({
      [NEGATIVE]: is_guided,
      predicted: has_formula,
      'this step': steps.some(step => step.index === state.index),
    }),
    axes: { xaxis: step_axis(room(steps[steps.length - 1].index + 1)), yaxis: { range: [0, top], ...byte_ticks(top) } },
  };
}

/** The parts of a step that sum to its total time; `other` is bookkeeping. @param {Step} step */
const parts_of = step => ({
  model: step.forward_ms - (step.network_ms ?? 0),
  network: step.network_ms ?? 0,
  settings: step.shape_ms,
  draw: step.draw_ms,
  other: Math.max(0, step.total_ms - step.forward_ms - step.shape_ms - step.draw_ms),
});

/** The time of the model's pass: of two under guidance, apart from the network on a server. @param {Step} step */
function passes_words({ forward_ms, negative_forward_ms, network_ms }) {
  const [negative, network] = [negative_forward_ms ?? null, network_ms ?? null];
  if (network !== null)
    return say('server {time}, network and JSON {other}', { time: ms(forward_ms - network), other: ms(network) });
  if (negative === null) return say('model {time}', { time: ms(forward_ms) });
  return say('model {time} in two passes, {one} and {other} (negative prompt)', {
    time: ms(forward_ms),
    one: ms(forward_ms - negative),
    other: ms(negative),
  });
}

/** @param {Numbered} step */
function time_words(step) {
  const { settings, draw, other } = parts_of(step);
  const values = { step: count(step.index + 1), time: ms(step.total_ms) };
  return [
    step.is_prefill ? say('step {step} (prefill): {time}', values) : say('step {step}: {time}', values),
    step.reused ? say('no pass needed: the logits were recorded') : passes_words(step),
    say('apply settings {time}', { time: ms(settings) }),
    say('draw {time}', { time: ms(draw) }),
    say('other {time}', { time: ms(other) }),
  ].join('<br>');
}

const NO_TIME = { forward_ms: 0, network_ms: null, shape_ms: 0, draw_ms: 0, total_ms: 0, negative_forward_ms: 0 };

/**
 * Traces of one group of steps: five stacked surfaces, and marks of steps without a pass.
 *
 * @param {Numbered[]} steps
 * @param {number[]} x
 * @param {number} top
 */
function stacked(steps, x, top) {
  const parts = steps.map(parts_of);
  const upto = (/** @type {(keyof ReturnType<typeof parts_of>)[]} */ names) =>
    columns(
      x,
      parts.map(part => sum(names.map(each => part[each]))),
    );
  const reused = steps.map((step, place) => ({ step, at: x[place] })).filter(({ step }) => step.reused);
  return [
    upto(['model', 'network', 'settings', 'draw', 'other']),
    upto(['model', 'network', 'settings', 'draw']),
    upto(['model', 'network', 'settings']),
    steps.some(step => step.network_ms) ? upto(['model', 'network']) : EMPTY,
    upto(['model']),
    steps.some(step => step.negative_forward_ms)
      ? columns(
          x,
          steps.map(step => step.negative_forward_ms ?? 0),
        )
      : EMPTY,
    level_strokes(
      reused.map(({ at }) => at),
      reused.map(({ step }) => Math.min(step.total_ms + top * 0.015, top * 0.985)),
    ),
  ];
}

/** @param {Numbered[]} steps */
function speed_words(steps) {
  if (!steps.length) return '';
  const seconds = Math.max(1e-9, sum(steps.map(step => step.total_ms)) / 1000);
  return ` · ${say('mean {speed} tokens/s', { speed: (steps.length / seconds).toFixed(0) })}`;
}

/** Tell if a step belongs to the prompt: the first one does even if its logits were recorded. @param {Numbered} step */
const is_first = step => step.is_prefill || step.index === 0;

/** The mean speed, without steps whose logits were recorded. @param {Numbered[]} steps */
const speed_of = steps => speed_words(steps.filter(step => !is_first(step) && !step.reused).slice(-RECENT));

/** @param {Properties} state @param {Numbered[]} steps */
function time_text(state, steps) {
  const shown = shown_of(state, steps);
  const what = shown.reused ? `, ${say('no pass needed')}` : shown.is_prefill ? `, ${say('prefill')}` : '';
  return `${ms(shown.total_ms)}${what}${speed_of(steps)}`;
}

/** @param {Properties} state @param {Numbered[]} steps @param {Record<string, any>} memory @param {boolean} is_calm */
function latency(state, steps, memory, is_calm) {
  const prefills = steps.filter(is_first).slice(-3);
  const decodes = steps.filter(step => !is_first(step));
  const slots = prefills.map((_, place) => place + 1);
  const x = decodes.map(step => step.index + 1);
  const totals = decodes.map(step => step.total_ms);
  // A first step from recorded logits has no measured prefill: its place stays empty.
  const measured = prefills.map(step => (step.reused ? { ...step, ...NO_TIME } : step));
  const times = measured.map(step => step.total_ms);
  const longest = Math.max(0.01, ...times);
  const most = totals.length ? Math.max(...totals) : longest;
  const usual = totals.length >= FEW ? Math.min(most, quantile(totals, USUAL_SHARE) * HEADROOM) : most;
  // One scale for all plots: a bar that looks longer is longer.
  const cap = decodes.every(step => step.reused) ? longest : Math.min(longest, usual * MOST_TIMES);
  const top = steady_top((memory.times ??= {}), Math.max(usual, cap), is_calm);
  const is_higher = (/** @type {Numbered} */ step) => step.total_ms > top;
  const higher = decodes.filter(is_higher);
  const higher_first = measured.filter(is_higher);
  const data = [
    ...stacked(measured, slots, top),
    {
      x: slots.filter((_, place) => is_higher(measured[place])),
      y: higher_first.map(() => top * 0.97),
    },
    this_step_mark(prefills, slots, state.index),
    {
      x: slots,
      y: times.map(value => Math.min(value, top)),
      customdata: prefills.map(step => step.index),
      hovertext: prefills.map(time_words),
    },
    ...stacked(decodes, x, top),
    { x: higher.map(step => step.index + 1), y: higher.map(() => top * 0.97) },
    this_step_mark(decodes, x, state.index),
    {
      x,
      y: totals.map(value => Math.min(value, top)),
      customdata: decodes.map(step => step.index),
      hovertext: decodes.map(time_words),
    },
  ];
  const all_higher = [...higher_first, ...higher].map(step => step.total_ms);
  const above = { count: count(all_higher.length), time: ms(Math.max(...all_higher)) };
  const outliers = all_higher.length ? ` ${say('{count} of the steps are above the axis, up to {time}.', above)}` : '';
  return {
    data,
    marks: [],
    text: time_text(state, steps),
    summary: `${time_words(shown_of(state, steps)).replaceAll('<br>', ', ')}${speed_of(steps)}.${outliers}`,
    absent: absent({
      model: steps.some(step => step.forward_ms > 0),
      [NEGATIVE]: steps.some(step => (step.negative_forward_ms ?? 0) > 0),
      network: steps.some(step => (step.network_ms ?? 0) > 0),
      'no pass needed': [...prefills, ...decodes].some(step => step.reused),
      'above the axis': all_higher.length > 0,
    }),
    axes: {
      xaxis2: {
        range: [0.3, Math.max(1, prefills.length) + 0.7],
        tickvals: slots,
        ticktext: prefills.map(step => count(step.index + 1)),
        showgrid: false,
      },
      yaxis2: { range: [0, top], nticks: 4 },
      xaxis3: step_axis(room(Math.max(10, steps[steps.length - 1].index + 1))),
      yaxis3: { range: [0, top], nticks: 4, showticklabels: decodes.length > 0 },
    },
  };
}

/** @param {Properties} state without steps @returns {Described} */
function nothing(state) {
  const none = say('no steps yet');
  const to_come = texts(state);
  const each = (/** @type {number} */ place) => ({
    text: to_come[figures[place].key],
    summary: none,
    marks: [],
    absent: figures[place].legend.map(entry => entry.text),
  });
  const axis = { range: [0, 1], tickvals: [], ticktext: [] };
  return {
    data: styles({}).map(() => EMPTY),
    figures: { kv_cache: each(0), latency: each(1) },
    axes: { xaxis: step_axis(10), yaxis: axis, xaxis2: axis, yaxis2: axis, xaxis3: step_axis(10), yaxis3: axis },
  };
}

/**
 * Numbered steps, kept: to copy all steps of a long text at each new one would take most of the charts' own time.
 * @type {WeakMap<object, Numbered>}
 */
const copies = new WeakMap();

/**
 * The steps numbered by their place in the list: `index` is not among a step's figures.
 *
 * @param {Properties} state
 * @returns {Numbered[]}
 */
function numbered({ steps }) {
  return steps.map((step, index) => {
    const kept = copies.get(step);
    if (kept?.index === index) return kept;
    const made = { ...step, index };
    copies.set(step, made);
    return made;
  });
}

/** The step on show, or the last one. @param {Properties} state @param {Numbered[]} steps */
const shown_of = (state, steps) => steps[state.index] ?? steps[steps.length - 1];

/**
 * The captions for the step on show, which do not wait for the next drawing.
 *
 * @param {Properties} state
 * @returns {Record<string, string>}
 */
export function texts(state) {
  const steps = numbered(state);
  if (!steps.length)
    return { kv_cache: say('bytes that it holds, step by step'), latency: say('of each step to come') };
  return { kv_cache: cache_text(state, steps), latency: time_text(state, steps) };
}

/**
 * @param {Properties} state
 * @param {{memory: Record<string, any>, is_calm: boolean}} frame
 * @returns {Described}
 */
export function describe(state, { memory, is_calm }) {
  const steps = numbered(state);
  if (!steps.length) return nothing(state);
  const counted = steps.filter(is_counted);
  const cache =
    counted.length < steps.length
      ? untold_cache(state, steps)
      : kv_cache(state, counted, (memory.cache ??= {}), is_calm);
  const time = latency(state, steps, (memory.latency ??= {}), is_calm);
  return {
    data: [...cache.data, ...time.data],
    figures: { kv_cache: cache, latency: time },
    axes: { ...cache.axes, ...time.axes },
  };
}
