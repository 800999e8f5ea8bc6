// The two charts of what the steps cost, as plain data for Plotly: bytes of the key/value cache, milliseconds
// of each part of a step. No DOM in here; charts.js draws what `describe` returns.

import { count, ms, size } from '../../words/format.js';
import { EMPTY, faded, nice_above, on, reader, steady_top } from '../../lib/plotly.js';

/** Legend entries, by their texts, of what is not on the chart right now. */
export const absent = is_there => Object.keys(is_there).filter(text => !is_there[text]);

/** Under guidance: the share of the negative prompt's text. */
const NEGATIVE = 'negative prompt';

/** What is on the page around each plot. */
export const figures = [
  {
    key: 'kv_cache',
    name: 'KV cache',
    y_title: 'bytes',
    x_title: 'step',
    legend: [
      { look: 'kept', text: 'logical' },
      { look: 'negative', text: NEGATIVE },
      { look: 'line-held', text: 'held' },
      { look: 'line-cut-2', text: 'formula' },
      { look: 'line-chosen', text: 'inspected' },
    ],
  },
  {
    key: 'latency',
    name: 'Latency per step',
    y_title: 'ms',
    x_title: 'step',
    legend: [
      { look: 'kept', text: 'forward' },
      { look: 'negative', text: NEGATIVE },
      { look: 'shape', text: 'shape' },
      { look: 'draw', text: 'draw' },
      { look: 'other', text: 'other' },
      { look: 'line-final', text: 'reused' },
      { look: 'higher', text: 'higher than the axis' },
    ],
  },
];

/** Prefills have axes of their own: they would dwarf the rest. `gap` leaves room for the second scale. */
export const subplots = [
  { figure: 'kv_cache', number: 1, from: 0, to: 1, zooms: true },
  { figure: 'latency', number: 2, from: 0, to: 0.16, zooms: false, x_title: 'prefill' },
  { figure: 'latency', number: 3, from: 0.16, to: 1, gap: true, zooms: true, x_title: 'step' },
];

/** Drawn by Plotly.react: marks come and go here, which `animate` does not follow. */
export const animates = false;

// Up to this many steps stand apart as bars; more are drawn as one stepped surface.
const MOST_BARS = 150;
const MOST_COLUMNS = 500;
// Steps in the tokens-a-second figure.
const RECENT = 20;
// Few slow steps must not flatten the rest: the axis ends a little above what 98 % of the steps took.
const USUAL_SHARE = 0.98;
const HEADROOM = 1.3;
// Of fewer steps than this none can be called unusual.
const FEW = 5;

const surface = (number, name, colour, pattern, showlegend = true) =>
  on(number, {
    type: 'scatter',
    mode: 'lines',
    name,
    hoverinfo: 'skip',
    showlegend,
    line: { width: 0, color: colour, simplify: false },
    fill: 'tozeroy',
    fillcolor: colour,
    ...(pattern
      ? { fillpattern: { fillmode: 'replace', size: 5, solidity: 0.3, ...pattern, bgcolor: colour } }
      : {}),
  });

const line = (number, name, style, more = {}) =>
  on(number, {
    type: 'scatter',
    mode: 'lines',
    name,
    line: { simplify: false, ...style },
    hoverinfo: 'skip',
    ...more,
  });

/** Type, axes, colours and patterns of every trace, in the order of `describe`'s data. */
export function styles(look) {
  const parts = (number, showlegend) => [
    // From the back to the front, each as the sum up to it: what shows of a surface is its own part.
    surface(number, 'other', look.before, { shape: '/', fgcolor: look.ground }, showlegend),
    surface(number, 'draw', look.cut_2, { shape: '.', fgcolor: look.ground }, showlegend),
    surface(number, 'shape', look.chosen, { shape: 'x', fgcolor: look.text }, showlegend),
    surface(number, 'forward', look.kept, null, showlegend),
    surface(number, NEGATIVE, look.kept, { shape: '/', fgcolor: look.ground }, showlegend),
    line(number, 'reused: logits from the record', { color: look.text, width: 3 }, { showlegend }),
  ];
  const inspected = number =>
    line(number, 'inspected', { color: look.chosen, width: 7 }, { showlegend: false, cliponaxis: false });
  return [
    surface(1, 'logical', faded(look.kept, 0.8)),
    surface(1, NEGATIVE, look.kept, { shape: '/', fgcolor: look.ground }),
    line(1, 'held', { color: look.cut, width: 2, shape: 'hvh' }),
    line(1, 'formula', { color: look.cut_2, width: 2.5, dash: 'dot' }),
    inspected(1),
    reader(1),
    ...parts(2, false),
    inspected(2),
    reader(2),
    ...parts(3, true),
    on(3, {
      type: 'scatter',
      mode: 'markers',
      name: 'higher than the axis',
      hoverinfo: 'skip',
      cliponaxis: false,
      marker: { symbol: 'triangle-up', size: 9, color: look.cut },
    }),
    inspected(3),
    reader(3),
  ];
}

