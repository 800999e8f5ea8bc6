// Keys of a list of which one item is chosen.

/**
 * The place that a key leads to from the current one; null if the key has another meaning.
 *
 * @param {string} key @param {number} from @param {number} last
 */
export function next_place(key, from, last) {
  if (key === 'Home') return 0;
  if (key === 'End') return last;
  if (key === 'ArrowRight' || key === 'ArrowDown') return Math.min(from + 1, last);
  if (key === 'ArrowLeft' || key === 'ArrowUp') return Math.max(from - 1, 0);
  return null;
}
