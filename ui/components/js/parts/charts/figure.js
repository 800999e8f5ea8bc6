// One figure of the charts around its plot: caption, legend, buttons; and the space that it leaves for the plot.

import { element, set_attribute, set_class, set_text } from '../../lib/dom.js';
import { term } from '../../lib/term.js';
import { shorten } from '../../words/format.js';
import { say } from '../../words/say.js';

/** @import { FigureDefinition, SubplotDefinition, Mark, Box } from './types.js' */
/** @typedef {ReturnType<typeof make_figure>} FigurePart */

const SMALL = 0.79; // of the page's type size: text on axes

/**
 * The HTML of one figure, and its changing parts.
 * @param {FigureDefinition} definition
 * @param {SubplotDefinition[]} subplots
 * @param {{reset: () => void, save: () => void}} handlers
 */
export function make_figure({ key, name: english, term: entry, y_title, unit, legend: entries }, subplots, handlers) {
  const text = element('span', { class: 'dv-chart-text' });
  const summary = element('p', { class: 'dv-spoken' });
  /** @param {string} label @param {string} words @param {() => void} run */
  const button = (label, words, run) =>
    element('button', { class: 'dv-quiet', type: 'button', text: words, 'aria-label': label, onclick: run });
  const name = say(english);
  const reset = button(say('Reset zoom of {figure}', { figure: name }), say('Reset zoom'), handlers.reset);
  reset.classList.add('dv-hidden');
  const legend = entries.map(({ look, text: entry_name, title }) => {
    const words = element('span', { text: say(entry_name) });
    const swatch = element('span', { class: `dv-swatch dv-swatch-${look}`, 'aria-hidden': 'true' });
    return { name: entry_name, words, item: element('li', { title: title ? say(title) : null }, swatch, words) };
  });
  const labels = element('div', { class: 'dv-chart-labels', 'aria-hidden': 'true' });
  const marks = element('div', { class: 'dv-chart-marks', 'aria-hidden': 'true' });
  const y_name = element('span', { class: 'dv-chart-axis', text: unit ?? '', 'aria-hidden': 'true' });
  const x_names = subplots.map(({ x_title }) =>
    element('span', { class: 'dv-chart-axis', text: say(x_title), 'aria-hidden': 'true' }),
  );
  const room = element('div', { class: 'dv-plot' }, y_name, ...x_names, labels, marks);
  const caption = element(
    'figcaption',
    {},
    element(
      'div',
      { class: 'dv-chart-head' },
      term(entry, name),
      text,
      element('ul', { class: 'dv-legend' }, ...legend.map(({ item }) => item)),
      reset,
      button(say('Save {figure} as PNG', { figure: name }), 'PNG', handlers.save),
    ),
    summary,
  );
  const figure = element(
    'figure',
    { class: 'dv-chart', role: 'figure', 'aria-label': name, 'data-figure': key },
    caption,
    room,
  );
  /** @type {HTMLElement[]} */
  const spans = [];
  return {
    key,
    name,
    y_title,
    figure,
    caption,
    text,
    summary,
    reset,
    room,
    labels,
    marks,
    y_name,
    x_names,
    legend,
    spans,
  };
}

// ---- Positions

const LEFT = 4.4; // all in heights of the axes' type
const BETWEEN = 2.5; // a scale between two plots of one figure
const NARROWEST = 3;
const LETTER = 0.4; // the drop of a slanting label per letter
const [SHORT_LABEL, LONG_LABEL] = [11, 18]; // letters, for a low plot and for one with height to spare
const HIGH = 28;

/**
 * Space above and below a plot for ticks and titles, in pixels.
 * @param {SubplotDefinition} subplot
 * @param {boolean} has_unit
 * @param {number} font
 * @param {number} longest letters of a token's label
 */
const insets = ({ has_token_labels, is_bare }, has_unit, font, longest) => ({
  top: Math.round(font * (has_unit ? 1.4 : 0.7)),
  bottom: Math.round(font * (has_token_labels ? 0.8 + LETTER * longest : is_bare ? 0.6 : 2.9)),
});

/**
 * The inner boxes of a group's subplots, relative to its root, from the current positions of the HTML figures.
 * @param {SubplotDefinition[]} subplots
 * @param {FigurePart[]} parts
 * @param {HTMLElement} root
 */
