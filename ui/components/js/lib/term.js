// A word with an entry in the glossary. What is said of it on hover, tap and focus, the app `terms` says on every page.

import { element } from './dom.js';

/**
 * @param {string} key its entry
 * @param {string} [text] how it is written here
 */
export const term = (key, text = key) =>
  element('button', { type: 'button', class: 'dv-term', 'data-term': key, text });
