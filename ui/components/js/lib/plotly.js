// Plotly.js, loaded once per document, and the shared parts of all charts: colours, axis ranges in nice steps, PNGs.

/** @typedef {any} Plotly its functions; the library has no types */
/** @typedef {{top?: number, range?: number[], waited?: number}} Axis an axis's memory between calls; start with {} */

const page = /** @type {Window & {Plotly?: Plotly}} */ (window);
/** @type {Promise<Plotly>|null} */
let loading = null;

/**
 * Load Plotly from `url` unless the document already has it. A failed load may be retried.
 * @param {string} url the address of plotly.min.js in the app
 * @returns {Promise<Plotly>}
 */
export function load_plotly(url) {
  if (page.Plotly) return Promise.resolve(prepared(page.Plotly));
  if (!url) return Promise.reject(new Error('the page does not say where Plotly.js is'));
  loading ??= new Promise((resolve, reject) => {
    // The page may have requested it already, while the server was still getting ready.
    const asked = /** @type {HTMLScriptElement|null} */ (document.head.querySelector(`script[src="${url}"]`));
    const script = asked ?? document.createElement('script');
    const fail = (/** @type {string} */ reason) => {
      loading = null;
      script.remove();
      reject(new Error(reason));
    };
    script.addEventListener('load', () => {
      if (page.Plotly) resolve(prepared(page.Plotly));
      else fail(`${url} is not Plotly.js`);
    });
    script.addEventListener('error', () => fail(`${url} could not be loaded`));
    if (asked) return;
    script.src = url;
    document.head.append(script);
  });
  return loading;
}

/** @param {Plotly} plotly */
function prepared(plotly) {
  remember_array_attributes(plotly.PlotSchema);
  return plotly;
}

const ARRAYS = ['x', 'y', 'base', 'hovertext', 'customdata', 'text'];

/**
 * At every redraw Plotly walks the whole schema of every trace to find its array attributes. That takes a quarter of an
 * update's time, for an answer that stays the same while the same attributes are arrays.
 * @param {any} schema
 */
function remember_array_attributes(schema) {
  const find = schema?.findArrayAttributes;
  if (!find || find.remembers) return; // with a different version of Plotly it is only slower
  const known = new Map();
  schema.findArrayAttributes = (/** @type {any} */ trace) => {
    const own = ARRAYS.filter(name => Array.isArray(trace[name]));
    const key = `${trace.type} ${trace.uid} ${own} ${Array.isArray(trace.marker?.size)} ${Array.isArray(trace.marker?.color)}`;
    let found = trace.uid && known.get(key);
    if (!found) {
      found = find(trace);
      if (known.size > 500) known.clear();
      known.set(key, found);
    }
    return found;
  };
  schema.findArrayAttributes.remembers = true;
}

const COLOURS = [
  'ground',
  'text',
  'muted',
  'line',
  'panel',
  'kept',
  'removed',
  'chosen',
  'chosen-text',
  'cut',
  'cut-text',
  'cut-2',
  'before',
];

/**
 * Read the current colours at an element as Plotly needs them: by name, resolved for the theme.
 * @param {HTMLElement} target
 * @returns {Record<string, string>}
 */
export function read_look(target) {
  /** @type {Record<string, string>} */
  const look = { font: getComputedStyle(target).fontFamily };
  const probes = COLOURS.map(name => {
    const probe = document.createElement('i'); // a theme-dependent colour is resolved only when it is used
    probe.style.setProperty('forced-color-adjust', 'none'); // otherwise patterns and grounds could share one colour
    probe.style.color = `var(--dv-${name}, #808080)`;
    return probe;
  });
  target.append(...probes); // all are appended before any is read, so that the page's styles are computed once
  COLOURS.forEach((name, at) => {
    look[name] = hex(getComputedStyle(probes[at]).color);
  });
  for (const probe of probes) probe.remove();
  return look;
}

/** `rgb(0, 114, 178)` as `#0072b2`; other notations are returned unchanged. @param {string} colour */
function hex(colour) {
  const found = /^rgb\((\d+), (\d+), (\d+)\)$/.exec(colour);
  return found
    ? `#${found
        .slice(1)
        .map(part => Number(part).toString(16).padStart(2, '0'))
        .join('')}`
    : colour;
}

/** Plotly's name of an axis: `x`, `x2`, ... @param {string} letter @param {number} number */
export const axis_id = (letter, number) => `${letter}${number === 1 ? '' : number}`;

