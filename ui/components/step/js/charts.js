// The six charts of the step page. Two Plotly figures (the distribution, the costs) lie over one grid of HTML
// figures: each subplot sits where its HTML figure has left room. One Plotly figure with many subplots
// redraws about twice as fast as many figures; titles, legends, token labels stay HTML: literal and cheap.

import * as cost from './charts_cost.js';
import * as distribution from './charts_distribution.js';
import { element, set_attribute, set_class, set_text, svg } from './dom.js';
import { plotly_text, shorten } from './format.js';
import { axis_id, axis_key, load_plotly, read_look, to_png } from './plotly.js';

const PLOTLY_CONFIG = {
  displaylogo: false, displayModeBar: false, responsive: false, showTips: false, doubleClick: false,
};
const IN_PLACE = { frame: { duration: 0, redraw: false }, transition: { duration: 0 }, mode: 'immediate' };

// While steps run by, the charts leave the browser time for the rest of the page.
const RUNNING_GAP_MS = { distribution: 85, cost: 1200 };
const MOST_BARS = 20;
const MOST_BARS_NARROW = 12;
const NARROW = 400;
const LABEL_LENGTH = 8;
const FONT = 11;
const FONT_ENLARGED = 19;
const BOLDER = 1.7;
const PNG_SIZE = { width: 960, height: 600 };

// ---- HTML around the plots

const icon = path => svg('svg', { viewBox: '0 0 16 16', width: 14, height: 14, 'aria-hidden': 'true' },
  svg('path', { d: path, fill: 'none', stroke: 'currentColor', 'stroke-width': 1.6, 'stroke-linecap': 'round',
    'stroke-linejoin': 'round' }));
const LARGER = 'M9.5 2H14v4.5M14 2 9 7M6.5 14H2V9.5M2 14l5-5';
const SMALLER = 'M14 6.5H9.5V2M9.5 6.5 14 2M2 9.5h4.5V14M6.5 9.5 2 14';

/** The HTML of one figure, and its parts that change. */
function make_figure({ key, name, y_title, legend }, subplots, handlers) {
  const text = element('p', { class: 'dv-chart-text' });
  const summary = element('p', { class: 'dv-spoken' });
  const reset = element('button', { class: 'dv-chart-button dv-chart-reset', type: 'button', text: 'Reset',
    'aria-label': `Reset zoom of ${name}`, onclick: () => handlers.reset(key) });
  const enlarge = element('button', { class: 'dv-chart-button', type: 'button',
    'aria-label': `Enlarge ${name}`, onclick: () => handlers.enlarge(key) }, icon(LARGER));
  const png = element('button', { class: 'dv-chart-button', type: 'button', text: 'PNG',
    'aria-label': `Save ${name} as PNG`, onclick: () => handlers.save(key) });
  const swatch = look => element('span', { class: `dv-swatch dv-swatch-${look}`, 'aria-hidden': 'true' });
  const items = legend.map(({ look, text: words }) => element('li', {}, swatch(look), words));
  const labels = element('div', { class: 'dv-chart-labels', 'aria-hidden': 'true' });
  const marks = element('div', { class: 'dv-chart-marks', 'aria-hidden': 'true' });
  const y_name = element('span', { class: 'dv-chart-axis', text: y_title, 'aria-hidden': 'true' });
  const x_names = subplots.map(subplot => element('span', { class: 'dv-chart-axis', 'aria-hidden': 'true',
    text: subplot.has_token_labels ? '' : subplot.x_title }));
  const plot = element('div', { class: 'dv-plot' }, y_name, ...x_names, labels, marks, reset);
  const caption = element('figcaption', {},
    element('div', { class: 'dv-chart-head' }, element('span', { class: 'dv-chart-title', text: name }),
      enlarge, png),
    text, element('ul', { class: 'dv-legend' }, ...items), summary);
  const figure = element('figure', { class: 'dv-chart', role: 'figure', 'aria-label': name }, caption, plot);
  return {
    key, name, figure, caption, text, summary, reset, enlarge, plot, labels, marks, y_name, x_names,
    legend: legend.map((entry, place) => ({ text: entry.text, item: items[place] })), spans: [],
  };
}

