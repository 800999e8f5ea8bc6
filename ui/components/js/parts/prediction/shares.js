// Shares of a whole: one of them is set, and those that were not set make room.

/**
 * @param {readonly number[]} shares they sum to 1
 * @param {number} place of the one that is set
 * @param {number} value 0 to 1; no more is taken than the shares that were set leave
 * @param {readonly number[]} [set] places that were set before, the latest last; they stay. If all were, the first of
 *   them makes room
 * @returns {number[]} they sum to 1
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
