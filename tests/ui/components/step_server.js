// A server for the step page in a test: it repeats a text of four tokens, and gives any answer it is told to.

import { FOUR, LABELS, make_row, make_step, settings_of } from './fixtures.js';
import { packed, packed_runs } from './packed.js';
import { read_table } from './vectors.js';

/**
 * @import { Settings, Step } from '../../../ui/components/js/types.js'
 */

const QUESTIONS = ['row', 'check', 'admit', 'find', 'tokenize', 'snippets', 'labels', 'trace', 'failed', 'stop'];
const FIELDS = Object.keys(make_step(0));
const MODEL = {
  name: 'test',
  source: 'test',
  vocab_size: 4,
  listed: null,
  has_logits: true,
  context_length: 64,
  eos_ids: [],
  line_break_ids: [],
  has_chat_template: false,
};

export class StepServer {
  /** All messages from the page. @type {any[]} */
  events = [];
  /** While true, answers wait for `answer`. */
  is_held = false;
  /** Additional content of answers, by kind of event; a function gets the event. @type {Record<string, any>} */
  more = {};
  length_limit = 8;
  /** @type {any[]} */
  #held = [];
  #run = 1;
  #prompt = 'the';
  /** @type {Step[]} */
  #steps = [];
  /** The settings of each step. @type {Settings[]} */
  #settings = [];
  #index = 0;

  constructor() {
    const server = this;
    Object.assign(globalThis, {
      /** One end of a connection. */
      WebSocket: class {
        constructor() {
          server.socket = /** @type {any} */ (this);
          queueMicrotask(() => server.socket.onopen?.());
        }
        /** @param {string} text */
        send(text) {
          server.#take(JSON.parse(text));
        }
        close() {}
      },
    });
    /** @type {any} */
    this.socket = null;
  }

  /** List the kinds received since the last call, each with its number of presses. */
  kinds() {
    return this.events.splice(0).map(({ kind, count }) => (count > 1 ? `${kind} ${count}` : kind));
  }

  /** Answer the held events. */
  answer() {
    this.is_held = false;
    for (const event of this.#held.splice(0)) this.#reply(event);
  }

  /** @param {any} event */
  #take(event) {
    this.events.push(event);
    if (this.is_held && event.kind !== 'hello') this.#held.push(event);
    else queueMicrotask(() => this.#reply(event));
  }

  /** @param {any} event */
  #reply(event) {
    const { client, number = 0, kind } = event;
    const own = typeof this.more[kind] === 'function' ? this.more[kind](event) : (this.more[kind] ?? {});
    if (QUESTIONS.includes(kind)) return this.say({ kind: 'answer', client, number, error: '', row_key: '', ...own });
    const is_new = kind === 'hello' || (kind === 'start' && !own.error);
    if (!own.error) this.#do(event);
    const first =
      kind === 'hello'
        ? { visit: '0'.repeat(32), table: read_table(), examples: { list: [], note: '' }, step_fields: FIELDS }
        : {};
    this.say({ ...this.#state(is_new), ...first, client, number, ...own }, true);
  }

  /** @param {any} event */
  #do({ kind, count = 1, prompt, index, token_id, settings }) {
    const last = this.#steps.length;
    const take = (/** @type {number} */ id, /** @type {Partial<Step>} */ more = {}) => {
      this.#settings[this.#steps.length] = settings;
      this.#steps.push(make_step(id, more));
    };
    if (kind === 'step') for (let each = 0; each < count; each++) take(this.#steps.length % 4);
    else if (kind === 'run') take(this.#steps.length % 4);
    else if (kind === 'back') this.#steps.pop();
    else if (kind === 'rewind') this.#steps = [];
    else if (kind === 'force') take(token_id, { forced: true, u: null });
    if (kind === 'start') {
      this.#run += 1;
      this.#prompt = prompt;
      this.#steps = [];
    }
    if (kind === 'inspect') this.#index = index;
    else if (kind === 'propose' || this.#steps.length === 0) this.#index = this.#steps.length;
    else if (this.#steps.length !== last) this.#index = this.#steps.length - 1;
  }

  /** Return the complete current state. @param {boolean} is_new whether the text is new to the page */
  #state(is_new) {
    const step = this.#steps.at(this.#index);
    const is_over = this.#steps.length >= this.length_limit;
    const stop = {
      reason: is_over ? 'length' : null,
      sentence: is_over ? 'The text is full.' : '',
      is_over,
      at_limit: is_over,
    };
    const { vocab, possible, exact, values, ids } = make_row(FOUR);
    return {
      kind: 'state',
      run: `r${this.#run}`,
      branch: 1,
      first: 0,
      length: this.#steps.length,
      steps: this.#steps.map(each => FIELDS.map(name => Reflect.get(each, name))),
      index: this.#index,
      text: is_new ? text_of(this.#prompt) : null,
      stop,
      pending_bytes: '',
      left: 0,
      error: '',
      said: '',
      branches: [],
      remarks: [],
      row_key: `${this.#run}/${this.#index}/${this.#steps.length}`,
      row: { vocab, possible, exact, runs: values.length, known: ids.length, labels: [...LABELS.entries()] },
      step: {
        index: this.#index,
        is_pending: !step,
        chosen: step?.id ?? null,
        forced: step?.forced ?? false,
        u: step ? step.u : 0.5,
        xtc_u: null,
        mirostat: null,
        recorded_settings: step ? this.#settings[this.#index] : null,
        recorded_scale: null,
      },
    };
  }

  /** Send a message to the page. @param {object} header @param {boolean} [has_row] */
  say(header, has_row = false) {
    const { values, counts, ids } = make_row(FOUR);
    const bytes = packed(header, has_row ? [packed_runs(values, counts), ids] : []);
    this.socket.onmessage?.({ data: bytes.buffer });
  }
}

/** @param {string} prompt */
const text_of = prompt => ({
  model: MODEL,
  prompt,
  chat: false,
  before: [],
  from_cache: 0,
  prompt_tokens: [[1, prompt, false]],
  negative_prompt: null,
  negative_tokens: null,
  guidance_scale: 1.5,
  strategy: null,
  read_only: '',
  stage_defaults: {},
  settings: settings_of({ temperature: 1, top_k: 0, top_p: 1, min_p: 0 }),
  limits: { max_tokens: 64, stop_strings: [] },
});