/** Its key in a layout: `xaxis`, `xaxis2`, ... @param {string} letter @param {number} number */
export const axis_key = (letter, number) => `${letter}axis${number === 1 ? '' : number}`;

/** A trace on the axes with this number. @param {number} number @param {Record<string, unknown>} trace */
export const on = (number, trace) => ({ ...trace, xaxis: axis_id('x', number), yaxis: axis_id('y', number) });

/**
 * The invisible line that hovering reads: one point per token, rank or step, with its text in words.
 *
 * @param {number} number
 */
export const reader = number =>
  on(number, {
    type: 'scatter',
    mode: 'lines',
    name: '',
    line: { width: 0, color: 'rgba(0,0,0,0)' },
    hoverinfo: 'text',
    showlegend: false,
  });

/** The data of a trace without content. */
export const EMPTY = { x: [], y: [] };

/**
 * A `#rrggbb` colour with some opacity; other notations are returned unchanged.
 *
 * @param {string} colour
 * @param {number} opacity
 */
export function faded(colour, opacity) {
  const found = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(colour);
  return found
    ? `rgba(${found
        .slice(1)
        .map(part => parseInt(part, 16))
        .join(',')},${opacity})`
    : colour;
}

const NICE = [1, 1.5, 2, 3, 4, 5, 6, 8, 10];

/**
 * The smallest round number (1, 1.5, 2, 3, ... times a power of ten) that is not below `value`.
 *
 * @param {number} value
 */
export function nice_above(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return (NICE.find(factor => factor * power >= value * (1 - 1e-9)) ?? 10) * power;
}

// An axis grows at once. It shrinks when the data need less than half of its range. While steps run by, it shrinks only
// after a delay: a range that follows every step would make two steps incomparable.
const PATIENCE = 8;

/**
 * Decide if a range that has become too wide may shrink now.
 *
 * @param {Axis} axis
 * @param {number} needed_share
 * @param {boolean} calm
 */
function may_shrink(axis, needed_share, calm) {
  axis.waited = needed_share < 0.5 ? (axis.waited ?? 0) + 1 : 0;
  return axis.waited >= (calm ? 1 : PATIENCE);
}

/**
 * While values move quickly, a growing axis gets extra room, so that it need not grow again at once.
 *
 * @param {boolean} calm
 */
const room_above = calm => (calm ? 1.02 : 1.3);

/**
 * The upper end of an axis from zero: round, and slow to shrink.
 * @param {Axis} axis
 * @param {number} most largest value to show
 * @param {boolean} calm false while steps run by or a slider moves
 */
export function steady_top(axis, most, calm) {
  const wanted = nice_above(most * room_above(calm || !axis.top));
  if (!axis.top || most > axis.top || (wanted < axis.top && may_shrink(axis, most / axis.top, calm))) {
    axis.top = wanted;
    axis.waited = 0;
  }
  return axis.top;
}

/**
 * Both ends of an axis without a natural zero, with some space below; otherwise as `steady_top`.
 * @param {Axis} axis
 * @param {number} least
 * @param {number} most
 * @param {boolean} calm
 */
export function steady_span(axis, least, most, calm) {
  const [low, high] = axis.range ?? [Infinity, -Infinity];
  const fits = least >= low && most <= high;
  if (axis.range && fits && !may_shrink(axis, (most - least) / (high - low), calm)) return axis.range;
  const air = Math.max(most - least, 1e-3) * (room_above(calm || !axis.range) - 1);
  const unit = nice_above(Math.max(most - least, 1e-3) / 5);
  const round = (/** @type {(value: number) => number} */ places, /** @type {number} */ value) =>
    Number((places(value / unit) * unit).toPrecision(8));
  const wanted_low = round(Math.floor, least - 0.3 * unit - air);
  const wanted_high = round(Math.ceil, most + air);
  // Growth keeps the end that still fits, so that only one end moves.
  axis.range = fits ? [wanted_low, wanted_high] : [Math.min(wanted_low, low), Math.max(wanted_high, high)];
  axis.waited = 0;
  return axis.range;
}

/**
 * A PNG of a figure at twice its size.
 * @param {Plotly} plotly
 * @param {object} figure
 * @param {number} width
 * @param {number} height
 * @returns {Promise<string>} a data URL
 */
export const to_png = (plotly, figure, width, height) =>
  plotly.toImage(figure, { format: 'png', width, height, scale: 2 });