/** One Plotly figure, what it draws, and what is known of its last drawing. */
function make_group(name, subject) {
  const subplots = subject.subplots.map(subplot => ({
    ...subject.figures.find(figure => figure.key === subplot.figure), ...subplot }));
  return {
    name, subject, subplots, layer: element('div', { class: 'dv-chart-layer', 'aria-hidden': 'true' }),
    memory: {}, zoom: {}, key: null, styles: null, described: null, boxes: null, drawn: 0,
    is_dirty: true, is_busy: false, last: -Infinity,
  };
}

// ---- Where everything lies

/** Room around a plot for ticks and titles, in pixels. */
function insets(has_token_labels, font) {
  return { left: Math.round(font * 4.9), right: 12, top: Math.round(font * 2.2),
    bottom: Math.round(font * (has_token_labels ? 5.4 : 2.4)) };
}

/** The inner boxes of a group's subplots, relative to the grid, from where the HTML figures are now. */
function measure(group, parts, grid, enlarged) {
  const origin = grid.getBoundingClientRect();
  const boxes = group.subplots.map(subplot => {
    const part = parts[subplot.figure];
    const outer = part.plot.getBoundingClientRect();
    const font = enlarged === subplot.figure ? FONT_ENLARGED : FONT;
    const inset = insets(subplot.has_token_labels, font);
    const from = subplot.from * outer.width + inset.left;
    const last = subplot.to === 1;
    const to = last ? outer.width - inset.right : Math.max(subplot.to * outer.width, from + 3 * font) + font;
    const left = subplot.gap ? from + 1.4 * font : from;
    return { left: outer.left - origin.left + left, top: outer.top - origin.top + inset.top,
      width: Math.max(10, to - left), height: Math.max(10, outer.height - inset.top - inset.bottom),
      inner_left: left, inner_top: inset.top, font, outer_width: outer.width };
  });
  return { boxes, width: Math.round(origin.width), height: Math.round(origin.height) };
}

/** Move an element inside its plot, where that differs. */
function put(target, style) {
  for (const [name, value] of Object.entries(style)) {
    if (target.style[name] !== value) target.style[name] = value;
  }
}

const px = value => `${value.toFixed(1)}px`;

function place_titles(part, boxes) {
  boxes.forEach((box, place) => {
    put(part.x_names[place], { right: px(box.outer_width - box.inner_left + box.font * 0.7),
      top: px(box.inner_top + box.height + box.font * 0.55) });
  });
  put(part.y_name, { left: px(Math.max(0, boxes[0].inner_left - boxes[0].font * 4.4)), top: '0px' });
}

/** Token labels under the bars: HTML, so that they are literal and cheap to change. */
function place_labels(part, labels, box) {
  while (part.spans.length < labels.length) {
    const span = element('span', { class: 'dv-token' });
    part.spans.push(span);
    part.labels.append(span);
  }
  const slot = box.width / Math.max(1, labels.length);
  put(part.labels,
    { top: px(box.inner_top + box.height + 4), left: px(box.inner_left), width: px(box.width) });
  part.spans.forEach((span, place) => {
    const label = labels[place];
    set_class(span, label === undefined ? 'dv-hidden' : 'dv-token');
    if (label === undefined) return;
    set_text(span, shorten(label, LABEL_LENGTH));
    set_attribute(span, 'title', label);
    put(span, { right: px(box.width - (place + 0.5) * slot - box.font * 0.4) });
  });
}

/** Where a value lies on an axis, 0 to 1. */
function share_of(value, axis) {
  const [from, to] = axis.range;
  return ((axis.type === 'log' ? Math.log10(value) : value) - from) / (to - from);
}

