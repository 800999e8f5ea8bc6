// Settings on their way to the server: told once a slider stands still, at the latest when a person goes.

import { forget, recall, remember } from '../apps/step/state.js';

const SETTLE_MS = 400; // keys move a slider in many small steps, and each of them ends
const KEY = 'decoding-visualiser-untold';

/**
 * What the server knows of the settings, and when it hears of others.
 *
 * @param {object} state
 * @param {() => void} post sends the settings, whatever they then are
 */
export function create_settled(state, post) {
  let heard = null; // what the server knows, or will with the event under way
  let answered = null; // what it is sure to know
  let timer = 0;
  const settings_now = () => ({
    settings: state.settings,
    guidance_scale: state.guidance_scale,
    wanted: state.wanted,
  });
  const differ = known => {
    const now = settings_now();
    return known !== null && Object.keys(now).some(name => now[name] !== known[name]);
  };

  /** Let the server hear of what it does not know, at once. */
  function tell_now() {
    clearTimeout(timer);
    if (differ(heard)) post();
  }

  /** The same, unless a text is playing: then its next step brings them. */
  function tell_soon() {
    if (state.mode === 'paused') tell_now();
  }

  return {
    tell_now,
    tell_soon,

    /** A slider was let go. */
    settle() {
      clearTimeout(timer);
      timer = setTimeout(tell_soon, SETTLE_MS);
    },

    /** A person may be about to go: Streamlit may have left this page before the event is there. */
    leave() {
      if (differ(answered)) {
        remember('sessionStorage', KEY, JSON.stringify({ run: state.run, ...settings_now() }));
      }
      tell_now();
    },

    /** An event is being described: with it the server will know. */
    described() {
      heard = settings_now();
    },

    /** The event under way was answered, or the settings are the server's own. */
    confirmed() {
      answered = heard;
      if (!differ(heard)) forget('sessionStorage', KEY);
    },

    /** What this text was left with and the server never heard of; null for nothing. */
    left_behind() {
      const kept = JSON.parse(recall(KEY) ?? 'null');
      return kept?.run === state.run ? kept : null;
    },

    destroy: () => clearTimeout(timer),
  };
}
