// The final distribution as one bar from 0 to 1: the tokens' stretches, and the place of u.

import { element, set_attribute, set_class, set_text } from '../../lib/dom.js';
import { shorten, u_text } from '../../words/format.js';

/** @typedef {{first: number, last: number, from: number, to: number, label: string, is_one: boolean, is_hit: boolean}} Stretch */

const LONGEST_LABEL = 24;
const TICKS = [0, 0.25, 0.5, 0.75, 1];

/**
 * A stretch's look: two alternating ones, and a hatched one for the other tokens together.
 *
 * @param {Stretch} stretch
 * @param {number} place
 */
export const look_of = ({ is_hit, is_one }, place) =>
  is_hit ? 'hit' : !is_one ? 'others' : place % 2 ? 'odd' : 'even';

/** @param {number} value */
const share = value => `${(value * 100).toFixed(4)}%`;

/** The picture: `node`, and `update(stretches, u)`. */
export function create_bar() {
  const strip = element('div', { class: 'dv-draw-strip' });
  const name = element('span');
  const marker = element('div', { class: 'dv-draw-marker' }, name);
  const ticks = TICKS.map(value => element('span', { text: String(value), style: `left: ${share(value)}` }));
  // The table next to it holds the same facts.
  const node = element(
    'div',
    { class: 'dv-draw-bar', 'aria-hidden': 'true' },
    strip,
    marker,
    element('div', { class: 'dv-draw-ticks' }, ...ticks),
  );
  /** @type {{label: HTMLElement, node: HTMLElement}[]} */
  const parts = [];
  return {
    node,
    /** @param {Stretch[]} stretches @param {number|null} u */
    update(stretches, u) {
      while (parts.length > stretches.length) parts.pop()?.node.remove();
      while (parts.length < stretches.length) {
        const label = element('span', { class: 'dv-token' });
        const part = { label, node: element('div', {}, label) };
        parts.push(part);
        strip.append(part.node);
      }
      stretches.forEach((stretch, place) => {
        const part = parts[place];
        set_class(part.node, `dv-stretch dv-stretch-${look_of(stretch, place)}`);
        set_attribute(part.node, 'style', `left: ${share(stretch.from)}; width: ${share(stretch.to - stretch.from)}`);
        set_attribute(part.node, 'title', shorten(stretch.label, 120));
        set_text(part.label, shorten(stretch.label, LONGEST_LABEL));
      });
      marker.classList.toggle('dv-hidden', u === null);
      if (u === null) return;
      set_attribute(marker, 'style', `left: ${share(u)}`);
      // The label moves along, so that it stays within the bar.
      set_attribute(name, 'style', `transform: translateX(-${share(u)})`);
      set_text(name, `u = ${u_text(u)}`);
    },
  };
}
