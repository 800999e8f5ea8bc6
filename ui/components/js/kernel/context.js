// What a sampler may know besides the scores: the text so far, and the step's own numbers.

/**
 * @import { Fields } from '../types.js'
 */

/** The text in front of a step, and what belongs to the step. Another text is another context. */
export class Context {
  /** @type {Set<number> | null} */
  #seen = null;
  /** @type {Map<number, number> | null} */
  #counts = null;
  /** @type {Map<string, {value: unknown, made: unknown}>} */
  #kept = new Map();

  /**
   * @param {number[]} token_ids prompt and generated tokens so far
   * @param {object} [options]
   * @param {number} [options.prompt_length] how many of them are the prompt
   * @param {number[]} [options.eos_ids] tokens that end a text
   * @param {number[]} [options.line_break_ids] tokens that are a line break
   * @param {number|null} [options.xtc_u] the step's second uniform number
   * @param {{tau: number, mu: number}|null} [options.mirostat] mirostat's state before the step, and the tau that it
   *   was steered towards; with another tau, and without a state, it begins anew
   */
  constructor(token_ids, { prompt_length = 0, eos_ids = [], line_break_ids = [], xtc_u = null, mirostat = null } = {}) {
    this.token_ids = token_ids;
    this.prompt_length = prompt_length;
    this.eos_ids = eos_ids;
    this.line_break_ids = line_break_ids;
    this.xtc_u = xtc_u;
    this.mirostat = mirostat;
  }

  /** The distinct tokens of the text. */
  get seen() {
    return (this.#seen ??= new Set(this.token_ids));
  }

  /** How often each generated token occurred: a Map from ids. */
  get counts() {
    if (!this.#counts) {
      this.#counts = new Map();
      for (const id of this.token_ids.slice(this.prompt_length)) {
        this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
      }
    }
    return this.#counts;
  }

  /**
   * What `make` makes of this text for a sampler, remembered for its latest value.
   *
   * @template T
   * @param {string} name
   * @param {number | Fields} value
   * @param {() => T} make
   * @returns {T}
   */
  remember(name, value, make) {
    const known = this.#kept.get(name);
    if (known && is_same_value(known.value, value)) return /** @type {T} */ (known.made);
    const made = make();
    this.#kept.set(name, { value, made });
    return made;
  }
}

export const NO_CONTEXT = new Context([]);

/**
 * Whether two settings' values are the same: numbers, or plain objects and lists of them.
 *
 * @param {unknown} one
 * @param {unknown} other
 * @returns {boolean}
 */
export function is_same_value(one, other) {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || !one || !other) return false;
  const others = new Map(Object.entries(other));
  const entries = Object.entries(one);
  return (
    entries.length === others.size &&
    entries.every(([key, value]) => others.has(key) && is_same_value(value, others.get(key)))
  );
}
