// The timing of chart drawings: one group per frame, the most wanted first. While steps run by, each is drawn no more
// often than the page can bear.

/**
 * @typedef {object} Drawable
 * @property {number} gap_ms minimum time between two drawings while steps run by
 * @property {() => boolean} is_dirty
 * @property {() => Promise<void>} draw resolves when the drawing is in the document
 */

const TOLERANCE_MS = 4; // otherwise a frame that comes slightly too early would cost a whole one

/** Charts that share the browser's time; those added first have priority. */
export class Schedule {
  /** @type {{group: Drawable, last: number}[]} */
  #groups = [];
  #frame = 0;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #timer;
  #is_drawing = false;

  /** True while steps run by. */
  is_running = false;

  /** @param {Drawable} group */
  add(group) {
    this.#groups.push({ group, last: -Infinity });
  }

  /** @param {Drawable} group that will not be drawn again */
  remove(group) {
    this.#groups = this.#groups.filter(entry => entry.group !== group);
  }

  #next_frame() {
    if (!this.#frame) {
      this.#frame = requestAnimationFrame(() => {
        this.#frame = 0;
        this.request();
      });
    }
  }

  /** @param {{group: Drawable, last: number}} entry @param {number} now */
  #wait_of({ group, last }, now) {
    return this.is_running ? last + group.gap_ms - now : 0;
  }

  /** Draw dirty groups: now if nothing else is drawing, as Plotly takes a whole frame. */
  request() {
    if (this.#frame || this.#is_drawing) return; // a second drawing would delay the first
    const now = performance.now();
    const waiting = this.#groups.filter(({ group }) => group.is_dirty());
    const ready = waiting.find(entry => this.#wait_of(entry, now) <= TOLERANCE_MS);
    clearTimeout(this.#timer);
    if (!ready) {
      if (waiting.length) {
        const wait = Math.min(...waiting.map(entry => this.#wait_of(entry, now)));
        this.#timer = setTimeout(() => this.#next_frame(), wait);
      }
      return;
    }
    ready.last = now;
    this.#is_drawing = true;
    ready.group.draw().finally(() => {
      this.#is_drawing = false;
      // Less wanted groups wait until this drawing has been painted: until the end of the next frame.
      if (!this.#groups.some(({ group }) => group.is_dirty())) return;
      requestAnimationFrame(() => {
        this.#timer = setTimeout(() => this.#next_frame());
      });
    });
  }
}
