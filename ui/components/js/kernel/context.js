// What a stage may know besides the scores: the text so far, and the step's own numbers.

/** The text in front of a step, and what belongs to the step. Another text is another context. */
export class Context {
  #seen = null;
  #counts = null;
  #kept = new Map();

  /**
   * @param {number[]} token_ids prompt and generated tokens so far
   * @param {object} [options]
   * @param {number} [options.prompt_length] how many of them are the prompt
   * @param {number[]} [options.eos_ids] tokens that end a text
   * @param {number|null} [options.xtc_u] the step's second uniform number
   * @param {{tau: number, mu: number}|null} [options.mirostat] mirostat's state before the step, and the tau
   *   that it was steered towards; with another tau, and without a state, it begins anew
   */
  constructor(token_ids, { prompt_length = 0, eos_ids = [], xtc_u = null, mirostat = null } = {}) {
    Object.assign(this, { token_ids, prompt_length, eos_ids, xtc_u, mirostat });
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

  /** What `make` makes of this text for a stage, remembered for its latest value. */
  remember(name, value, make) {
    const known = this.#kept.get(name);
    if (known && is_same_value(known.value, value)) return known.made;
    const made = make();
    this.#kept.set(name, { value, made });
    return made;
  }
}

export const NO_CONTEXT = new Context([]);

/** Whether two settings' values are the same: numbers, or plain objects and lists of them. */
export function is_same_value(one, other) {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || !one || !other) return false;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every(key => is_same_value(one[key], other[key]));
}
