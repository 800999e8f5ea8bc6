// The step page's places for its parts; css/layout.css says where they lie.

import { element } from '../../lib/dom.js';

/** Names of the parts, in the order in which they are drawn: the strip, which scrolls and so forces a layout, comes last. */
export const PLACES = /** @type {const} */ ([
  'prompt',
  'transport',
  'settings',
  'loop',
  'line',
  'table',
  'search',
  'samplers',
  'picture',
  'costs',
  'strip',
]);

/** @typedef {typeof PLACES[number]} Place */

/** @param {HTMLElement} root the element with class `dv`; filled @returns {Record<Place, HTMLElement>} */
export function lay_out(root) {
  const entries = PLACES.map(name => [name, element('div', { 'data-part': name })]);
  /** @type {Record<Place, HTMLElement>} */
  const places = Object.fromEntries(entries);
  root.classList.add('dv-step');
  root.replaceChildren(
    element('div', { class: 'dv-bar' }, places.prompt, places.transport, places.settings),
    places.strip,
    places.loop,
    places.line,
    element(
      'div',
      { class: 'dv-work' },
      element('div', { class: 'dv-left' }, places.table, places.search),
      element('div', { class: 'dv-middle' }, places.picture, places.costs),
      element('div', { class: 'dv-right' }, places.samplers),
    ),
  );
  return places;
}
