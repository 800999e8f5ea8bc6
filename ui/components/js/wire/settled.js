// Settings on their way to the server: told once a slider stands still, at the latest when a person goes.

import { forget, recall_json, remember } from '../lib/storage.js';

const SETTLE_MS = 400; // keys move a slider in many small steps, and each of them ends
const KEY = 'decoding-visualiser-untold';

/**
 * @typedef {object} Told what the server hears of
 * @property {unknown} settings
 * @property {unknown} guidance_scale
 * @property {unknown} penalty_alpha of contrastive search
 *
 * @typedef {{settings: unknown, guidance_scale: unknown, draft: {penalty_alpha: unknown}, run: string, mode: string}} Teller the part of a state that is looked at
 */

/**
 * What the server knows of the settings, and when it hears of others.
 *
 * @param {Teller} state
 * @param {() => void} post sends the settings, whatever they then are
 * @param {() => void} rest a slider rests, and the server knows where
 */
export function create_settled(state, post, rest) {
  /** @type {Told | null} */
  let heard = null; // what the server knows, or will with the event under way
  /** @type {Told | null} */
  let answered = null; // what it is sure to know
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

  /** Let the server hear of what it does not know, at once. */
  function tell_now() {
    clearTimeout(timer);
    if (differ(heard)) post();
  }

  /** The same, unless a text is playing: then its next step brings them. */
  function tell_soon() {
    if (state.mode !== 'paused') return;
    if (differ(heard)) post();
    else rest();
  }

  return {
    /** The settings that the server knows. */
    get heard() {
      return heard?.settings ?? null;
    },

    /** Tell if they are others now. */
    has_news: () => differ(heard),
    tell_now,
    tell_soon,

    /** A slider was let go. */
    settle() {
      clearTimeout(timer);
      timer = setTimeout(tell_soon, SETTLE_MS);
    },

    /** A person may be about to go: the page may be gone before the event is there. */
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

    /**
     * What this text was left with and the server never heard of; null for nothing.
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
