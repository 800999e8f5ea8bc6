// The step page's initial state, and the part that a browser remembers.

import { is_on_stage } from '../../lib/stage.js';
import { PREFERENCES_KEY, recall_json, remember } from '../../lib/storage.js';

/** @import { State } from '../../types.js' */

/** Preferences that a browser remembers for the next visit. */
const PREFERENCES = /** @type {const} */ ([
  'speed',
  'row_count',
  'keys',
  'stage_slider',
  'colouring',
  'columns',
  'tour',
  'picture',
]);

/** @type {Record<typeof PREFERENCES[number], (value: unknown) => boolean>} */
const IS_VALID = {
  speed: Number.isInteger,
  row_count: value => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 200,
  keys: value => typeof value === 'boolean',
  stage_slider: value => typeof value === 'string',
  colouring: value => ['probability', 'model_probability', 'entropy', 'model_entropy'].includes(String(value)),
  columns: value => Array.isArray(value) && value.every(name => ['id', 'prob', 'cumulative'].includes(name)),
  tour: value => ['new', 'asked', 'step', 'draw', 'slide', 'moved', 'done'].includes(String(value)),
  picture: value => ['distribution', 'ranks', 'draw'].includes(String(value)),
};

/** @returns {State} */
export function new_state() {
  return {
    visit: '',
    run: '',
    branch: 0,
    table: { samplers: [], groups: [], order: [], first: [], presets: [] },
    model: null,
    prompt: '',
    chat: false,
    before: [],
    from_cache: 0,
    prompt_tokens: [],
    negative_prompt: null,
    negative_tokens: null,
    guidance_scale: 1.5,
    strategy: null,
    searched: null,
    read_only: '',
    recorded: null,
    draft: {
      prompt: '',
      chat: false,
      before: [],
      negative_prompt: null,
      is_search: false,
      top_k: 4,
      penalty_alpha: 0.6,
    },
    drafted: false,
    starting: false,
    examples: { list: [], note: '' },
    example: '',
    earlier: [],
    stage_defaults: {},
    steps: [],
    branches: [],
    index: 0,
    row: null,
    row_key: '',
    labels: new Map(),
    view: null,
    greedy: false,
    settings: { order: [], seed: 0 },
    limits: { max_tokens: 64, stop_strings: [] },
    first_settings: {},
    first_limits: { max_tokens: 64, stop_strings: [] },
    remarks: null,
    is_what_if: false,
    mode: 'paused',
    manual: false,
    slow: false,
    speed: 4,
    point: null,
    row_count: 0,
    fitted_rows: 12,
    columns: [],
    colouring: 'model_probability',
    keys: true,
    stage: is_on_stage(),
    stage_slider: 'temperature',
    hiding: false,
    revealed: '',
    covered: false,
    tour: 'new',
    lessons: null,
    guided: false,
    picture: 'distribution',
    enlarged: false,
    digits: 'full',
    stop: null,
    error: '',
    cancelled: false,
    error_at: '',
    said: '',
    busy: null,
    offline: false,
    visit_notice: '',
    cache_formula: null,
    pending_bytes: '',
    ...preferences(),
  };
}

/** @returns {Partial<State>} */
function preferences() {
  const kept = recall_json('localStorage', PREFERENCES_KEY);
  if (kept === null || typeof kept !== 'object') return {};
  return Object.fromEntries(
    PREFERENCES.filter(name => name in kept && IS_VALID[name](kept[name])).map(name => [name, kept[name]]),
  );
}

/**
 * Keep a person's preferences for their next visit, if the changes include any.
 * @param {State} state
 * @param {Partial<State>} changes
 */
export function remember_preferences(state, changes) {
  if (!PREFERENCES.some(name => name in changes)) return;
  remember(
    'localStorage',
    PREFERENCES_KEY,
    JSON.stringify(Object.fromEntries(PREFERENCES.map(name => [name, state[name]]))),
  );
}

/** The settings as an event carries them; most questions omit them. @param {State} state */
export function told_settings({ settings, guidance_scale, limits, draft: { is_search, top_k, penalty_alpha } }) {
  return { settings, guidance_scale, strategy: is_search ? { top_k, penalty_alpha } : null, limits };
}

/**
 * The key of covered and revealed content: a place in the text, before or after its token is drawn.
 *
 * @param {State} state
 */
export const place_of = ({ run, branch, index, row }) => [run, branch, index, Boolean(row?.is_pending)].join('/');

/** Tell if Start would begin a different text from the one on screen. @param {State} state */
export function is_drafted({
  draft,
  prompt,
  chat,
  before,
  negative_prompt,
  negative_tokens,
  guidance_scale,
  strategy,
  run,
}) {
  if (!run) return false;
  if (draft.prompt !== prompt || draft.chat !== chat) return true;
  if (chat && JSON.stringify(draft.before) !== JSON.stringify(before)) return true;
  if (draft.is_search !== (strategy !== null)) return true;
  if (draft.is_search) return strategy !== null && draft.top_k !== strategy.top_k;
  if (draft.negative_prompt !== negative_prompt) return true;
  return draft.negative_prompt !== null && negative_tokens === null && guidance_scale !== 1;
}
