// What the page knows at first, and what a tab or a browser remembers of it.

const PREFERENCES_KEY = 'decoding-visualiser-preferences';

/** Where the scale of guidance stands before anybody has moved it. */
export const USUAL_SCALE = 1.5;

/** Everything the page knows; the fields are those of README.md. */
export function new_state() {
  return {
    session: '',
    run: '',
    branch: 0,
    model: null,
    prompt: '',
    chat: false,
    prompt_tokens: [],
    negative_prompt: null,
    negative_tokens: null,
    guidance_scale: USUAL_SCALE,
    strategy: null,
    searched: null,
    wanted: { is_search: false, top_k: 4, penalty_alpha: 0.6 },
    examples: [],
    stage_defaults: {},
    steps: [],
    branches: [],
    index: 0,
    row: null,
    row_key: '',
    settings: usual_settings(), // the server's come with its first message
    limits: { max_tokens: 64, stop_strings: [] },
    mode: 'paused',
    manual: false,
    slow: false,
    speed: 4,
    point: null,
    row_count: 15,
    keys: true,
    enlarged: null,
    stop: null,
    error: '',
    error_at: '',
    said: '',
    cache_formula: null,
    pending_bytes: '',
    ...preferences(),
  };
}

/** The cards of a new page, all of them off. */
export function usual_settings() {
  const values = { repetition_penalty: 1, temperature: 1, top_k: 0, top_p: 1, min_p: 0 };
  return { order: Object.keys(values), ...values, seed: 0 };
}

function preferences() {
  try {
    const { speed, row_count, keys } = JSON.parse(localStorage.getItem(PREFERENCES_KEY) ?? '{}');
    return {
      ...(Number.isInteger(speed) && { speed }),
      ...(row_count >= 5 && row_count <= 200 && { row_count }),
      ...(typeof keys === 'boolean' && { keys }),
    };
  } catch {
    return {}; // storage may be switched off; the defaults do
  }
}

/** Keep a person's preferences for their next visit. */
export function remember_preferences({ speed, row_count, keys }) {
  remember('localStorage', PREFERENCES_KEY, JSON.stringify({ speed, row_count, keys }));
}

/** Keep a text in `localStorage` (for good) or `sessionStorage` (for this tab). */
export function remember(storage_name, key, value) {
  try {
    window[storage_name].setItem(key, value);
  } catch {
    // Storage may be switched off or full: the page works without, and only a reload starts anew.
  }
}

/** Keep it no longer. */
export function forget(storage_name, key) {
  try {
    window[storage_name].removeItem(key);
  } catch {
    // Storage may be switched off: there is nothing to forget.
  }
}

/** What this tab keeps under a key, or null. */
export function recall(key) {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null;
  }
}
