// The draw as a prize wheel: sectors by probability, clockwise from the top, and a pointer at u.

import { set_attribute, set_text, svg } from '../../lib/dom.js';
import { shorten, u_text } from '../../words/format.js';
import { say } from '../../words/say.js';
import { look_of } from './bar.js';

/** @import { Stretch } from './bar.js' */

const RADIUS = 100;
const HUB = 26;
const LONGEST_LABEL = 12;
const LEAST_LABELLED = 0.035; // a narrower sector has no room for a name
const LEAST_SEEN = 0.002; // minimum width of the hit sector
const SPOKE = (RADIUS + HUB) / 2 + 4;

let made_so_far = 0; // patterns are found by id, and a page may hold more than one wheel

/** The point at a share of a turn, clockwise from the top. @param {number} turn @param {number} radius */
const at = (turn, radius) => {
  const angle = 2 * Math.PI * turn;
  return `${(radius * Math.sin(angle)).toFixed(3)} ${(-radius * Math.cos(angle)).toFixed(3)}`;
};

/**
 * The path of a ring's sector; a whole turn is two halves, as an arc cannot end where it begins.
 *
 * @param {number} from
 * @param {number} to
 */
export function sector(from, to) {
  if (to - from > 1 - 1e-6) {
    const half = (/** @type {number} */ radius, /** @type {number} */ sweep) => `A${radius} ${radius} 0 1 ${sweep}`;
    const ring = (/** @type {number} */ radius, /** @type {number} */ sweep) =>
      `M${at(0, radius)}${half(radius, sweep)} ${at(0.5, radius)}${half(radius, sweep)} ${at(0, radius)}Z`;
    return ring(RADIUS, 1) + ring(HUB, 0);
  }
  const large = to - from > 0.5 ? 1 : 0;
  return (
    `M${at(from, RADIUS)}A${RADIUS} ${RADIUS} 0 ${large} 1 ${at(to, RADIUS)}` +
    `L${at(to, HUB)}A${HUB} ${HUB} 0 ${large} 0 ${at(from, HUB)}Z`
  );
}

/** The placement of a name: along its spoke, never upside down. @param {number} middle */
function turned(middle) {
  const degrees = middle * 360 - 90;
  const flip = middle > 0.5 ? 180 : 0;
  return `rotate(${degrees.toFixed(2)}) translate(${SPOKE}) rotate(${flip})`;
}

/** The picture: `node`, and `update(stretches, u)` as for the bar. */
export function create_wheel() {
  const hatch = `dv-wheel-hatch-${made_so_far++}`;
  const stripes = svg('path', { d: 'M0 6L6 0', class: 'dv-wheel-stripe' });
  const box = { id: hatch, width: 6, height: 6, patternUnits: 'userSpaceOnUse' };
  const sectors = svg('g');
  const names = svg('g');
  const pointer = svg('path', { d: `M0 ${-RADIUS + 3}l-7 -16h14z`, class: 'dv-wheel-pointer' });
  const name = svg('text', { class: 'dv-wheel-u', 'text-anchor': 'middle', y: 4 });
  const node = svg(
    'svg',
    { viewBox: '-122 -122 244 244', class: 'dv-draw-wheel', 'aria-hidden': 'true' },
    svg('defs', {}, svg('pattern', box, stripes)),
    sectors,
    names,
    pointer,
    name,
  );
  /** @type {{title: SVGElement, text: SVGElement, path: SVGElement}[]} */
  const parts = [];

  /** @param {Stretch[]} stretches @param {number|null} u */
  function update(stretches, u) {
    while (parts.length > stretches.length) {
      const part = parts.pop();
      part?.path.remove();
      part?.text.remove();
    }
    while (parts.length < stretches.length) {
      const title = svg('title');
      const part = {
        title,
        text: svg('text', { 'text-anchor': 'middle', dy: '0.35em' }),
        path: svg('path', {}, title),
      };
      parts.push(part);
      sectors.append(part.path);
      names.append(part.text);
    }
    stretches.forEach((stretch, place) => draw_sector(parts[place], stretch, look_of(stretch, place)));
    pointer.classList.toggle('dv-hidden', u === null);
    if (u !== null) set_attribute(pointer, 'transform', `rotate(${(u * 360).toFixed(3)})`);
    set_text(name, u === null ? '' : u_text(u));
  }

  /** @param {typeof parts[number]} part @param {Stretch} stretch @param {string} look */
  function draw_sector({ path, title, text }, { from, to, label, is_hit }, look) {
    const width = to - from;
    const missing = is_hit ? Math.max(0, LEAST_SEEN - width) / 2 : 0;
    set_attribute(path, 'd', sector(from - missing, to + missing));
    set_attribute(path, 'class', `dv-wheel-${look}`);
    set_attribute(path, 'fill', look === 'others' ? `url(#${hatch})` : null);
    set_text(title, shorten(label, 120));
    const is_labelled = width >= LEAST_LABELLED;
    set_attribute(text, 'class', `dv-token dv-wheel-name dv-wheel-name-${look}`);
    set_text(text, is_labelled ? (look === 'others' ? say('others') : shorten(label, LONGEST_LABEL)) : '');
    if (is_labelled) set_attribute(text, 'transform', turned((from + to) / 2));
  }

  return { node, update };
}