/**
 * Labels beside their lines, in rows of their own where they would cover each other. Widths are estimated:
 * measuring them would cost a layout at each step.
 */
function place_marks(part, marks, box, x_axis, y_axis) {
  while (part.marks.children.length < marks.length) part.marks.append(element('span', { class: 'dv-mark' }));
  put(part.marks, { left: px(box.inner_left), top: px(box.inner_top), width: px(box.width),
    height: px(box.height) });
  const taken = [];
  const height = box.font * 1.5;
  Array.from(part.marks.children).forEach((span, place) => {
    const mark = marks[place];
    const share = mark ? share_of(mark.x, x_axis) : -1;
    const is_shown = share >= 0 && share <= 1;
    set_class(span, is_shown ? 'dv-mark' : 'dv-hidden');
    if (!is_shown) return;
    const width = mark.text.length * box.font * 0.57 + 8;
    const at = share * box.width;
    const left = at + 6 + width > box.width ? Math.max(0, at - 6 - width) : at + 6;
    let top = 0;
    if (mark.y !== null) {
      top = Math.min(Math.max((1 - share_of(mark.y, y_axis)) * box.height + 4, 0), box.height - height);
    } else {
      const free = row => !taken.some(other => left < other.left + other.width && other.left < left + width
        && Math.abs(other.top - row) < height);
      const rows = Array.from({ length: Math.floor(box.height / height) }, (_, row) =>
        (mark.side === 'bottom' ? box.height - (row + 1) * height - 2 : row * height + 2));
      top = rows.find(free) ?? rows[0];
    }
    taken.push({ left, top, width });
    set_text(span, mark.text);
    put(span, { left: px(left), top: px(top), color: `var(--dv-${mark.colour.replace('_', '-')})` });
  });
}

// ---- Plotly

/** The style that all axes share. */
function axis_style(look, font) {
  return { automargin: false, zeroline: false, gridcolor: look.line, linecolor: look.line,
    tickcolor: look.line, tickfont: { size: font, color: look.muted }, ticklabelstandoff: 2,
    exponentformat: 'none' };
}

/** The ticks of a zoomed rank axis: decades alone would leave it without any. */
function zoomed_ticks(axis) {
  const { tickvals: _values, ticktext: _texts, ...rest } = axis;
  return { ...rest, nticks: 5, tickformat: ',~r' };
}

function layout_of(group, geometry, look) {
  const { axes } = group.described;
  const layout = {
    width: geometry.width, height: geometry.height, margin: { l: 0, r: 0, t: 0, b: 0 }, autosize: false,
    showlegend: false, hovermode: 'x', hoverdistance: -1, dragmode: 'zoom', barmode: 'overlay',
    paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)',
    font: { family: look.font, color: look.text, size: FONT },
    hoverlabel: { align: 'left', bgcolor: look.panel, bordercolor: look.muted, namelength: 0,
      font: { family: look.font, color: look.text, size: 13 } },
  };
  group.subplots.forEach((subplot, place) => {
    const box = geometry.boxes[place];
    const style = axis_style(look, box.font);
    const [x_key, y_key] = [axis_key('x', subplot.number), axis_key('y', subplot.number)];
    layout[x_key] = { ...style, ...x_axis_of(group, x_key), anchor: axis_id('y', subplot.number),
      fixedrange: !subplot.zooms, showline: true,
      domain: [box.left / geometry.width, (box.left + box.width) / geometry.width] };
    layout[y_key] = { ...style, ...axes[y_key], anchor: axis_id('x', subplot.number), fixedrange: true,
      domain: [1 - (box.top + box.height) / geometry.height, 1 - box.top / geometry.height] };
  });
  return layout;
}

/** An x axis as it is shown: as described, or as a person has zoomed it. */
function x_axis_of(group, key) {
  const axis = group.described.axes[key];
  return group.zoom[key] ? { ...zoomed_ticks(axis), range: group.zoom[key] } : axis;
}

