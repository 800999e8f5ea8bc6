// Comparing what JavaScript computed with what Python did: all differences at once, each with its name.

/** What is not the same, in words; the test prints the first few. */
export class Differences {
  /** @param {string} name of what is compared */
  constructor(name) {
    this.name = name;
    /** @type {string[]} */
    this.found = [];
  }

  /** Values that must be the same. @param {string} what @param {unknown} own @param {unknown} other */
  same(what, own, other) {
    const [one, two] = [JSON.stringify(own), JSON.stringify(other)];
    if (one !== two) this.found.push(`${this.name}: ${what} is ${one}, not ${two}`);
  }

  /**
   * Numbers that must be the same but for rounding.
   *
   * @param {string} what
   * @param {number | null | undefined} own
   * @param {number | null | undefined} other
   * @param {number} [tolerance]
   */
  near(what, own, other, tolerance = 1e-9) {
    const is_near = Math.abs(Number(own) - Number(other)) <= tolerance * Math.max(1, Math.abs(Number(other)));
    if (typeof own !== 'number' || typeof other !== 'number' || !is_near) {
      if (own !== other) this.found.push(`${this.name}: ${what} is ${own}, not ${other}`);
    }
  }

  /**
   * Lists of numbers that must be the same but for rounding.
   *
   * @param {string} what
   * @param {(number | null)[]} own
   * @param {(number | null)[]} other
   * @param {number} [tolerance]
   */
  all_near(what, own, other, tolerance = 1e-9) {
    this.same(`${what} length`, own.length, other.length);
    for (const [place, each] of other.entries()) this.near(`${what} at ${place}`, own[place], each, tolerance);
  }

  /** A condition that must hold. @param {string} what @param {boolean} holds */
  holds(what, holds) {
    if (!holds) this.found.push(`${this.name}: ${what}`);
  }
}
