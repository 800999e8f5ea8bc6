// Play and Run to end. The next token is requested before this one is drawn, so that the server works while the browser
// paints.

/** @import { State } from '../../types.js' */

const CLOSE_MS = 4; // a shorter wait counts as none

/** The player of a text. */
export class Player {
  #plays = 0;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #timer;
  #asked_at = 0;

  /**
   * @param {State} state
   * @param {object} page
   * @param {(kind: 'step' | 'run', answered: () => void) => Promise<unknown>} page.post
   * @param {() => void} page.drop drops waiting events
   * @param {() => void} page.stopped called when Play has stopped
   */
  constructor(state, page) {
    this.state = state;
    this.page = page;
  }

  get is_playing() {
    return this.state.mode !== 'paused';
  }

  /** @param {'playing' | 'running'} mode */
  play(mode) {
    const { state } = this;
    if (this.is_playing || state.manual || state.slow || state.stop?.at_limit) return;
    state.mode = mode;
    state.point = null;
    this.#plays += 1;
    this.#ask();
  }

  #ask() {
    const play = this.#plays;
    this.#asked_at = performance.now();
    const answered = () => play === this.#plays && this.#answered();
    this.page.post(this.state.mode === 'playing' ? 'step' : 'run', answered).then(message => {
      if (message === null && play === this.#plays && this.is_playing) this.stop();
    });
  }

  /** Request the next token: an answer was applied and is not drawn yet. */
  #answered() {
    const { state } = this;
    if (!this.is_playing) return;
    if (state.error || state.stop?.at_limit) {
      this.stop();
      return;
    }
    const gap = state.mode === 'running' || state.speed === 0 ? 0 : 1000 / state.speed;
    const wait = gap - (performance.now() - this.#asked_at);
    clearTimeout(this.#timer);
    const play = this.#plays;
    if (wait <= CLOSE_MS) this.#ask();
    else {
      this.#timer = setTimeout(() => {
        if (play === this.#plays && this.is_playing) this.#ask();
      }, wait);
    }
  }

  /** Stop; return whether it was playing. */
  stop() {
    const was_playing = this.is_playing;
    this.state.mode = 'paused';
    this.#plays += 1;
    clearTimeout(this.#timer);
    this.page.drop();
    if (was_playing) this.page.stopped();
    return was_playing;
  }
}
