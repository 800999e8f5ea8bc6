// Messages in: bytes -> header, and the changes they make to the state.

import { at_scale, unpack_guided } from '../kernel/guided.js';
import { unpack_row } from '../kernel/row.js';

const DECODER = new TextDecoder();

/** Header of a message, with `row` unpacked where it brings one. */
export function read_message(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const message = JSON.parse(DECODER.decode(bytes.subarray(4, 4 + length)));
  if (message.row) {
    const labels = message.row.labels;
    const aligned = bytes.slice(4 + length).buffer; // typed arrays want an aligned start
    if (message.row.guided) {
      message.row = {
        ...message.row,
        guidance: unpack_guided(message.row, aligned),
        labels: new Map(labels),
      };
      return message;
    }
    message.row = { ...unpack_row(message.row, aligned, 0), ...message.row };
    message.row.labels = labels_by_id(message.row, labels);
  }
  return message;
}

function labels_by_id(row, labels) {
  return new Map([...row.edited_labels, ...labels.map((label, place) => [row.ids[place], label])]);
}

/**
 * Take a message into the state.
 *
 * @returns {boolean} false where the message builds on what this page does not have, so that it must ask
 *   for everything
 */
export function take_in(state, message) {
  const is_new_run = message.run !== state.run;
  if (is_new_run && !message.text) return false;
  const is_same_branch = !is_new_run && message.branch === state.branch;
  if (message.first > (is_same_branch ? state.steps.length : 0)) return false;

  state.session = message.session;
  if (message.text) take_text(state, message.text);
  state.run = message.run;
  state.branch = message.branch;
  const steps = message.steps.map(values => step_of(message.step_fields, values));
  const kept = is_same_branch ? state.steps : [];
  kept.length = message.first;
  kept.push(...steps);
  kept.length = Math.min(kept.length, message.length);
  state.steps = kept;
  state.branches = message.branches;
  state.index = message.index;
  state.stop = message.stop;
  state.error = message.error;
  state.cache_formula = message.cache_formula;
  state.pending_bytes = message.pending_bytes;
  state.searched = message.search;
  take_row(state, message);
  return true;
}

function take_text(state, text) {
  state.model = text.model;
  state.prompt = text.prompt;
  state.chat = text.chat;
  const token_of = ([id, label, special]) => ({ id, label, special });
  state.prompt_tokens = text.prompt_tokens.map(token_of);
  state.strategy = text.strategy;
  state.negative_prompt = text.negative_prompt;
  state.negative_tokens = text.negative_tokens?.map(token_of) ?? null;
  state.examples = text.examples;
  state.stage_defaults = text.stage_defaults;
  state.first_settings = text.settings;
  state.first_limits = text.limits;
}

function step_of(fields, values) {
  const step = {};
  fields.forEach((name, place) => {
    step[name] = values[place];
  });
  return step;
}

function take_row(state, message) {
  if (!message.row_key) {
    state.row = null;
    state.row_key = '';
    return;
  }
  if (message.row) state.row = message.row;
  else if (message.row_key !== state.row_key) return; // a late answer to an earlier question
  state.row_key = message.row_key;
  Object.assign(state.row, message.step);
  if (state.row.guidance) state.row = at_scale(state.row, state.guidance_scale);
}