/** A number, or each of a list, times something. */
const times = (value, factor) => (Array.isArray(value) ? value.map(one => one * factor) : value * factor);

/** The styles of a group's traces; those of an enlarged figure are bolder, to be seen from the last row. */
function styles_of(group, geometry, look) {
  const bold = new Set(group.subplots.filter((_, place) => geometry.boxes[place].font === FONT_ENLARGED)
    .map(subplot => axis_id('x', subplot.number)));
  return group.subject.styles(look).map(style => {
    if (!bold.has(style.xaxis)) return style;
    const bolder = { ...style };
    if (style.line) bolder.line = { ...style.line, width: style.line.width * BOLDER };
    if (style.marker?.size) bolder.marker = { ...style.marker, size: times(style.marker.size, BOLDER) };
    return bolder;
  });
}

/** Plotly leaves a trace without points out, and `animate` then leaves what it had drawn: a gap clears it. */
const without_empty = data =>
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
function plot(plotly, group, geometry, look) {
  group.styles ??= styles_of(group, geometry, look);
  const layout = layout_of(group, geometry, look);
  const { ranges, rest } = without_ranges(layout);
  // Adding or removing bars, and anything of the layout, is beyond what animate redraws.
  const key = JSON.stringify([rest, group.described.data[0].x.length]);
  const was = group.ranges ?? {};
  const moved = Object.fromEntries(
    Object.entries(ranges).filter(([name, range]) => String(range) !== String(was[name])));
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
    plotly.animate(group.layer, { data, traces: data.map((_, place) => place) }, IN_PLACE)
      .catch(unless_overtaken).then(resolve, reject);
  });
  return Promise.all([moves, drawn]);
}

/** One figure alone, with titles, legend and token names as Plotly's own, for a PNG. */
function export_figure(group, part, look) {
  const own = group.subplots.filter(subplot => subplot.figure === part.key);
  const definition = group.subject.figures.find(figure => figure.key === part.key);
  const { axes, figures } = group.described;
  const { labels, marks = [] } = figures[part.key];
  const ids = own.map(subplot => axis_id('x', subplot.number));
  const layout = {
    ...PNG_SIZE, barmode: 'overlay', paper_bgcolor: look.ground, plot_bgcolor: look.ground, autosize: false,
    font: { family: look.font, color: look.text, size: 14 },
    margin: { l: 90, r: 30, t: 126, b: labels ? 110 : 70 },
    title: { text: `${part.name}<br><sub>${plotly_text(figures[part.key].text, 130)}</sub>`, x: 0.03,
      xanchor: 'left', y: 0.96 },
    showlegend: true, legend: { orientation: 'h', x: 0, y: 1.04, yanchor: 'bottom', font: { size: 12 } },
    annotations: [],
  };
  own.forEach((subplot, place) => {
    const [x_key, y_key] = [axis_key('x', subplot.number), axis_key('y', subplot.number)];
    const style = { ...axis_style(look, 13), automargin: true, showline: true };
    const x = { ...style, ...x_axis_of(group, x_key), anchor: axis_id('y', subplot.number),
      title: { text: subplot.x_title } };
    if (labels) {
      Object.assign(x, { showticklabels: true, tickvals: labels.map((_, index) => index), tickangle: -50,
        ticktext: labels.map(label => plotly_text(label, 14)) });
    }
    if (own.length > 1) x.domain = place === 0 ? [0, 0.16] : [0.26, 1];
    layout[x_key] = x;
    layout[y_key] = { ...style, ...axes[y_key], anchor: axis_id('x', subplot.number),
      title: { text: place === 0 ? definition.y_title : '' } };
  });
  for (const [place, mark] of marks.entries()) {
    layout.annotations.push({ text: plotly_text(mark.text, 40), showarrow: false, xref: ids[0],
      xanchor: 'left', xshift: 6, x: Math.log10(mark.x), font: { color: look[mark.colour], size: 13 },
      ...(mark.y === null
        ? { yref: 'paper', y: mark.side === 'bottom' ? 0.02 + 0.06 * place : 0.98 - 0.06 * place }
        : { yref: ids[0].replace('x', 'y'), y: mark.y, yshift: -12 }) });
  }
  const data = full_traces(group).filter(trace => ids.includes(trace.xaxis))
    .map(trace => ({ ...trace, showlegend: trace.showlegend !== false && trace.x.length > 0 }));
  return { data, layout };
}

