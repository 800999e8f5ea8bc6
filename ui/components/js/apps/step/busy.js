// Long operations, as the server reports them. They are shown late enough not to flicker, with the elapsed seconds.

/** @import { State } from '../../types.js' */
/** @import { Message } from '../../wire/message.js' */

const SHOWN_MS = 700; // since the event was sent: faster operations are not announced
const SHOWN_PLAYING_MS = 2000; // the text grows visibly, and Pause ends it
const TICK_MS = 250;

/**
 * @param {State} state
 * @param {object} page
 * @param {() => number | null} page.since when the event in progress was sent (performance.now()); null if none was
 * @param {() => void} page.redraw
 */
export function create_busy(state, { since, redraw }) {
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let timer;
  let began = 0;
  /** @type {Omit<NonNullable<State['busy']>, 'seconds' | 'is_cancelling'>} */
  let latest;

  function tick() {
    const ms = performance.now() - began;
    if (ms < (state.mode === 'paused' ? SHOWN_MS : SHOWN_PLAYING_MS)) return;
    const shown = { ...latest, seconds: Math.floor(ms / 1000), is_cancelling: state.busy?.is_cancelling ?? false };
    if (JSON.stringify(shown) === JSON.stringify(state.busy)) return;
    state.busy = shown;
    redraw();
  }

  function end() {
    clearInterval(timer);
    timer = undefined;
    if (!state.busy) return;
    state.busy = null;
    redraw();
  }

  return {
    /** @param {Partial<Message>} message of kind `busy` */
    tell({ what = '', done = 0, total = null, behind = 0, can_cancel = false }) {
      if (!what) return end();
      latest = { what, done, total, behind, can_cancel };
      if (!timer) {
        began = since() ?? performance.now();
        timer = setInterval(tick, TICK_MS);
      }
      tick();
    },

    /** Note that a person has cancelled the operation: it ends at its next boundary. */
    cancelling() {
      if (state.busy) state.busy = { ...state.busy, is_cancelling: true };
    },
    end,
  };
}
