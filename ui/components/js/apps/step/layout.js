// The places of the step page's parts; css/layout.css positions them.

import { element } from '../../lib/dom.js';

/** Names of the parts in drawing order. The picture comes first: Plotly forces a layout of all that has changed. */
export const PLACES = /** @type {const} */ ([
  'picture',
  'prompt',
  'transport',
  'settings',
  'loop',
  'line',
  'table',
  'search',
  'samplers',
  'costs',
  'stage',
  'strip',
]);

/** The parts of stage view, even on a page that otherwise shows fewer parts. @type {readonly Place[]} */
export const ON_STAGE = ['transport', 'line', 'table', 'stage', 'strip'];

/** @typedef {typeof PLACES[number]} Place */

/**
 * @param {HTMLElement} root the element with class `dv`; filled
 * @param {readonly Place[]} shown the parts with a place outside stage view; with all parts the page is one screen
 * @returns {Record<Place, HTMLElement>}
 */
export function lay_out(root, shown) {
  const entries = PLACES.map(name => [name, element('div', { 'data-part': name })]);
  /** @type {Record<Place, HTMLElement>} */
  const places = Object.fromEntries(entries);
  /** @param {string} name @param {...Place} parts */
  const group = (name, ...parts) => {
    const own = parts.flatMap(lone);
    const is_shown = parts.some(part => shown.includes(part));
    return own.length ? [element('div', { class: is_shown ? name : `${name} dv-stage-only` }, ...own)] : [];
  };
  /** @param {Place} part */
  const lone = part => {
    places[part].classList.toggle('dv-stage-only', !shown.includes(part));
    return shown.includes(part) || ON_STAGE.includes(part) ? [places[part]] : [];
  };
  const is_some = shown.length < PLACES.length;
  root.classList.add('dv-step');
  root.classList.toggle('dv-some', is_some);
  const work = [
    ...group('dv-left', 'table', 'search'),
    ...group('dv-middle', 'picture', 'costs'),
    ...group('dv-right', 'samplers'),
  ];
  // In another page a third place would have no width: below the others, its sliders would be out of sight of their
  // effects.
  if (is_some && work.filter(each => !each.classList.contains('dv-stage-only')).length > 2)
    work.unshift(...work.splice(-1));
  root.replaceChildren(
    ...group('dv-bar', 'prompt', 'transport', 'settings'),
    ...lone('strip'),
    ...lone('loop'),
    ...lone('line'),
    ...lone('stage'),
    element('div', { class: 'dv-work' }, ...work),
  );
  return places;
}
