// Shares of a whole: one of them is set, and the others make room in proportion.

/**
 * @param {readonly number[]} shares they sum to 1
 * @param {number} place of the one that is set
 * @param {number} value 0 to 1
 * @returns {number[]} they sum to 1
 */
export function with_share(shares, place, value) {
  const rest = 1 - value;
  const others = shares.reduce((sum, share, at) => (at === place ? sum : sum + share), 0);
  const each = rest / (shares.length - 1);
  return shares.map((share, at) => {
    if (at === place) return value;
    return others > 1e-9 ? (share / others) * rest : each;
  });
}