export function measure(subplots, parts, root) {
  const origin = root.getBoundingClientRect();
  const font = Number.parseFloat(getComputedStyle(root).fontSize) * SMALL || 11;
  /** @type {Box[]} */
  const boxes = [];
  for (const { figure, from, to, ...subplot } of subplots) {
    const part = /** @type {FigurePart} */ (parts.find(({ key }) => key === figure));
    const outer = part.room.getBoundingClientRect();
    const longest = outer.height > HIGH * font ? LONG_LABEL : SHORT_LABEL;
    const { top, bottom } = insets({ figure, from, to, ...subplot }, part.y_name.textContent !== '', font, longest);
    const before = from > 0 ? boxes.at(-1) : undefined; // of the same figure
    const left = before ? before.inner_left + before.width + BETWEEN * font : LEFT * font;
    const right = to === 1 ? outer.width - 8 : Math.max(to * outer.width, left + NARROWEST * font);
    boxes.push({
      left: outer.left - origin.left + left,
      top: outer.top - origin.top + top,
      width: Math.max(10, right - left),
      height: Math.max(10, outer.height - top - bottom),
      inner_left: left,
      inner_top: top,
      font,
      outer_width: outer.width,
      longest,
    });
  }
  return { boxes, width: Math.round(origin.width), height: Math.round(origin.height) };
}

/**
 * Set an element's style if it differs.
 * @param {HTMLElement} target
 * @param {Record<string, string>} style
 */
function put(target, style) {
  for (const [name, value] of Object.entries(style)) {
    if (target.style.getPropertyValue(name) !== value) target.style.setProperty(name, value);
  }
}

/** @param {number} value */
const px = value => `${value.toFixed(1)}px`;

/** @param {FigurePart} part @param {Box[]} boxes */
export function place_titles(part, boxes) {
  boxes.forEach((box, place) => {
    const right = px(box.outer_width - box.inner_left + box.font * 0.6);
    put(part.x_names[place], { right, top: px(box.inner_top + box.height + box.font * 0.9) });
  });
  put(part.y_name, { left: '0px', top: px(Math.max(0, boxes[0].inner_top - boxes[0].font * 1.25)) });
}

/**
 * Token labels below the bars: HTML, so that they are literal and cheap to change.
 * @param {FigurePart} part
 * @param {string[]} labels
 * @param {Box} box
 */
export function place_labels(part, labels, box) {
  while (part.spans.length < labels.length) {
    const span = element('span', { class: 'dv-token' });
    part.spans.push(span);
    part.labels.append(span);
  }
  const slot = box.width / Math.max(1, labels.length);
  put(part.labels, { top: px(box.inner_top + box.height + 3), left: px(box.inner_left), width: px(box.width) });
  part.spans.forEach((span, place) => {
    const label = labels[place];
    set_class(span, label === undefined ? 'dv-hidden' : 'dv-token');
    if (label === undefined) return;
    set_text(span, shorten(label, box.longest));
    set_attribute(span, 'title', label);
    put(span, { right: px(box.width - (place + 0.5) * slot - box.font * 0.4) });
  });
}

/** A value's position on an axis, 0 to 1. @param {number} value @param {any} axis */
function share_of(value, axis) {
  const [from, to] = axis.range;
  return ((axis.type === 'log' ? Math.log10(value) : value) - from) / (to - from);
}

/**
 * Labels next to their lines, in separate rows if they would overlap. Widths are estimated: measuring them would cost a
 * layout at each step.
 * @param {FigurePart} part
 * @param {Mark[]} marks
 * @param {Box} box
 * @param {any} x_axis
 * @param {any} y_axis
 */
export function place_marks(part, marks, box, x_axis, y_axis) {
  while (part.marks.children.length < marks.length) part.marks.append(element('span'));
  put(part.marks, { left: px(box.inner_left), top: px(box.inner_top), width: px(box.width), height: px(box.height) });
  /** @type {{left: number, top: number, width: number}[]} */
  const taken = [];
  const height = box.font * 1.4;
  Array.from(part.marks.children).forEach((child, place) => {
    const span = /** @type {HTMLElement} */ (child);
    const mark = marks[place];
    const share = mark ? share_of(mark.x, x_axis) : -1;
    const is_shown = share >= 0 && share <= 1;
    set_class(span, is_shown ? '' : 'dv-hidden');
    if (!is_shown) return;
    const width = mark.text.length * box.font * 0.56 + 8;
    const at = share * box.width;
    const left = at + 5 + width > box.width ? Math.max(0, at - 5 - width) : at + 5;
    let top = 0;
    if (mark.y !== null) {
      top = Math.min(Math.max((1 - share_of(mark.y, y_axis)) * box.height + 4, 0), box.height - height);
    } else {
      const free = (/** @type {number} */ row) =>
        !taken.some(
          other => left < other.left + other.width && other.left < left + width && Math.abs(other.top - row) < height,
        );
      const rows = Array.from({ length: Math.max(1, Math.floor(box.height / height)) }, (_, row) =>
        mark.side === 'bottom' ? box.height - (row + 1) * height - 2 : row * height + 2,
      );
      const row = rows.find(free);
      if (row === undefined) return set_class(span, 'dv-hidden'); // the table says it as well
      top = row;
    }
    taken.push({ left, top, width });
    set_text(span, mark.text);
    put(span, { left: px(left), top: px(top), color: `var(--dv-${mark.colour})` });
  });
}
