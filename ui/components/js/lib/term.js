// A word with an entry in the glossary. The app `terms` shows its explanation on hover, tap and focus, on every page.

import { element } from './dom.js';

/**
 * @param {string} key the glossary entry
 * @param {string} [text] its spelling here
 */
export const term = (key, text = key) =>
  element('button', { type: 'button', class: 'dv-term', 'data-term': key, text });
