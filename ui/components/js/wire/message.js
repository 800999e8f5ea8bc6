// Messages in: bytes -> header, and its changes to the state. ui/step/message.py makes them.

import { learn_token, unpack_row, unpack_runs } from '../kernel/row.js';

/**
 * @import { Branch, Limits, Outcome, RecordedStep, Remark, Row, SearchedStep, Settings, ShapedByEngine, State, StepOnScreen, Table } from '../types.js'
 *
 * @typedef {{number: number, prompt: string, tokens: number, model: string, when: number}} Earlier a text that was
 *   replaced by a newer one; `when` in seconds since 1970
 *
 * @typedef {object} Message a header with its arrays unpacked, and the answers to questions
 * @property {'state' | 'answer' | 'busy' | 'failed'} kind state: changes; answer: to a question; busy: a long operation
 *   (`what`, `done`, `total`, ...), '' when it is over; failed: nothing more will come
 * @property {string} client
 * @property {number | null} number of the event answered; 0 for `hello`, null if there was none
 * @property {string} error
 * @property {boolean} [cancelled] whether the error is a cancellation by a person, not a failure
 * @property {string} run
 * @property {Record<string, any> | null} text sent with a new run
 * @property {number} branch
 * @property {number} first the first step that `steps` contains
 * @property {number} length of the branch
 * @property {unknown[][]} steps one list each, in the order of `step_fields`
 * @property {string[]} [step_fields]
 * @property {Branch[]} [branches]
 * @property {Earlier[]} [earlier]
 * @property {[number, string][]} [labels] labels of tokens that are in no row
 * @property {[string, string, boolean][]} [remarks] name, reason, whether it has an effect
 * @property {string | null} [cache_formula]
 * @property {number} index
 * @property {string} row_key
 * @property {Partial<Row> | null} row
 * @property {StepOnScreen} [step]
 * @property {ShapedByEngine} [shaped]
 * @property {State['stop']} stop
 * @property {{settings: Settings, limits: Limits, guidance_scale: number | null, strategy: State['strategy']}} [in_force]
 * @property {string} pending_bytes
 * @property {SearchedStep} [search]
 * @property {RecordedStep} [recorded]
 * @property {number} left
 * @property {string} said
 * @property {string} [visit] with the answer to `hello`: this tab's token from now on
 * @property {Table} [table]
 * @property {State['examples']} [examples]
 * @property {string[]} [notices]
 * @property {{prompt: string, chat: boolean, before: import('../types.js').ChatMessage[]}} [draft] a prompt from another page, for Start
 * @property {import('../types.js').Linked} [linked] what a link sets, for Start
 * @property {string} [what]
 * @property {number} [done]
 * @property {number | null} [total]
 * @property {number} [behind] passes of other requests that come first
 * @property {boolean} [can_cancel]
 */

const DECODER = new TextDecoder();

/**
 * Split a message into its header and the arrays after it.
 *
 * @param {Uint8Array} bytes
 * @returns {{header: any, arrays: ArrayBuffer}}
 */
export function split(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const header = JSON.parse(DECODER.decode(bytes.subarray(4, 4 + length)));
  const has_arrays = bytes.length > 4 + length;
  // Typed arrays need an aligned start.
  return { header, arrays: has_arrays ? bytes.slice(4 + length).buffer : new ArrayBuffer() };
}

/**
 * Read a message's header, with `row` and `shaped.outcomes` unpacked if present.
 *
 * @param {Uint8Array} bytes
 * @returns {Message & Record<string, any>}
 */
export function read_message(bytes) {
  const { header: message, arrays } = split(bytes);
  if (message.row) message.row = unpacked(message.row, arrays);
  if (message.shaped) unpack_outcomes(message.shaped, arrays);
  return message;
}

/**
 * @param {any} header
 * @param {ArrayBuffer} arrays
 */
export function unpacked({ told, offset = 0, ...header }, arrays) {
  return { ...header, ...unpack_row(header, arrays, offset), ...told, labels: new Map(header.labels) };
}

/**
 * @param {any} shaped
 * @param {ArrayBuffer} arrays
 */
