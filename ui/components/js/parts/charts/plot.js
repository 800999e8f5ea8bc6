// Drawing a group of charts with Plotly: its layout, its styles, redrawn in place if possible; and a single figure for
// a PNG.

import { axis_id, axis_key } from '../../lib/plotly.js';
import { plotly_text } from '../../words/format.js';
import { say, separators } from '../../words/say.js';
import { move } from './move.js';

/** @import { Look, Subject } from './types.js' */
/** @import { FigurePart } from './figure.js' */

const PLOTLY_CONFIG = {
  displaylogo: false,
  displayModeBar: false,
  responsive: false,
  showTips: false,
  doubleClick: false,
};
const IN_PLACE = { frame: { duration: 0, redraw: false }, transition: { duration: 0 }, mode: 'immediate' };

/** Size of a saved figure in pixels, before doubling. */
export const PNG_SIZE = { width: 960, height: 600 };
// The least distance of two ticks, in heights of their type.
const TICK_WIDTH = 3.2;
const TICK_HEIGHT = 1.7;
const LEGEND_ROWS = 2; // space in a saved figure

/** @param {Look} look @param {number} font */
const axis_style = (look, font) => ({
  automargin: false,
  zeroline: false,
  gridcolor: look.line,
  linecolor: look.line,
  tickcolor: look.line,
  tickfont: { size: font, color: look.muted },
  ticklabelstandoff: 2,
  exponentformat: 'none',
});

/** The ticks of a zoomed rank axis: decades alone could leave it without ticks. @param {any} axis */
function zoomed_ticks(axis) {
  const { tickvals: _values, ticktext: _texts, ...rest } = axis;
  return { ...rest, nticks: 5, tickformat: ',~r' };
}

/**
 * An x axis as shown: as described, or as zoomed by a person.
 * @param {any} drawing
 * @param {string} key
 */
export function x_axis_of(drawing, key) {
  const axis = drawing.described.axes[key];
  return drawing.zoom[key] ? { ...zoomed_ticks(axis), range: drawing.zoom[key] } : axis;
}

/**
 * An axis with no more ticks than fit.
 * @param {any} axis
 * @param {number} length the axis's length, in least distances of two ticks
 */
function with_room(axis, length) {
  const most = Math.max(2, Math.floor(length));
  if (!axis.tickvals) return { ...axis, nticks: Math.min(axis.nticks ?? 8, most) };
  const place_of = (/** @type {number} */ value) => (axis.type === 'log' ? Math.log10(value) : value);
  const is_seen = (/** @type {number} */ value) => place_of(value) >= axis.range[0] && place_of(value) <= axis.range[1];
  const first = axis.tickvals.findIndex(is_seen);
  const every = Math.ceil(axis.tickvals.filter(is_seen).length / most);
  const is_kept = (/** @type {unknown} */ _, /** @type {number} */ place) => (place - first) % every === 0;
  return { ...axis, tickvals: axis.tickvals.filter(is_kept), ticktext: axis.ticktext?.filter(is_kept) };
}

/**
 * @param {Subject<any>} subject
 * @param {any} drawing
 * @param {any} geometry
 * @param {Look} look
 */
function layout_of(subject, drawing, geometry, look) {
  const { font } = geometry.boxes[0];
  /** @type {Record<string, any>} */
  const layout = {
    width: geometry.width,
    height: geometry.height,
    margin: { l: 0, r: 0, t: 0, b: 0 },
    separators: separators(),
    autosize: false,
    showlegend: false,
    hovermode: 'x',
    hoverdistance: -1,
    dragmode: 'zoom',
    barmode: 'overlay',
    paper_bgcolor: 'rgba(0,0,0,0)',
    plot_bgcolor: 'rgba(0,0,0,0)',
    font: { family: look.font, color: look.text, size: font },
    hoverlabel: {
      align: 'left',
      bgcolor: look.panel,
      bordercolor: look.muted,
      namelength: 0,
      font: { family: look.font, color: look.text, size: font * 1.2 },
    },
  };
  subject.subplots.forEach(({ number, zooms }, place) => {
    const box = geometry.boxes[place];
    const style = axis_style(look, font);
    const [x_key, y_key] = [axis_key('x', number), axis_key('y', number)];
    layout[x_key] = {
      ...style,
      ...with_room(x_axis_of(drawing, x_key), box.width / (TICK_WIDTH * font)),
      tickangle: 0,
      anchor: axis_id('y', number),
      fixedrange: !zooms,
      showline: true,
      domain: [box.left / geometry.width, (box.left + box.width) / geometry.width],
    };
    layout[y_key] = {
      ...style,
      ...with_room(drawing.described.axes[y_key], box.height / (TICK_HEIGHT * font)),
      anchor: axis_id('x', number),
      fixedrange: true,
      domain: [1 - (box.top + box.height) / geometry.height, 1 - box.top / geometry.height],
    };
  });
  return layout;
}

