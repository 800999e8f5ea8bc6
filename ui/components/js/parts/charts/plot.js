// Drawing a group of charts with Plotly: its layout, its styles, in place where that will do; and one figure
// alone, for a PNG.

import { FONT, FONT_ENLARGED } from './figure.js';
import { plotly_text } from '../../words/format.js';
import { axis_id, axis_key } from '../../lib/plotly.js';

const PLOTLY_CONFIG = {
  displaylogo: false,
  displayModeBar: false,
  responsive: false,
  showTips: false,
  doubleClick: false,
};
const IN_PLACE = { frame: { duration: 0, redraw: false }, transition: { duration: 0 }, mode: 'immediate' };
const BOLDER = 1.7;

/** Pixels of a saved figure, before it is doubled. */
export const PNG_SIZE = { width: 960, height: 600 };

/** The style that all axes share. */
function axis_style(look, font) {
  return {
    automargin: false,
    zeroline: false,
    gridcolor: look.line,
    linecolor: look.line,
    tickcolor: look.line,
    tickfont: { size: font, color: look.muted },
    ticklabelstandoff: 2,
    exponentformat: 'none',
  };
}

/** The ticks of a zoomed rank axis: decades alone would leave it without any. */
function zoomed_ticks(axis) {
  const { tickvals: _values, ticktext: _texts, ...rest } = axis;
  return { ...rest, nticks: 5, tickformat: ',~r' };
}

function layout_of(group, geometry, look) {
  const { axes } = group.described;
  const layout = {
    width: geometry.width,
    height: geometry.height,
    margin: { l: 0, r: 0, t: 0, b: 0 },
    autosize: false,
    showlegend: false,
    hovermode: 'x',
    hoverdistance: -1,
    dragmode: 'zoom',
    barmode: 'overlay',
    paper_bgcolor: 'rgba(0,0,0,0)',
    plot_bgcolor: 'rgba(0,0,0,0)',
    font: { family: look.font, color: look.text, size: FONT },
    hoverlabel: {
      align: 'left',
      bgcolor: look.panel,
      bordercolor: look.muted,
      namelength: 0,
      font: { family: look.font, color: look.text, size: 13 },
    },
  };
  group.subplots.forEach((subplot, place) => {
    const box = geometry.boxes[place];
    const style = axis_style(look, box.font);
    const [x_key, y_key] = [axis_key('x', subplot.number), axis_key('y', subplot.number)];
    layout[x_key] = {
      ...style,
      ...x_axis_of(group, x_key),
      anchor: axis_id('y', subplot.number),
      fixedrange: !subplot.zooms,
      showline: true,
      domain: [box.left / geometry.width, (box.left + box.width) / geometry.width],
    };
    layout[y_key] = {
      ...style,
      ...axes[y_key],
      anchor: axis_id('x', subplot.number),
      fixedrange: true,
      domain: [1 - (box.top + box.height) / geometry.height, 1 - box.top / geometry.height],
    };
  });
  return layout;
}

/** An x axis as it is shown: as described, or as a person has zoomed it. */
export function x_axis_of(group, key) {
  const axis = group.described.axes[key];
  return group.zoom[key] ? { ...zoomed_ticks(axis), range: group.zoom[key] } : axis;
}

/** A number, or each of a list, times something. */
const times = (value, factor) => (Array.isArray(value) ? value.map(one => one * factor) : value * factor);

/** The styles of a group's traces; those of an enlarged figure are bolder, to be seen from the last row. */
export function styles_of(group, geometry, look) {
  const bold = new Set(
    group.subplots
      .filter((_, place) => geometry.boxes[place].font === FONT_ENLARGED)
      .map(subplot => axis_id('x', subplot.number)),
  );
  return group.subject.styles(look).map(style => {
    if (!bold.has(style.xaxis)) return style;
    const bolder = { ...style };
    if (style.line) bolder.line = { ...style.line, width: style.line.width * BOLDER };
    if (style.marker?.size) bolder.marker = { ...style.marker, size: times(style.marker.size, BOLDER) };
    return bolder;
  });
}

/** Plotly leaves a trace without points out, and `animate` then leaves what it had drawn: a gap clears it. */
export const without_empty = data =>
  data.map(trace => (trace.x?.length === 0 ? { ...trace, x: [null], y: [null] } : trace));

const full_traces = group => group.described.data.map((data, place) => ({ ...group.styles[place], ...data }));

/** Plotly's animate rejects, without a reason, where a later drawing overtook it; all else is an error. */
const unless_overtaken = reason => {
  if (reason) throw reason;
};