/** Bars (apart while there is room) as one path, however many there are. */
function columns(x, heights) {
  if (x.length > MOST_COLUMNS) return coarse_columns(x, heights);
  const apart = x.length <= MOST_BARS;
  const half = apart ? 0.4 : 0.5;
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

/** The highest of every few: a plot has no more pixels than this. Hovering still finds every step. */
function coarse_columns(x, heights) {
  const every = Math.ceil(x.length / MOST_COLUMNS);
  const path = { x: [], y: [] };
  for (let start = 0; start < x.length; start += every) {
    const highest = Math.max(...heights.slice(start, start + every));
    path.x.push(x[start] - 0.5, x[Math.min(start + every, x.length) - 1] + 0.5);
    path.y.push(highest, highest);
  }
  return path;
}

/** A short level stroke at each of the chosen places. */
function strokes(places, heights) {
  const path = { x: [], y: [] };
  places.forEach((place, index) => {
    path.x.push(place - 0.45, place + 0.45, null);
    path.y.push(heights[index], heights[index], null);
  });
  return path;
}

const sum = values => values.reduce((total, value) => total + value, 0);

/** The value below which this share of the values lies. */
function quantile(values, share) {
  const sorted = [...values].sort((first, second) => first - second);
  return sorted[Math.floor(share * (sorted.length - 1))];
}

/** The number of steps that the axis has room for: grows in jumps, so that bars do not move at each step. */
const room = number => Math.max(10, nice_above(number));

const step_axis = most => ({
  range: [0.4, most + 0.6],
  tickformat: ',d',
  nticks: 6,
  ...(most <= 10 ? { dtick: 1, tick0: 1 } : {}),
});

/** Ticks of a byte axis: at most six, in one binary unit. */
function byte_ticks(top) {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(top) / 10)));
  const unit = 1024 ** power;
  const gap = nice_above(top / unit / 5);
  const values = [];
  for (let place = 0; place * gap * unit <= top * 1.0001; place += 1) values.push(place * gap * unit);
  const texts = values.map(value => `${Number((value / unit).toPrecision(4))} ${units[power]}`);
  return { tickvals: values, ticktext: texts };
}

/** A round number of bytes in the unit that it is read in. */
function steady_bytes(memory, most, is_calm) {
  const unit = 1024 ** Math.max(0, Math.floor(Math.log2(Math.max(1, most)) / 10));
  if (memory.unit !== unit) Object.assign(memory, { unit, top: 0 });
  return steady_top(memory, most / unit, is_calm) * unit;
}

function inspected_mark(steps, places, index) {
  const at = steps.findIndex(step => step.index === index);
  return at < 0 ? EMPTY : { x: [places[at] - 0.45, places[at] + 0.45], y: [0, 0] };
}

const HELD_MORE = 'more than logical: shared with another branch or kept from before a rewind';

const has_negative = step => (step.negative_cache_bytes ?? null) !== null;

/** How many positions a step's cache has seen; under guidance those of both. */
function positions_words({ prompt_tokens, negative_tokens }, step) {
  if (!has_negative(step)) return `${count(step.positions)} positions`;
  const negative = step.positions - prompt_tokens.length + negative_tokens.length;
  return `${count(step.positions)} + ${count(negative)} positions`;
}

