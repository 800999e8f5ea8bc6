// Stage view: the page's subject, readable from the back of a room. One switch for all pages, remembered by the
// browser.

import { PREFERENCES_KEY, recall, recall_json, remember } from './storage.js';

const KEY = 'decoding-visualiser-stage';
const CLASS = 'dv-on-stage';
const CHANGED = 'dv-stage';

export const is_on_stage = () => document.documentElement.classList.contains(CLASS);

/** @param {boolean} on */
export function set_stage(on) {
  document.documentElement.classList.toggle(CLASS, on);
  remember('localStorage', KEY, on ? 'on' : 'off');
  window.dispatchEvent(new Event(CHANGED));
}

/** Restore stage view as this browser left it, or projector mode, its predecessor. */
export function take_up_stage() {
  const kept = recall('localStorage', KEY);
  set_stage(kept === null ? recall_json('localStorage', PREFERENCES_KEY)?.projector === true : kept === 'on');
}

/** @param {() => void} changed @returns {() => void} a function that stops it */
export function watch_stage(changed) {
  window.addEventListener(CHANGED, changed);
  return () => window.removeEventListener(CHANGED, changed);
}

/** Tell if single keys are shortcuts in this browser, by the step page's settings. */
export const are_keys_on = () => recall_json('localStorage', PREFERENCES_KEY)?.keys !== false;
