// Compares JavaScript's results with Python's: all differences at once, each with its name.

/** Differences in words; the test prints the first few. */
export class Differences {
  /** @param {string} name of the compared case */
  constructor(name) {
    this.name = name;
    /** @type {string[]} */
    this.found = [];
  }

  /** Compare values that must be equal. @param {string} what @param {unknown} own @param {unknown} other */
  same(what, own, other) {
    const [one, two] = [JSON.stringify(own), JSON.stringify(other)];
    if (one !== two) this.found.push(`${this.name}: ${what} is ${one}, not ${two}`);
  }

  /**
   * Compare numbers that must be equal except for rounding.
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
   * Compare lists of numbers that must be equal except for rounding.
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

  /** Check a condition that must hold. @param {string} what @param {boolean} holds */
  holds(what, holds) {
    if (!holds) this.found.push(`${this.name}: ${what}`);
  }
}
