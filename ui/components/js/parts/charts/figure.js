// One figure of the charts around its plot: caption, legend, buttons; and the room that it leaves for the plot.

import { element, set_attribute, set_class, set_text, svg } from '../../lib/dom.js';
import { shorten } from '../../words/format.js';

const LABEL_LENGTH = 8;

/** Pixels of the texts in a figure, and in an enlarged one. */
export const FONT = 11;
export const FONT_ENLARGED = 19;

const icon = path =>
  svg(
    'svg',
    { viewBox: '0 0 16 16', width: 14, height: 14, 'aria-hidden': 'true' },
    svg('path', {
      d: path,
      fill: 'none',
      stroke: 'currentColor',
      'stroke-width': 1.6,
      'stroke-linecap': 'round',
      'stroke-linejoin': 'round',
    }),
  );
const LARGER = 'M9.5 2H14v4.5M14 2 9 7M6.5 14H2V9.5M2 14l5-5';
const SMALLER = 'M14 6.5H9.5V2M9.5 6.5 14 2M2 9.5h4.5V14M6.5 9.5 2 14';

/** The HTML of one figure, and its parts that change. */
export function make_figure({ key, name, y_title, legend }, subplots, handlers) {
  const text = element('p', { class: 'dv-chart-text' });
  const summary = element('p', { class: 'dv-spoken' });
  const reset = element('button', {
    class: 'dv-chart-button dv-chart-reset',
    type: 'button',
    text: 'Reset',
    'aria-label': `Reset zoom of ${name}`,
    onclick: () => handlers.reset(key),
  });
  const enlarge = element(
    'button',
    {
      class: 'dv-chart-button',
      type: 'button',
      'aria-label': `Enlarge ${name}`,
      onclick: () => handlers.enlarge(key),
    },
    icon(LARGER),
  );
  const png = element('button', {
    class: 'dv-chart-button',
    type: 'button',
    text: 'PNG',
    'aria-label': `Save ${name} as PNG`,
    onclick: () => handlers.save(key),
  });
  const swatch = look => element('span', { class: `dv-swatch dv-swatch-${look}`, 'aria-hidden': 'true' });
  const items = legend.map(({ look, text: words }) => element('li', {}, swatch(look), words));
  const labels = element('div', { class: 'dv-chart-labels', 'aria-hidden': 'true' });
  const marks = element('div', { class: 'dv-chart-marks', 'aria-hidden': 'true' });
  const y_name = element('span', { class: 'dv-chart-axis', text: y_title, 'aria-hidden': 'true' });
  const x_names = subplots.map(subplot =>
    element('span', {
      class: 'dv-chart-axis',
      'aria-hidden': 'true',
      text: subplot.has_token_labels ? '' : subplot.x_title,
    }),
  );
  const plot = element('div', { class: 'dv-plot' }, y_name, ...x_names, labels, marks, reset);
  const caption = element(
    'figcaption',
    {},
    element(
      'div',
      { class: 'dv-chart-head' },
      element('span', { class: 'dv-chart-title', text: name }),
      enlarge,
      png,
    ),
    text,
    element('ul', { class: 'dv-legend' }, ...items),
    summary,
  );
  const figure = element('figure', { class: 'dv-chart', role: 'figure', 'aria-label': name }, caption, plot);
  return {
    key,
    name,
    figure,
    caption,
    text,
    summary,
    reset,
    enlarge,
    plot,
    labels,
    marks,
    y_name,
    x_names,
    legend: legend.map((entry, place) => ({ text: entry.text, item: items[place] })),
    spans: [],
  };
}

/** How a figure looks enlarged, or as one among others. */
export function show_size({ name, figure, enlarge }, is_large) {
  set_class(figure, is_large ? 'dv-chart dv-chart-enlarged' : 'dv-chart');
  set_attribute(enlarge, 'aria-label', `${is_large ? 'Shrink' : 'Enlarge'} ${name}`);
  enlarge.replaceChildren(icon(is_large ? SMALLER : LARGER));
}

// ---- Where everything lies

/** Room around a plot for ticks and titles, in pixels. */
function insets(has_token_labels, font) {
  return {
    left: Math.round(font * 4.9),
    right: 12,
    top: Math.round(font * 2.2),
    bottom: Math.round(font * (has_token_labels ? 5.4 : 2.4)),
  };
}

/** The inner boxes of a group's subplots, relative to the grid, from where the HTML figures are now. */
export function measure(group, parts, grid, enlarged) {
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
    return {
      left: outer.left - origin.left + left,
      top: outer.top - origin.top + inset.top,
      width: Math.max(10, to - left),
      height: Math.max(10, outer.height - inset.top - inset.bottom),
      inner_left: left,
      inner_top: inset.top,
      font,
      outer_width: outer.width,
    };
  });
  return { boxes, width: Math.round(origin.width), height: Math.round(origin.height) };
}

/** Move an element inside its plot, where that differs. */
function put(target, style) {
  for (const [name, value] of Object.entries(style)) {
    if (target.style[name] !== value) target.style[name] = value;
  }
}

export const px = value => `${value.toFixed(1)}px`;

export function place_titles(part, boxes) {
  boxes.forEach((box, place) => {
    put(part.x_names[place], {
      right: px(box.outer_width - box.inner_left + box.font * 0.7),
      top: px(box.inner_top + box.height + box.font * 0.55),
    });
  });
  put(part.y_name, { left: px(Math.max(0, boxes[0].inner_left - boxes[0].font * 4.4)), top: '0px' });
}

/** Token labels under the bars: HTML, so that they are literal and cheap to change. */
export function place_labels(part, labels, box) {
  while (part.spans.length < labels.length) {
    const span = element('span', { class: 'dv-token' });
    part.spans.push(span);
    part.labels.append(span);
  }
  const slot = box.width / Math.max(1, labels.length);
  put(part.labels, {
    top: px(box.inner_top + box.height + 4),
    left: px(box.inner_left),
    width: px(box.width),
  });
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
export function place_marks(part, marks, box, x_axis, y_axis) {
  while (part.marks.children.length < marks.length) part.marks.append(element('span', { class: 'dv-mark' }));
  put(part.marks, {
    left: px(box.inner_left),
    top: px(box.inner_top),
    width: px(box.width),
    height: px(box.height),
  });
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
      const free = row =>
        !taken.some(
          other =>
            left < other.left + other.width &&
            other.left < left + width &&
            Math.abs(other.top - row) < height,
        );
      const rows = Array.from({ length: Math.floor(box.height / height) }, (_, row) =>
        mark.side === 'bottom' ? box.height - (row + 1) * height - 2 : row * height + 2,
      );
      top = rows.find(free) ?? rows[0];
    }
    taken.push({ left, top, width });
    set_text(span, mark.text);
    put(span, { left: px(left), top: px(top), color: `var(--dv-${mark.colour.replace('_', '-')})` });
  });
}
