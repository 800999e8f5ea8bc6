// When charts are drawn: one group in a frame, the most wanted first, and while steps run by not oftener than the page can bear.

/**
 * @typedef {object} Drawable
 * @property {number} gap_ms least time between two drawings while steps run by
 * @property {() => boolean} is_dirty
 * @property {() => Promise<void>} draw resolves when the drawing is in the document
 */

const TOLERANCE_MS = 4; // else a frame that comes just too early would cost a whole one

/** Charts that share the browser's time; those added first go first. */
export class Schedule {
  /** @type {{group: Drawable, last: number}[]} */
  #groups = [];
  #frame = 0;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #timer;
  #is_drawing = false;

  /** Whether steps run by. */
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

  /** Draw what is dirty: now where nothing else draws, since Plotly takes a frame of its own. */
  request() {
    if (this.#frame || this.#is_drawing) return; // a second drawing would hold up the first on its way
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
      // What is less wanted waits until this drawing has been painted: to the end of the frame that is to come.
      if (!this.#groups.some(({ group }) => group.is_dirty())) return;
      requestAnimationFrame(() => {
        this.#timer = setTimeout(() => this.#next_frame());
      });
    });
  }
}