function kv_cache(state, steps, memory, is_calm) {
  const x = steps.map(step => step.index + 1);
  const formula = steps.map(step => step.formula_bytes ?? null);
  const most = Math.max(
    1,
    ...steps.map(step => Math.max(step.cache_bytes, step.cache_bytes_held, step.formula_bytes ?? 0)),
  );
  const top = steady_bytes(memory, most * 1.03, is_calm);
  const held_x = x.length === 1 ? [x[0] - 0.45, x[0] + 0.45] : x;
  const held = steps.map(step => step.cache_bytes_held);
  const ends = values => (values.length === 1 ? [values[0], values[0]] : values);
  const has_formula = formula.some(value => value !== null);
  const is_guided = steps.some(step => has_negative(step));
  const words = steps.map(
    (step, place) =>
      `step ${count(x[place])}: ${size(step.cache_bytes)} at ${positions_words(state, step)}` +
      `<br>held ${size(step.cache_bytes_held)}` +
      `${formula[place] === null ? '' : `<br>formula ${size(formula[place])}`}`,
  );
  const shown = steps.find(step => step.index === state.index) ?? steps.at(-1);
  const by_formula = shown.formula_bytes ?? null;
  let agrees = '';
  if (by_formula !== null) {
    agrees = by_formula === shown.cache_bytes ? ', as the formula says' : `, formula ${size(by_formula)}`;
  }
  const is_more = shown.cache_bytes_held > shown.cache_bytes;
  const share = has_negative(shown)
    ? `, ${size(shown.negative_cache_bytes)} of it the negative prompt's text`
    : '';
  const now =
    `Step ${count(shown.index + 1)}: ${size(shown.cache_bytes)} at ` +
    `${positions_words(state, shown)}${agrees}${share}; held ${size(shown.cache_bytes_held)}` +
    `${is_more ? `, ${HELD_MORE}` : ''}.`;
  const none = is_guided ? ' Two texts, so no one formula.' : ' This model has no formula.';
  const rule = state.cache_formula ? ` Formula: ${state.cache_formula}.` : none;
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
      { x: held_x, y: ends(held) },
      has_formula ? { x: held_x, y: ends(formula) } : EMPTY,
      inspected_mark(steps, x, state.index),
      {
        x,
        y: steps.map(step => step.cache_bytes),
        customdata: steps.map(step => step.index),
        hovertext: words,
      },
    ],
    // The two long sentences together would not fit the caption's lines.
    text: is_more ? now : now + rule,
    summary: now + rule,
    absent: absent({
      [NEGATIVE]: is_guided,
      formula: has_formula,
      inspected: steps.some(step => step.index === state.index),
    }),
    axes: {
      xaxis: step_axis(room(steps.at(-1).index + 1)),
      yaxis: { range: [0, top], ...byte_ticks(top) },
    },
  };
}

/** The parts of a step that add up to its whole time; `other` is bookkeeping. */
const parts_of = step => ({
  forward: step.forward_ms,
  shape: step.shape_ms,
  draw: step.draw_ms,
  other: Math.max(0, step.total_ms - step.forward_ms - step.shape_ms - step.draw_ms),
});

/** Under guidance: that there were two passes, and how long each took. */
function passes_words({ forward_ms, negative_forward_ms: negative = null }) {
  return negative === null
    ? ''
    : ` in two passes, ${ms(forward_ms - negative)} and ${ms(negative)} (negative prompt)`;
}

function time_words(step) {
  const { forward, shape, draw, other } = parts_of(step);
  const from = step.reused
    ? 'reused: logits from the record, no forward pass'
    : `forward ${ms(forward)}${passes_words(step)}`;
  return (
    `step ${count(step.index + 1)}${step.is_prefill ? ' (prefill)' : ''}: ${ms(step.total_ms)}` +
    `<br>${from}<br>shape ${ms(shape)}<br>draw ${ms(draw)}<br>other ${ms(other)}`
  );
}

/** Traces of one group of steps: four stacked surfaces, the reused ones' marks. */
function stacked(steps, x, top) {
  const parts = steps.map(parts_of);
  const upto = names =>
    columns(
      x,
      parts.map(part => sum(names.map(name => part[name]))),
    );
  const reused = steps.map((step, place) => [step, x[place]]).filter(([step]) => step.reused);
  return [
    upto(['forward', 'shape', 'draw', 'other']),
    upto(['forward', 'shape', 'draw']),
    upto(['forward', 'shape']),
    upto(['forward']),
    steps.some(step => step.negative_forward_ms)
      ? columns(
          x,
          steps.map(step => step.negative_forward_ms ?? 0),
        )
      : EMPTY,
    strokes(
      reused.map(([, place]) => place),
      reused.map(([step]) => Math.min(step.total_ms + top * 0.015, top * 0.985)),
    ),
  ];
}

function speed_words(steps) {
  if (!steps.length) return 'No forward pass after the prefill yet.';
  const seconds = Math.max(1e-9, sum(steps.map(step => step.total_ms)) / 1000);
  const over = steps.length === 1 ? 'forward pass' : `${steps.length} forward passes`;
  return `${(steps.length / seconds).toFixed(1)} tokens/s over the last ${over}.`;
}

function outlier_words(number, most) {
  if (!number) return '';
  const who = number === 1 ? 'One step is' : `${count(number)} steps are`;
  return ` ${who} higher than the axis, up to ${ms(most)}.`;
}