/** @param {Subject<any>} subject @param {Look} look */
export const styles_of = (subject, look) => subject.styles(look);

/**
 * Data without empty traces. Plotly skips a trace without points, and `animate` then leaves the old drawing; a gap
 * clears it.
 *
 * @param {any[]} data
 */
export const without_empty = data =>
  data.map(trace => (trace.x?.length === 0 ? { ...trace, x: [null], y: [null] } : trace));

/** @param {any} drawing */
const full_traces = drawing =>
  drawing.described.data.map((/** @type {any} */ data, /** @type {number} */ place) => ({
    ...drawing.styles[place],
    ...data,
  }));

/**
 * Ignore an overtaken drawing: then Plotly's animate rejects without a reason. All other rejections are errors.
 *
 * @param {unknown} reason
 */
const unless_overtaken = reason => {
  if (reason) throw reason;
};

/**
 * The y ranges of a layout, as `Plotly.relayout` takes them, and the layout without them.
 *
 * @param {Record<string, any>} layout
 */
function without_ranges(layout) {
  /** @type {Record<string, any>} */
  const ranges = {};
  const rest = { ...layout };
  for (const [key, axis] of Object.entries(layout)) {
    if (!key.startsWith('yaxis')) continue;
    const { range, ...others } = axis;
    ranges[`${key}.range`] = range;
    rest[key] = others;
  }
  return { ranges, rest };
}

/**
 * `Plotly.relayout` of ranges that draws the axes only: the traces are drawn next, with their new values.
 * @param {any} plotly
 * @param {any} layer
 * @param {Record<string, any>} ranges
 */
function relayout_axes(plotly, layer, ranges) {
  const full = layer._fullLayout;
  const { _basePlotModules, _visibleModules } = full;
  full._basePlotModules = _basePlotModules.map((/** @type {any} */ drawer) => ({ ...drawer, plot: () => {} }));
  full._visibleModules = []; // those that colour the traces
  try {
    return plotly.relayout(layer, ranges);
  } finally {
    Object.assign(full, { _basePlotModules, _visibleModules });
  }
}

/**
 * Draw a group; resolve when the drawing is in the DOM, with whether it is as Plotly drew it. If only data and y ranges
 * differ, it is redrawn in place: `animate` takes a third of the time of `react`, and `relayout` of a range a quarter.
 * If only data differ, the elements can be moved instead.
 * @param {any} plotly
 * @param {{subject: Subject<any>, layer: HTMLElement}} group
 * @param {any} drawing
 * @param {any} geometry
 * @param {Look} look
 * @param {boolean} may_move
 * @returns {Promise<boolean>}
 */
export async function plot(plotly, { subject, layer }, drawing, geometry, look, may_move) {
  drawing.styles ??= styles_of(subject, look);
  const layout = layout_of(subject, drawing, geometry, look);
  const { ranges, rest } = without_ranges(layout);
  // `animate` does not redraw added or removed bars, or any change of the layout.
  const key = JSON.stringify([rest, subject.animates && drawing.described.data[0].x.length]);
  const was = drawing.ranges;
  const moved = Object.fromEntries(
    Object.entries(ranges).filter(([name, range]) => String(range) !== String(was[name])),
  );
  drawing.ranges = ranges;
  const { data } = drawing.described;
  const has_moved = Object.keys(moved).length > 0;
  const react = async () => {
    drawing.key = key;
    const traces = full_traces(drawing);
    await drawing.flight; // its pending work would be applied to the new layout
    await plotly.react(layer, traces, layout, PLOTLY_CONFIG);
    return true;
  };
  if (key !== drawing.key || (has_moved && !subject.animates)) return react();
  const moves = has_moved ? relayout_axes(plotly, layer, moved) : null; // drawn before it returns
  const differs = may_move && subject.moves && !drawing.flight ? move(layer, data) : null;
  if (differs !== null) {
    await moves;
    return !differs;
  }
  if (!subject.animates) return react();
  const landing = new Promise(resolve => {
    drawing.landed = resolve;
    // Plotly reports it some milliseconds after the paths have visibly changed.
    drawing.changed = moves ? null : resolve;
  });
  const traces = data.map((/** @type {any} */ _, /** @type {number} */ place) => place);
  const flight = plotly
    .animate(layer, { data, traces }, IN_PLACE)
    .catch(unless_overtaken)
    .finally(() => {
      if (drawing.flight === flight) drawing.flight = null;
    });
  drawing.flight = flight;
  await Promise.all([moves, Promise.race([landing, flight])]);
  return true;
}

