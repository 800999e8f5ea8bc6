// What a tab or a browser remembers: all of it may be switched off or full, and the page works without.

/** Key of what a person prefers on the step page. */
export const PREFERENCES_KEY = 'decoding-visualiser-preferences';

/** @typedef {'localStorage' | 'sessionStorage'} Place for good, or for this tab */

/**
 * @param {Place} place
 * @param {string} key
 * @param {string} value
 */
export function remember(place, key, value) {
  try {
    window[place].setItem(key, value);
  } catch {
    // Only a reload starts from the beginning.
  }
}

/**
 * @param {Place} place
 * @param {string} key
 */
export function forget(place, key) {
  try {
    window[place].removeItem(key);
  } catch {
    // There is nothing to forget.
  }
}

/**
 * @param {Place} place
 * @param {string} key
 * @returns {string | null} null where nothing is remembered
 */
export function recall(place, key) {
  try {
    return window[place].getItem(key);
  } catch {
    return null;
  }
}

/**
 * What was remembered as JSON.
 *
 * @param {Place} place
 * @param {string} key
 * @returns {any} null for nothing, and for what is no JSON
 */
export function recall_json(place, key) {
  try {
    return JSON.parse(recall(place, key) ?? 'null');
  } catch {
    return null;
  }
}
