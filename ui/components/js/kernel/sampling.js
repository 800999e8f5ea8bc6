// Many draws from one distribution: a seeded generator, the counts, and the counts' deviation from the expected values.
// No DOM: plain arithmetic.

/**
 * @import { Survivors } from './ranking.js'
 *
 * @typedef {{first: number, last: number, from: number, to: number}} Stretch of [0, 1): its ranks and its ends
 */

const MOST_NAMED = 8; // leading tokens with separate stretches

/** The largest number of stretches: with the hit token, and those before and after it. */
export const MOST_STRETCHES = MOST_NAMED + 3;

/**
 * Whole numbers of 64 bits from a seed, to fill a larger state with (splitmix64, Steele et al. 2014).
 *
 * @param {number} seed
 */
export function splitmix64(seed) {
  let state = BigInt.asUintN(64, BigInt(seed));
  /** @type {(word: bigint, shift: bigint, factor: bigint) => bigint} */
  const mix = (word, shift, factor) => BigInt.asUintN(64, (word ^ (word >> shift)) * factor);
  return () => {
    state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
    const word = mix(mix(state, 30n, 0xbf58476d1ce4e5b9n), 27n, 0x94d049bb133111ebn);
    return word ^ (word >> 31n);
  };
}

/** @type {(word: number, by: number) => number} */
const rotate = (word, by) => (word << by) | (word >>> (32 - by));

/**
 * Whole numbers of 32 bits from four 32-bit words, not all 0 (xoshiro128**, Blackman and Vigna 2018).
 *
 * @param {number[]} words
 */
export function xoshiro128(words) {
  const state = Uint32Array.from(words);
  return () => {
    const word = Math.imul(rotate(Math.imul(state[1], 5), 7), 9) >>> 0;
    const shifted = state[1] << 9;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = rotate(state[3], 11);
    return word;
  };
}

/** Uniform numbers in [0, 1) with 53 bits, from a seed. @param {number} seed */
export function uniform_numbers(seed) {
  const fill = splitmix64(seed);
  /** @param {bigint} word */
  const halves = word => [Number(word & 0xffffffffn), Number(word >> 32n)];
  const next = xoshiro128([fill(), fill()].flatMap(halves));
  return () => {
    const high = next() >>> 5;
    return (high * 2 ** 26 + (next() >>> 6)) / 2 ** 53;
  };
}

/**
 * The final distribution as stretches of [0, 1) that meet: the leading tokens one by one, the rest together, except
 * that the hit token has a separate stretch.
 *
 * @param {Survivors} final the tokens in the draw
 * @param {number | null} [hit] rank of that token
 * @returns {Stretch[]}
 */
export function stretches_of(final, hit = null) {
  const { count } = final;
  const named = Math.min(MOST_NAMED, count);
  const ends = Array.from({ length: named }, (_, place) => place + 1);
  if (hit !== null && hit > named) ends.push(hit - 1, hit);
  if (count > named) ends.push(count);
  const lasts = [...new Set(ends)];
  return lasts.map((last, place) => {
    const before = lasts[place - 1] ?? 0;
    return { first: before + 1, last, from: final.cumulative_at(before), to: final.cumulative_at(last) };
  });
}

/** Draws from one distribution, counted by rank. */
export class Sampling {
  /** @param {Survivors} final the tokens in the draw @param {number} seed of the uniform numbers */
  constructor(final, seed) {
    this.final = final;
    this.seed = seed;
    this.total = 0;
    /** By rank. @type {Map<number, number>} */
    this.counts = new Map();
    this.next = uniform_numbers(seed);
  }

  /** Draw the given number of times, continuing after the earlier draws. @param {number} number */
  draw(number) {
    const { final, counts } = this;
    for (let each = 0; each < number; each++) {
      const rank = final.rank_at(this.next());
      counts.set(rank, (counts.get(rank) ?? 0) + 1);
    }
    this.total += number;
  }

  /**
   * The count of draws in a stretch, its expectation, and the standard deviation of such a count.
   *
   * @param {Stretch} stretch
   */
  within({ first, last, from, to }) {
    let count = 0;
    if (first === last) count = this.counts.get(first) ?? 0;
    else for (const [rank, number] of this.counts) if (rank >= first && rank <= last) count += number;
    const prob = to - from;
    return { count, expected: this.total * prob, sigma: Math.sqrt(this.total * prob * (1 - prob)) };
  }

  /** Half the summed distances between the shares drawn and the probabilities, over all tokens. */
  get variation() {
    let distance = 0;
    let drawn = 0; // the probability of all tokens that were drawn; the others have no count
    for (const [rank, count] of this.counts) {
      const prob = this.final.prob_at(rank);
      distance += Math.abs(count / this.total - prob);
      drawn += prob;
    }
    return (distance + Math.max(0, 1 - drawn)) / 2;
  }

  /** The expected value of that distance for as many fair draws. */
  get usual_variation() {
    const { final, total } = this;
    const { counts, starts, weighed } = final.ranking;
    let distance = 0;
    for (let run = 0; run < counts.length && starts[run] < final.count; run++) {
      const tokens = Math.min(counts[run], final.count - starts[run]);
      distance += tokens * mean_deviation(total, weighed.weights[run] / final.mass);
    }
    return distance / total / 2;
  }
}

let log_factorials = new Float64Array(1);

/** @param {number} number */
function log_factorials_to(number) {
  if (log_factorials.length > number) return log_factorials;
  const longer = new Float64Array(2 * number + 1);
  longer.set(log_factorials);
  for (let n = log_factorials.length; n < longer.length; n++) longer[n] = longer[n - 1] + Math.log(n);
  return (log_factorials = longer);
}

/**
 * Mean absolute distance of a binomial count from its expectation, by De Moivre's closed form.
 *
 * @param {number} draws
 * @param {number} prob
 */
export function mean_deviation(draws, prob) {
  if (prob <= 0 || prob >= 1) return 0;
  const above = Math.floor(draws * prob) + 1;
  if (above > draws) return 0; // so near 1 that the product was rounded up
  const logs = log_factorials_to(draws);
  const log_ways = logs[draws] - logs[above] - logs[draws - above];
  const log_chance = log_ways + above * Math.log(prob) + (draws - above) * Math.log1p(-prob);
  return 2 * above * (1 - prob) * Math.exp(log_chance);
}
