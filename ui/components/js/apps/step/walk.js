// One press, one place: Step, manual mode, and slow motion's walk through the stages. A press waits for the event under
// way and never gets lost. But a result that arrived in the meantime must be seen before a press accepts it.

/** @import { State } from '../../types.js' */
/** @typedef {{post: (kind: string, fields?: Record<string, unknown>) => Promise<unknown>, is_idle: boolean}} Link */

/**
 * @param {State} state
 * @param {Link} link
 * @param {{redraw: () => void, tell_now: () => void, refresh: () => void}} page `tell_now`: send the settings to the
 *   server; `refresh`: bring the view up to date without drawing
 */
export function create_walk(state, link, { redraw, tell_now, refresh }) {
  /** @type {(() => Promise<void>)[]} */
  const presses = [];
  let is_walking = false;

  /** Run presses one after the other. @param {(seen: string|null) => Promise<void>} go */
  async function press(go) {
    const seen = offer();
    presses.push(() => go(seen));
    if (is_walking) return;
    is_walking = true;
    try {
      while (presses.length) await presses.shift()?.();
    } finally {
      is_walking = false;
      presses.length = 0;
    }
  }

  /** Tell if the next token, not drawn yet, is on show. */
  const is_at_end = () => Boolean(state.row?.is_pending) && state.index === state.steps.length;

  /** The current offer that a press would accept: its place and token; null if there is none. */
  function offer() {
    refresh();
    const { view } = state;
    if (!is_at_end() || !view) return null;
    return [state.run, state.index, view.draw ? view.draw.id : view.leaders[0]?.id].join('/');
  }

  /**
   * Tell if the offer is unchanged once everything under way has arrived: a new seed brings a new number.
   *
   * @param {string|null} seen
   */
  async function is_still_offered(seen) {
    tell_now();
    while (!link.is_idle) await link.post('settings');
    return seen !== null && seen === offer();
  }

  /** @param {string|null} seen */
  async function accept(seen) {
    if (!is_at_end()) await link.post('propose');
    else if (await is_still_offered(seen)) await link.post('step');
  }

  /**
   * Advance slow motion: the scores of the next token, then each stage in turn, then the appended token.
   *
   * @param {string|null} seen
   */
  async function go_on(seen) {
    if (!state.slow) return; // switched off while the press waited
    if (!is_at_end() || state.point === null) {
      if (!is_at_end()) await link.post('propose');
      if (!is_at_end()) return; // the text is over, or a failure has said so
      state.point = 0;
    } else if (state.view && state.point < state.view.points.length - 1) {
      state.point += 1;
    } else if (await is_still_offered(seen)) {
      await end_walk();
      return;
    }
    redraw();
  }

  async function end_walk() {
    state.point = null;
    await link.post('step');
  }

  async function skip() {
    if (state.point !== null && is_at_end()) await end_walk(); // a second press in a row has nothing to skip
  }

  return {
    is_at_end,
    next_stage: () => press(go_on),
    skip_stages: () => press(skip),
    /** Drop waiting presses. */
    forget() {
      presses.length = 0;
    },
    async step() {
      if (state.slow) await press(go_on);
      else if (state.manual) await press(accept);
      else await link.post('step', { count: 1 });
    },
  };
}