/**
 * A single figure for a PNG, with Plotly's own titles, legend and token names.
 * @param {Subject<any>} subject
 * @param {any} drawing
 * @param {FigurePart} part
 * @param {Look} look
 */
export function export_figure(subject, drawing, part, look) {
  const own = subject.subplots.filter(({ figure }) => figure === part.key);
  const { axes, figures } = drawing.described;
  const { labels, marks, renamed } = figures[part.key];
  const ids = own.map(({ number }) => axis_id('x', number));
  /** @type {Record<string, any>} */
  const layout = {
    ...PNG_SIZE,
    separators: separators(),
    barmode: 'overlay',
    paper_bgcolor: look.ground,
    plot_bgcolor: look.ground,
    autosize: false,
    // A picture has no web fonts: the measured font must be the drawn one.
    font: { family: 'sans-serif', color: look.text, size: 14 },
    margin: { l: 90, r: 30, t: 90 + 22 * LEGEND_ROWS, b: labels ? 110 : 70 },
    title: {
      text: `${part.name}<br><sub>${plotly_text(figures[part.key].text, 130)}</sub>`,
      x: 0.03,
      xanchor: 'left',
      y: 0.96,
    },
    showlegend: true,
    legend: { orientation: 'h', x: 0, y: 1.02, yanchor: 'bottom', font: { size: 12 } },
    annotations: [],
  };
  own.forEach(({ number, x_title }, place) => {
    const [x_key, y_key] = [axis_key('x', number), axis_key('y', number)];
    const style = { ...axis_style(look, 13), automargin: true, showline: true };
    const x = { ...style, ...x_axis_of(drawing, x_key), anchor: axis_id('y', number), title: { text: say(x_title) } };
    if (labels) {
      Object.assign(x, {
        showticklabels: true,
        tickvals: labels.map((/** @type {string} */ _, /** @type {number} */ index) => index),
        tickangle: -50,
        ticktext: labels.map((/** @type {string} */ label) => plotly_text(label, 14)),
      });
    }
    if (own.length > 1) x.domain = place === 0 ? [0, 0.16] : [0.26, 1];
    layout[x_key] = x;
    layout[y_key] = {
      ...style,
      ...axes[y_key],
      anchor: axis_id('x', number),
      title: { text: place === 0 ? say(part.y_title) : '' },
    };
  });
  const is_log = axes[axis_key('x', own[0].number)].type === 'log';
  for (const [place, mark] of marks.entries()) {
    const bottom = mark.side === 'bottom';
    layout.annotations.push({
      text: plotly_text(mark.text, 40),
      showarrow: false,
      xref: ids[0],
      xanchor: 'left',
      xshift: 6,
      x: is_log ? Math.log10(mark.x) : mark.x,
      font: { color: look[mark.colour], size: 13 },
      ...(mark.y === null
        ? { yref: 'paper', y: bottom ? 0.02 + 0.06 * place : 0.98 - 0.06 * place }
        : { yref: ids[0].replace('x', 'y'), y: mark.y, yshift: -12 }),
    });
  }
  const data = full_traces(drawing)
    .filter((/** @type {any} */ trace) => ids.includes(trace.xaxis))
    .map((/** @type {any} */ trace) => ({
      ...trace,
      name: say(renamed?.[trace.name] ?? trace.name ?? ''),
      showlegend: trace.showlegend !== false && trace.x.length > 0 && trace.x[0] !== null,
    }));
  return { data, layout };
}