export function unpack_outcomes({ offset, outcomes }, arrays) {
  for (const outcome of outcomes) {
    if (outcome.mask) {
      const [start, length] = outcome.mask;
      outcome.mask = new Uint8Array(arrays, offset + start, length);
    }
    if (outcome.row) {
      const [start, length, tokens] = outcome.row;
      const { end, ...runs } = unpack_runs(arrays, offset + start, length);
      Object.assign(outcome, { runs, order: new Uint32Array(arrays, end, tokens) });
    }
  }
}

/**
 * Apply a message of kind `state` to the state.
 *
 * @param {any} state
 * @param {Message} message
 * @returns {boolean} false if the message builds on data that this page does not have, so that it must request
 *   everything
 */
export function take_in(state, message) {
  const is_new_run = message.run !== state.run;
  if (is_new_run && !message.text) return false;
  const is_same_branch = !is_new_run && message.branch === state.branch;
  if (message.first > (is_same_branch ? state.steps.length : 0)) return false;
  const is_same_row = message.row_key === state.row_key;
  if (message.row_key && !message.row && !is_same_row) return false;

  for (const name of /** @type {const} */ (['table', 'examples', 'step_fields', 'branches', 'earlier'])) {
    if (message[name]) state[name] = message[name];
  }
  if (message.cache_formula !== undefined) state.cache_formula = message.cache_formula;
  if (message.text) take_text(state, message.text);
  state.run = message.run;
  state.branch = message.branch;
  const steps = message.steps.map(values => step_of(state.step_fields, values));
  const kept = is_same_branch ? state.steps : [];
  kept.length = message.first;
  kept.push(...steps);
  kept.length = Math.min(kept.length, message.length);
  state.steps = kept;
  state.index = message.index;
  state.stop = message.stop;
  state.error = message.error;
  state.cancelled = Boolean(message.cancelled);
  state.said = message.said;
  state.pending_bytes = message.pending_bytes;
  state.searched = message.search ?? null;
  state.recorded = message.recorded ?? null;
  if (message.recorded) state.settings = message.recorded.settings;
  for (const [id, label] of message.labels ?? []) state.labels.set(id, label);
  take_row(state, message);
  return true;
}

/**
 * @param {any} state
 * @param {Record<string, any>} text
 */
function take_text(state, text) {
  if (state.model?.source !== text.model.source) state.labels = new Map(); // from a different vocabulary
  state.model = text.model;
  state.prompt = text.prompt;
  state.chat = text.chat;
  state.before = text.before;
  state.from_cache = text.from_cache;
  /** @param {[number, string, boolean]} token */
  const token_of = ([id, label, special]) => ({ id, label, special });
  state.prompt_tokens = text.prompt_tokens.map(token_of);
  state.strategy = text.strategy;
  state.read_only = text.read_only;
  state.negative_prompt = text.negative_prompt;
  state.negative_tokens = text.negative_tokens?.map(token_of) ?? null;
  state.stage_defaults = text.stage_defaults;
  state.first_settings = text.settings;
  state.first_limits = text.limits;
}

/**
 * @param {string[]} fields
 * @param {unknown[]} values
 */
function step_of(fields, values) {
  /** @type {Record<string, unknown>} */
  const step = {};
  fields.forEach((name, place) => {
    step[name] = values[place];
  });
  return step;
}

/** Record the standing of the step's own token. @param {Row} row */
export function learn_own(row) {
  const { chosen: id, standing } = row;
  if (id !== null && standing) learn_token(row, { id, raw_rank: standing[0], logit: standing[1] });
}

/**
 * Apply the row of a message to the state. The message is of kind `state` or answers `row`.
 *
 * @param {any} state
 * @param {Message} message
 */
export function take_row(state, message) {
  if (!message.row_key) {
    state.row = null;
    state.row_key = '';
    return;
  }
  if (message.row) {
    // Labels stay the same for a whole vocabulary, and each is sent only once.
    for (const [id, label] of message.row.labels ?? []) state.labels.set(id, label);
    const shaped = message.row_key === state.row_key ? state.row?.shaped : null;
    state.row = { shaped, ...message.row, labels: state.labels };
  } else if (message.row_key !== state.row_key) {
    return; // a late answer to an earlier question
  }
  state.row_key = message.row_key;
  Object.assign(state.row, message.step);
  if (message.shaped) state.row.shaped = message.shaped;
  learn_own(state.row);
}