/** The y ranges of a layout, as `Plotly.relayout` takes them, and the layout without them. */
function without_ranges(layout) {
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
 * Draws a group; resolves when the drawing is in the DOM. Where only data and y ranges differ it is redrawn
 * in place: `animate` takes a third of the time of `react`, and `relayout` of a range a quarter.
 */
export function plot(plotly, group, geometry, look) {
  group.styles ??= styles_of(group, geometry, look);
  const layout = layout_of(group, geometry, look);
  const { ranges, rest } = without_ranges(layout);
  // Adding or removing bars, and anything of the layout, is beyond what animate redraws.
  const key = JSON.stringify([rest, group.described.data[0].x.length]);
  const was = group.ranges ?? {};
  const moved = Object.fromEntries(
    Object.entries(ranges).filter(([name, range]) => String(range) !== String(was[name])),
  );
  group.ranges = ranges;
  if (!group.subject.animates || key !== group.key) {
    group.key = key;
    return plotly.react(group.layer, full_traces(group), layout, PLOTLY_CONFIG);
  }
  const { data } = group.described;
  const moves = Object.keys(moved).length ? plotly.relayout(group.layer, moved) : null;
  const drawn = new Promise((resolve, reject) => {
    group.landed = resolve;
    // Plotly tells of it some milliseconds after the paths have changed, which is what can be seen.
    group.changed = moves ? null : resolve;
    plotly
      .animate(group.layer, { data, traces: data.map((_, place) => place) }, IN_PLACE)
      .catch(unless_overtaken)
      .then(resolve, reject);
  });
  return Promise.all([moves, drawn]);
}

/** One figure alone, with titles, legend and token names as Plotly's own, for a PNG. */
export function export_figure(group, part, look) {
  const own = group.subplots.filter(subplot => subplot.figure === part.key);
  const definition = group.subject.figures.find(figure => figure.key === part.key);
  const { axes, figures } = group.described;
  const { labels, marks = [] } = figures[part.key];
  const ids = own.map(subplot => axis_id('x', subplot.number));
  const layout = {
    ...PNG_SIZE,
    barmode: 'overlay',
    paper_bgcolor: look.ground,
    plot_bgcolor: look.ground,
    autosize: false,
    font: { family: look.font, color: look.text, size: 14 },
    margin: { l: 90, r: 30, t: 126, b: labels ? 110 : 70 },
    title: {
      text: `${part.name}<br><sub>${plotly_text(figures[part.key].text, 130)}</sub>`,
      x: 0.03,
      xanchor: 'left',
      y: 0.96,
    },
    showlegend: true,
    legend: { orientation: 'h', x: 0, y: 1.04, yanchor: 'bottom', font: { size: 12 } },
    annotations: [],
  };
  own.forEach((subplot, place) => {
    const [x_key, y_key] = [axis_key('x', subplot.number), axis_key('y', subplot.number)];
    const style = { ...axis_style(look, 13), automargin: true, showline: true };
    const x = {
      ...style,
      ...x_axis_of(group, x_key),
      anchor: axis_id('y', subplot.number),
      title: { text: subplot.x_title },
    };
    if (labels) {
      Object.assign(x, {
        showticklabels: true,
        tickvals: labels.map((_, index) => index),
        tickangle: -50,
        ticktext: labels.map(label => plotly_text(label, 14)),
      });
    }
    if (own.length > 1) x.domain = place === 0 ? [0, 0.16] : [0.26, 1];
    layout[x_key] = x;
    layout[y_key] = {
      ...style,
      ...axes[y_key],
      anchor: axis_id('x', subplot.number),
      title: { text: place === 0 ? definition.y_title : '' },
    };
  });
  for (const [place, mark] of marks.entries()) {
    layout.annotations.push({
      text: plotly_text(mark.text, 40),
      showarrow: false,
      xref: ids[0],
      xanchor: 'left',
      xshift: 6,
      x: Math.log10(mark.x),
      font: { color: look[mark.colour], size: 13 },
      ...(mark.y === null
        ? { yref: 'paper', y: mark.side === 'bottom' ? 0.02 + 0.06 * place : 0.98 - 0.06 * place }
        : { yref: ids[0].replace('x', 'y'), y: mark.y, yshift: -12 }),
    });
  }
  const data = full_traces(group)
    .filter(trace => ids.includes(trace.xaxis))
    .map(trace => ({ ...trace, showlegend: trace.showlegend !== false && trace.x.length > 0 }));
  return { data, layout };
}
