// Settings on their way to the server: sent once a slider rests, or at the latest when a person leaves.

import { forget, recall_json, remember } from '../lib/storage.js';

const SETTLE_MS = 400; // keys move a slider in many small steps, each of which ends
const KEY = 'decoding-visualiser-untold';

/**
 * @typedef {object} Told the values that the server is told
 * @property {unknown} settings
 * @property {unknown} guidance_scale
 * @property {unknown} penalty_alpha of contrastive search
 *
 * @typedef {{settings: unknown, guidance_scale: unknown, draft: {penalty_alpha: unknown}, run: string, mode: string}}
 *   Teller the part of a state that is read
 */

/**
 * Track what the server knows of the settings, and tell it of changes.
 *
 * @param {Teller} state
 * @param {() => void} post sends the settings as they are at that moment
 * @param {() => void} rest called when a slider rests and the server knows its value
 */
export function create_settled(state, post, rest) {
  /** @type {Told | null} */
  let heard = null; // the server's knowledge, including the event under way
  /** @type {Told | null} */
  let answered = null; // the server's confirmed knowledge
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  /** @returns {Told} */
  const settings_now = () => ({
    settings: state.settings,
    guidance_scale: state.guidance_scale,
    penalty_alpha: state.draft.penalty_alpha,
  });

  /** @param {Told | null} known */
  const differ = known => {
    if (known === null) return false;
    const now = settings_now();
    return (
      now.settings !== known.settings ||
      now.guidance_scale !== known.guidance_scale ||
      now.penalty_alpha !== known.penalty_alpha
    );
  };

  /** Tell the server at once of everything it does not know. */
  function tell_now() {
    clearTimeout(timer);
    if (differ(heard)) post();
  }

  /** Tell it soon, unless a text is playing: then its next step brings the settings. */
  function tell_soon() {
    if (state.mode === 'paused' && differ(heard)) post();
  }

  function slider_rests() {
    if (state.mode === 'paused' && !differ(heard)) rest();
    else tell_soon();
  }

  return {
    /** The settings that the server knows. */
    get heard() {
      return heard?.settings ?? null;
    },

    /** Tell if the settings have changed since. */
    has_news: () => differ(heard),
    tell_now,
    tell_soon,

    /** Handle the release of a slider. */
    settle() {
      clearTimeout(timer);
      timer = setTimeout(slider_rests, SETTLE_MS);
    },

    /** Prepare for a person's departure: the page may be gone before the event arrives. */
    leave() {
      if (differ(answered)) {
        remember('sessionStorage', KEY, JSON.stringify({ run: state.run, ...settings_now() }));
      }
      tell_now();
    },

    /** Note that an event is being described: with it the server will know the settings. */
    described() {
      heard = settings_now();
    },

    /** Note that the event under way was answered, or that the settings are the server's own. */
    confirmed() {
      answered = heard;
      if (!differ(heard)) forget('sessionStorage', KEY);
    },

    /**
     * The settings that this text was left with and the server never received; null for none.
     *
     * @returns {any}
     */
    left_behind() {
      const kept = recall_json('sessionStorage', KEY);
      return kept?.run === state.run ? kept : null;
    },

    destroy: () => clearTimeout(timer),
  };
}