function latency(state, steps, memory, is_calm) {
  // The first step belongs to the prompt also where its logits come from the record.
  const is_first = step => step.is_prefill || step.index === 0;
  const prefills = steps.filter(is_first).slice(-4);
  const decodes = steps.filter(step => !is_first(step));
  const slots = prefills.map((_, place) => place + 1);
  const x = decodes.map(step => step.index + 1);
  const totals = decodes.map(step => step.total_ms);
  const most = totals.length ? Math.max(...totals) : 1;
  const usual = totals.length >= FEW ? quantile(totals, USUAL_SHARE) * HEADROOM : most;
  const top = steady_top((memory.decode ??= {}), most > usual ? usual : most, is_calm);
  const longest = Math.max(0.01, ...prefills.map(step => step.total_ms));
  const prefill_top = steady_top((memory.prefill ??= {}), longest, is_calm);
  const higher = decodes.filter(step => step.total_ms > top);
  const clipped = value => Math.min(value, top);
  const data = [
    ...stacked(prefills, slots, prefill_top),
    inspected_mark(prefills, slots, state.index),
    {
      x: slots,
      y: prefills.map(step => step.total_ms),
      customdata: prefills.map(step => step.index),
      hovertext: prefills.map(time_words),
    },
    ...stacked(decodes, x, top),
    { x: higher.map(step => step.index + 1), y: higher.map(() => top * 0.97) },
    inspected_mark(decodes, x, state.index),
    {
      x,
      y: totals.map(clipped),
      customdata: decodes.map(step => step.index),
      hovertext: decodes.map(time_words),
    },
  ];
  const shown = steps.find(step => step.index === state.index) ?? steps.at(-1);
  // Logits from the record cost no forward pass: such steps say nothing about the model's speed.
  const speed = speed_words(decodes.filter(step => !step.reused).slice(-RECENT));
  const outliers = outlier_words(higher.length, most);
  const { forward } = parts_of(shown);
  const from = shown.reused ? 'logits from the record' : `forward ${ms(forward)}${passes_words(shown)}`;
  const now = `Step ${count(shown.index + 1)}: ${ms(shown.total_ms)}, ${from}. `;
  return {
    data,
    text: now + speed + outliers,
    absent: absent({
      forward: steps.some(step => step.forward_ms > 0),
      [NEGATIVE]: steps.some(step => step.negative_forward_ms > 0),
      shape: steps.some(step => step.shape_ms > 0),
      draw: steps.some(step => step.draw_ms > 0),
      other: steps.some(step => parts_of(step).other > 0),
      reused: [...prefills, ...decodes].some(step => step.reused),
      'higher than the axis': higher.length > 0,
    }),
    summary: `${time_words(shown).replaceAll('<br>', ', ')}. ${speed}${outliers}`,
    axes: {
      xaxis2: {
        range: [0.3, Math.max(1, prefills.length) + 0.7],
        tickvals: slots,
        ticktext: prefills.map(step => count(step.index + 1)),
        showgrid: false,
      },
      yaxis2: { range: [0, prefill_top], nticks: 4 },
      xaxis3: step_axis(room(Math.max(10, steps.at(-1).index + 1))),
      yaxis3: { range: [0, top], nticks: 6, showticklabels: decodes.length > 0 },
    },
  };
}

function nothing() {
  const text = 'No steps yet.';
  const [kv, time] = figures.map(({ legend }) => ({
    text,
    summary: text,
    marks: [],
    absent: legend.map(entry => entry.text),
  }));
  const axis = { range: [0, 1], tickvals: [], ticktext: [] };
  return {
    data: styles({}).map(() => EMPTY),
    figures: { kv_cache: kv, latency: time },
    axes: {
      xaxis: step_axis(10),
      yaxis: axis,
      xaxis2: axis,
      yaxis2: axis,
      xaxis3: step_axis(10),
      yaxis3: axis,
    },
  };
}

/**
 * Data, axes, captions of both charts.
 * @param {object} state
 * @param {object|null} _view not needed: steps are in the state
 * @param {{memory: object, is_calm: boolean}} frame what is remembered between calls; whether a single step
 *   is shown, not many in a row
 */
export function describe(state, _view, { memory, is_calm }) {
  // Their place in the list is their number: `index` is not among a step's figures.
  const steps = state.steps.map((step, index) => ({ ...step, index }));
  if (!steps.length) return nothing();
  const cache = kv_cache(state, steps, (memory.cache ??= {}), is_calm);
  const time = latency(state, steps, (memory.latency ??= {}), is_calm);
  return {
    data: [...cache.data, ...time.data],
    figures: { kv_cache: { ...cache, marks: [] }, latency: { ...time, marks: [] } },
    axes: { ...cache.axes, ...time.axes },
  };
}
