// Shares of a whole: one is set, and the shares that were not set make room.

/**
 * @param {readonly number[]} shares their sum is 1
 * @param {number} place place of the share to set
 * @param {number} value 0 to 1; at most the remainder left by shares already set
 * @param {readonly number[]} [set] places set earlier, the latest last; they stay. If all were set, the first makes
 *   room
 * @returns {number[]} the new shares; their sum is 1
 */
export function with_share(shares, place, value, set = []) {
  const others = [...shares.keys()].filter(at => at !== place);
  const untouched = others.filter(at => !set.includes(at));
  const first = set.find(at => at !== place) ?? others[0];
  const free = untouched.length ? untouched : [first];
  /** @param {number[]} places */
  const sum_of = places => places.reduce((sum, at) => sum + shares[at], 0);
  const left = Math.max(0, 1 - sum_of(others.filter(at => !free.includes(at))));
  const own = Math.min(value, left);
  const before = sum_of(free);
  return shares.map((share, at) => {
    if (at === place) return own;
    if (!free.includes(at)) return share;
    return before > 1e-9 ? (share / before) * (left - own) : (left - own) / free.length;
  });
}
