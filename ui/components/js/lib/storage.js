// The memory of a tab or a browser. It may be switched off or full; the page works without it.

/** Key of a person's preferences on the step page. */
export const PREFERENCES_KEY = 'decoding-visualiser-preferences';

/** @typedef {'localStorage' | 'sessionStorage'} Place permanent, or for this tab only */

/**
 * @param {Place} place
 * @param {string} key
 * @param {string} value
 */
export function remember(place, key, value) {
  try {
    window[place].setItem(key, value);
  } catch {
    // Then a reload starts from the beginning.
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
    // Then there is nothing to forget.
  }
}

/**
 * @param {Place} place
 * @param {string} key
 * @returns {string | null} null if nothing is remembered
 */
export function recall(place, key) {
  try {
    return window[place].getItem(key);
  } catch {
    return null;
  }
}

/**
 * Recall a value that was remembered as JSON.
 *
 * @param {Place} place
 * @param {string} key
 * @returns {any} null if nothing is remembered or it is not JSON
 */
export function recall_json(place, key) {
  try {
    return JSON.parse(recall(place, key) ?? 'null');
  } catch {
    return null;
  }
}
