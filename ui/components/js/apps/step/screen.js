// Drawing now or later: at once, or together with all other requests in the next frame.

import { make_view } from '../../view/view.js';
import { is_drafted, place_of } from './state.js';

/** @import { Reason, State } from '../../types.js' */

/** Reasons to draw the page, by how much must be redrawn. @type {Reason[]} */
const REASONS = ['slide', 'step', 'resize', 'theme'];
const FEWEST_ROWS = 20; // in the view: charts show more tokens than a short table
const MOST_ON_STAGE = 8; // rows
const WITH_SLIDERS = ['samplers', 'stage'];
const AT_EVERY_TOKEN = ['strip'];
/** The parts to draw first after a single step and a slider's move; the others follow. */
const FIRST = {
  slide: ['picture', 'table', 'samplers', 'stage'],
  step: ['picture', 'table', 'strip', 'stage', 'line', 'transport'],
};
const REST_MS = 30; // of the other parts: without it, a slow machine would do nothing but draw

/** The drawing of a state's parts. */
export class Screen {
  #frame = 0;
  /** @type {Reason|null} */
  #waiting = null;
  #rests_until = 0; // while tokens run by, when all parts may be drawn again
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #rest;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #others;
  /** @type {Reason|null} */
  #others_after = null;

  /** The number of drawings, for tests and benchmarks. */
  draws = 0;

  /**
   * @param {HTMLElement} root
   * @param {State} state
   * @param {Map<string, {update: (state: State, reason: Reason) => void}>} parts by name
   * @param {(part: string) => boolean} is_on_show
   * @param {() => void} ask called before a drawing that lacks values only the server computes
   * @param {() => void} drawn called after each drawing
   */
  constructor(root, state, parts, is_on_show, ask, drawn) {
    this.root = root;
    this.state = state;
    this.parts = parts;
    this.is_on_show = is_on_show;
    this.ask = ask;
    this.drawn = drawn;
  }

  /** Draw at once or, if this frame already has a drawing, in the next. @param {Reason} reason */
  redraw(reason) {
    const { state, root } = this;
    if (!state.model && !state.error && !state.busy) return;
    if (this.#frame) {
      if (this.#waiting === null || REASONS.indexOf(reason) > REASONS.indexOf(this.#waiting)) this.#waiting = reason;
      return;
    }
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      const waiting = this.#waiting;
      this.#waiting = null;
      if (waiting !== null) this.redraw(waiting);
    });
    this.refresh();
    const is_waiting = Boolean(state.view?.missing);
    if (is_waiting) this.ask();
    root.classList.toggle('dv-enlarged', state.enlarged && !state.stage);
    root.classList.toggle('dv-stage', state.stage);
    root.classList.toggle('dv-covered', state.covered);
    root.classList.toggle('dv-slow', state.slow);
    root.classList.toggle('dv-searching', state.strategy !== null || Boolean(state.read_only));
    // The answer to a moved slider arrives soon. Until then only the slider is drawn.
    this.#draw(is_waiting && reason === 'slide' ? WITH_SLIDERS : this.#parts_at(reason), reason);
    this.draws += 1;
    root.dataset.length = String(state.steps.length);
    this.drawn();
  }

  /** @param {Iterable<string>} names @param {Reason} reason */
  #draw(names, reason) {
    const shown = shown_of(this.state);
    for (const name of names) if (this.is_on_show(name)) this.parts.get(name)?.update(shown, reason);
  }

  /**
   * The parts to draw. After a single step, or if a slider moves, the others follow a little later. If tokens run by,
   * and the others have just been painted, only the text.
   *
   * @param {Reason} reason
   */
  #parts_at(reason) {
    const is_playing = this.state.mode !== 'paused';
    const is_step =
      reason === 'step' && !is_playing && this.state.steps.length === Number(this.root.dataset.length) + 1;
    const first = is_step || reason === 'slide' ? FIRST[reason] : null;
    if (first && (this.#others === undefined || this.#others_after === reason)) {
      this.#others_after = reason;
      this.#others ??= setTimeout(() => {
        this.#others = undefined;
        const others = Array.from(this.parts.keys()).filter(name => !first.includes(name));
        this.#draw(others, reason);
      }, REST_MS);
      return first;
    }
    clearTimeout(this.#others);
    this.#others = undefined;
    clearTimeout(this.#rest);
    if (reason === 'step' && is_playing && performance.now() < this.#rests_until) {
      this.#rest = setTimeout(() => this.redraw(reason), REST_MS);
      return AT_EVERY_TOKEN;
    }
    this.#rests_until = Infinity;
    requestAnimationFrame(() =>
      setTimeout(() => {
        this.#rests_until = performance.now() + REST_MS;
      }),
    );
    return this.parts.keys();
  }

  /** Update everything that follows from the state, without drawing. */
  refresh() {
    const { state } = this;
    state.digits = state.stage ? 'few' : 'full';
    state.view =
      state.row &&
      make_view({ ...state, row: state.row, row_count: Math.max(state.row_count || state.fitted_rows, FEWEST_ROWS) });
    state.greedy = Boolean(state.view?.greedy);
    state.drafted = is_drafted(state);
    state.covered = state.hiding && state.revealed !== place_of(state);
  }

  destroy() {
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#rest);
    clearTimeout(this.#others);
  }
}

/**
 * The state that parts see: without covered content and, in stage view, with a table that fits.
 *
 * @param {State} state
 * @returns {State}
 */
function shown_of(state) {
  const { stage, covered, fitted_rows } = state;
  if (!stage && !covered) return state;
  const on_stage = stage && { row_count: Math.min(fitted_rows, MOST_ON_STAGE), columns: [] };
  return { ...state, ...on_stage, ...(covered && { view: null, searched: null, recorded: null }) };
}