// ---- The part

/**
 * Builds the charts.
 * @param {Element} root empty element for them, inside the `.dv` element that says where Plotly.js is
 * @param {object} actions see README.md
 * @returns {{update: Function, destroy: Function, drawn: number, drawn_costs: number}}
 */
export function create(root, actions) {
  const groups = [make_group('distribution', distribution), make_group('cost', cost)];
  const [main_group, cost_group] = groups;
  const group_of = key => groups.find(group => group.subject.figures.some(figure => figure.key === key));
  const handlers = {
    enlarge: key => actions.show({ enlarged: latest?.state.enlarged === key ? null : key }),
    reset: key => zoom_out(key),
    save: key => save(key),
  };
  const parts = {};
  for (const { subject, subplots } of groups) {
    for (const figure of subject.figures) {
      const own = subplots.filter(subplot => subplot.figure === figure.key);
      parts[figure.key] = make_figure(figure, own, handlers);
    }
  }
  const note = element('div', { class: 'dv-chart-note dv-hidden', role: 'alert' },
    element('span', {}), element('button', { type: 'button', text: 'Retry', onclick: () => load() }));
  const grid = element('div', { class: 'dv-charts' },
    ...Object.values(parts).map(part => part.figure), ...groups.map(group => group.layer));
  root.classList.add('dv-charts-root');
  root.append(note, grid);

  let plotly = null;
  let latest = null;
  let look = null;
  let enlarged = null;
  let costs_drawn = '';
  let run = null;
  let frame = 0;
  let timer = 0;
  let is_gone = false;
  let is_hidden = grid.clientWidth === 0;

  function load() {
    set_class(note, 'dv-chart-note dv-hidden');
    grid.classList.remove('dv-hidden');
    load_plotly(root.closest('.dv')?.dataset.plotly).then(loaded => {
      plotly = loaded;
      request();
    }, error => {
      set_text(note.firstChild, `The charts cannot be drawn: ${error.message}.`);
      set_class(note, 'dv-chart-note');
      grid.classList.add('dv-hidden');
    });
  }

  /** Ask for a drawing at the next animation frame. */
  function request() {
    if (!frame && !is_gone) frame = requestAnimationFrame(tick);
  }

  /** How long a group must wait still: not at all unless steps run by. */
  function wait_of(group, now) {
    const is_running = latest.state.mode === 'playing' || latest.state.mode === 'running';
    return is_running ? group.last + RUNNING_GAP_MS[group.name] - now : 0;
  }

  /** At most one group per frame, the distribution first: its answer is what a person waits for. */
  function tick() {
    frame = 0;
    if (!plotly || !latest || is_gone || is_hidden) return;
    const now = performance.now();
    // One at a time: a second drawing would hold up the first on its way into the DOM.
    if (groups.some(group => group.is_busy)) return;
    const waiting = groups.filter(group => group.is_dirty);
    // A few milliseconds of tolerance: else a frame that comes just too early would cost a whole one.
    const ready = waiting.find(group => wait_of(group, now) <= 4);
    if (ready) {
      draw(ready, now);
    } else if (waiting.length) {
      clearTimeout(timer);
      timer = setTimeout(request, Math.min(...waiting.map(group => wait_of(group, now))));
    }
  }

  function draw(group, now) {
    const { state, view } = latest;
    group.is_dirty = false;
    group.last = now;
    look ??= read_look(grid);
    group.boxes ??= measure(group, parts, grid, enlarged);
    const places = group.boxes.boxes[0].outer_width < NARROW ? MOST_BARS_NARROW : MOST_BARS;
    group.described = group.subject.describe(state, view, {
      memory: group.memory, places, is_calm: state.mode === 'paused' && latest.reason !== 'slide' });
    group.described.data = without_empty(group.described.data);
    group.is_busy = true;
    plot(plotly, group, group.boxes, look).then(() => {
      if (!group.listens) listen(group);
      group.drawn += 1;
      root.dispatchEvent(new CustomEvent('dv-drawn', { bubbles: true, detail: group.name }));
    }).finally(() => {
      group.is_busy = false;
      if (group.is_dirty) request();
      // The costs wait until this drawing has been painted.
      else if (groups.some(other => other.is_dirty)) frame ||= requestAnimationFrame(() => {
        frame = 0;
        timer = setTimeout(request);
      });
    });
    write(group, state);
  }

  /** Everything of a group that is HTML. */
  function write(group, state) {
    for (const definition of group.subject.figures) {
      const part = parts[definition.key];
      const { text, summary, labels, marks = [], absent } = group.described.figures[definition.key];
      const own = group.subplots.filter(subplot => subplot.figure === definition.key);
      const boxes = own.map(subplot => group.boxes.boxes[group.subplots.indexOf(subplot)]);
      set_text(part.text, text);
      set_attribute(part.text, 'title', text);
      for (const entry of part.legend) {
        set_class(entry.item, absent.includes(entry.text) ? 'dv-legend-absent' : '');
      }
      // A summary that changes many times a second would be no use to a listener.
      if (state.mode === 'paused') set_text(part.summary, summary);
      place_titles(part, boxes);
      if (labels) place_labels(part, labels, boxes[0]);
      const [x_key, y_key] = [axis_key('x', own[0].number), axis_key('y', own[0].number)];
      place_marks(part, marks, boxes[0], x_axis_of(group, x_key), group.described.axes[y_key]);
      const is_zoomed = own.some(subplot => group.zoom[axis_key('x', subplot.number)]);
      set_class(part.reset, `dv-chart-button dv-chart-reset${is_zoomed ? '' : ' dv-chart-away'}`);
    }
  }

  /** Plotly's events, once its figure is there. */
  function listen(group) {
    group.listens = true;
    // What Plotly measures text with is nothing for a screen reader.
    set_attribute(document.getElementById('js-plotly-tester'), 'aria-hidden', 'true');
    let pressed = null;
    group.layer.addEventListener('mousedown', event => {
      pressed = event.target.dataset?.subplot ?? null;
    }, { capture: true });
    group.layer.on('plotly_transitioned', () => group.landed?.());
    new MutationObserver(() => group.changed?.())
      .observe(group.layer, { subtree: true, attributes: true, attributeFilter: ['d'] });
    group.layer.on('plotly_relayout', change => {
      for (const subplot of group.subplots) {
        const key = axis_key('x', subplot.number);
        if (`${key}.range[0]` in change) {
          group.zoom[key] = [change[`${key}.range[0]`], change[`${key}.range[1]`]];
          redraw(group);
        }
      }
    });
    group.layer.on('plotly_doubleclick', () => {
      const name_of = ({ number }) => `${axis_id('x', number)}${axis_id('y', number)}`;
      const subplot = group.subplots.find(one => name_of(one) === pressed);
      if (subplot) zoom_out(subplot.figure);
    });
    // Line labels stand above the plot; a hover box goes before them.
    group.layer.on('plotly_hover', () => grid.classList.add('dv-charts-hovered'));
    group.layer.on('plotly_unhover', () => grid.classList.remove('dv-charts-hovered'));
    group.layer.on('plotly_click', ({ points }) => {
      const index = points.find(point => Number.isInteger(point.customdata))?.customdata;
      if (index !== undefined) actions.inspect(index);
    });
  }

  function redraw(group) {
    group.is_dirty = true;
    request();
  }

  function zoom_out(key) {
    const group = group_of(key);
    for (const subplot of group.subplots) {
      if (subplot.figure === key) delete group.zoom[axis_key('x', subplot.number)];
    }
    redraw(group);
  }

  async function save(key) {
    const group = group_of(key);
    if (!plotly || !group.described) return;
    look ??= read_look(grid);
    group.boxes ??= measure(group, parts, grid, enlarged);
    group.styles ??= styles_of(group, group.boxes, look);
    const { data, layout } = export_figure(group, parts[key], look);
    const url = await to_png(plotly, { data, layout }, PNG_SIZE.width, PNG_SIZE.height);
    element('a', { href: url, download: `${key}-step-${latest.state.index + 1}.png` }).click();
  }

  function show_enlarged(key) {
    if (key === enlarged) return;
    enlarged = key;
    for (const part of Object.values(parts)) {
      const is_large = part.key === key;
      set_class(part.figure, is_large ? 'dv-chart dv-chart-enlarged' : 'dv-chart');
      set_attribute(part.enlarge, 'aria-label', `${is_large ? 'Shrink' : 'Enlarge'} ${part.name}`);
      part.enlarge.replaceChildren(icon(is_large ? SMALLER : LARGER));
    }
    for (const group of groups) group.key = null;
    if (key) requestAnimationFrame(() => parts[key]?.figure.scrollIntoView({ block: 'start' }));
    remeasure();
  }

  function remeasure() {
    for (const group of groups) Object.assign(group, { boxes: null, styles: null, is_dirty: true });
    request();
  }

  // Asking for the width instead would force a layout in the middle of every drawing.
  const observer = new ResizeObserver(entries => {
    for (const { target, contentRect } of entries) if (target === grid) is_hidden = contentRect.width === 0;
    remeasure();
  });
  observer.observe(grid);
  for (const { plot: room, caption } of Object.values(parts)) {
    observer.observe(room);
    observer.observe(caption);
  }

  // Touches must scroll the page and not zoom, so Plotly does not hear of them; a tap still is a click.
  for (const { layer } of groups) {
    layer.addEventListener('touchstart', event => event.stopPropagation(), { capture: true, passive: true });
  }

  load();

  return {
    /** Number of drawings of the four distribution charts that are in the DOM. */
    get drawn() {
      return main_group.drawn;
    },
    /** The same for the two cost charts. */
    get drawn_costs() {
      return cost_group.drawn;
    },
    /**
     * @param {object} state
     * @param {object|null} view
     * @param {'slide'|'step'|'resize'|'theme'} reason
     */
    update(state, view, reason) {
      latest = { state, view, reason };
      show_enlarged(state.enlarged ?? null);
      if (`${state.session}/${state.run}` !== run) {
        // Another text: its axes owe nothing to the last one's.
        run = `${state.session}/${state.run}`;
        for (const group of groups) Object.assign(group, { memory: {}, zoom: {} });
      }
      if (reason === 'theme') {
        look = null;
        for (const group of groups) Object.assign(group, { styles: null, key: null, is_dirty: true });
      }
      if (reason === 'resize') remeasure();
      main_group.is_dirty = true;
      const last = state.steps.at(-1);
      const costs = [run, state.branch, state.steps.length, state.index, last?.id, last?.total_ms,
        state.mode === 'paused', state.cache_formula].join();
      if (costs !== costs_drawn) {
        costs_drawn = costs;
        cost_group.is_dirty = true;
      }
      // Not a frame later: Plotly takes one of its own.
      if (!frame && !is_gone) tick();
    },
    destroy() {
      is_gone = true;
      cancelAnimationFrame(frame);
      clearTimeout(timer);
      observer.disconnect();
      if (plotly) for (const group of groups) plotly.purge(group.layer);
      root.classList.remove('dv-charts-root');
      root.replaceChildren();
    },
  };
}
