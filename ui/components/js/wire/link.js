// Events out: a person's actions, in order, one at a time, each executed exactly once; and questions in parallel.
//
// An action keeps its number until the server has answered it. If the connection is lost before that, the same event is
// sent again. The server recognises the number and does nothing twice. Questions change nothing, so they need not wait,
// and several may be under way.

/** Questions change nothing. `stop` is not a question, but does not wait either: it ends the work in progress. */
const QUESTIONS = new Set([
  ...['row', 'check', 'admit', 'find', 'tokenize', 'snippets', 'labels', 'trace', 'failed'],
  'stop',
]);
/** Only the newest of these matters. */
const SUPERSEDED = new Set(['settings', 'inspect', 'sync', 'row', 'find', 'snippets', 'admit']);
/** These change neither the text nor the row on show: a click need not wait for their answers. */
const HARMLESS = new Set(['settings']);
/** Waiting presses merge into one event that represents them all. */
const MERGED = new Set(['step']);
/** The most presses that one event may represent; the server refuses more. */
const MOST_PRESSES = 64;
const MOST_WAITING = 32; // of one kind; manual presses do not exceed it

/**
 * @typedef {object} Answer the part of a message that the link reads
 * @property {string} client
 * @property {number | null} number
 * @property {number} [left] presses that the server has not reached
 *
 * @typedef {object} Waiting
 * @property {string} kind
 * @property {Record<string, unknown>} fields
 * @property {number} count
 * @property {number} number 0 until its turn
 * @property {number} sent_at milliseconds, as of `performance.now()`
 * @property {object | null} data
 * @property {Promise<any>} promise
 * @property {(answer: any) => void} resolve
 * @property {(() => void) | undefined} answered
 */

/**
 * @param {object} options
 * @param {string} options.client identifies this page
 * @param {() => object} options.describe returns the fields of every action (place, settings, stop rules)
 * @param {(data: object, at_once: boolean) => unknown} options.send does nothing while there is no connection
 */
export function create_link({ client, describe, send }) {
  /** @type {Waiting[]} */
  const waiting = [];
  /** @type {Map<number, Waiting>} */
  const asked = new Map();
  let number = 0;
  /** @type {Waiting | null} */
  let in_flight = null;
  let is_open = true;

  /**
   * @param {string} kind
   * @param {Record<string, unknown>} fields
   * @param {(() => void) | undefined} answered
   * @returns {Waiting}
   */
  function made(kind, fields, answered) {
    /** @type {(answer: any) => void} */
    let resolve = () => {};
    const promise = new Promise(done => {
      resolve = done;
    });
    return { kind, fields, count: 1, number: 0, sent_at: 0, data: null, promise, resolve, answered };
  }

  /** Send an event whose turn has come. @param {Waiting} event */
  function transmit(event) {
    const { kind, fields, count } = event;
    const is_question = QUESTIONS.has(kind);
    number += 1;
    event.number = number;
    event.sent_at = performance.now();
    if (is_question) asked.set(number, event);
    else in_flight = event;
    // Described when sent: earlier events in the queue have changed the page by then.
    const shared = is_question ? {} : describe();
    event.data = { ...shared, ...fields, ...(count > 1 && { count }), kind, client, number };
    send(event.data, kind === 'stop'); // without a connection `again` sends it
  }

  /** @param {string} kind */
  function supersede(kind) {
    for (let place = waiting.length - 1; place >= 0; place--) {
      if (waiting[place].kind === kind) waiting.splice(place, 1)[0].resolve(null);
    }
    for (const [sent, event] of asked) {
      if (event.kind !== kind) continue;
      asked.delete(sent);
      event.resolve(null);
    }
  }

  /**
   * The event that one more press joins, if there is one.
   *
   * @param {string} kind
   * @param {Record<string, unknown>} fields
   */
  function merged(kind, fields) {
    const last = waiting.at(-1);
    const is_same = last?.kind === kind && JSON.stringify(last.fields) === JSON.stringify(fields);
    return MERGED.has(kind) && is_same ? last : undefined;
  }

  return {
    /** Tell if an answer is due that may change the content on screen. */
    get is_busy() {
      return [in_flight, ...waiting].some(event => event && !HARMLESS.has(event.kind));
    },

    /** Tell if no action is under way or waiting. */
    get is_idle() {
      return in_flight === null && waiting.length === 0;
    },

    /** The time when the oldest unanswered event was sent; null if there is none. */
    get since() {
      const times = [...(in_flight ? [in_flight] : []), ...asked.values()].map(event => event.sent_at);
      return times.length ? Math.min(...times) : null;
    },

    /**
     * Send an event.
     *
     * @param {string} kind
     * @param {Record<string, unknown>} [fields]
     * @param {() => void} [answered] called as soon as the answer has been applied, before anything is drawn: events
     *   that it posts are on their way while the browser paints
     * @returns {Promise<any>} the answer; null if the event was dropped: a newer one replaced it, Pause, Cancel or
     *   another action made it pointless, too many are waiting, or the page is gone
     */
    post(kind, fields = {}, answered) {
      if (SUPERSEDED.has(kind)) supersede(kind);
      const other = merged(kind, fields);
      const same = waiting.filter(each => each.kind === kind).length;
      const is_full = other ? other.count >= MOST_PRESSES : same >= MOST_WAITING;
      if (!is_open || is_full) return Promise.resolve(null);
      if (other) {
        other.count += 1;
        return other.promise;
      }
      const event = made(kind, fields, answered);
      if (QUESTIONS.has(kind) || !(in_flight || waiting.length)) transmit(event);
      else waiting.push(event);
      return event.promise;
    },

    /**
     * Forget waiting events, for example when a person presses Pause.
     *
     * @param {string[]} kinds
     */
    drop(kinds) {
      for (let place = waiting.length - 1; place >= 0; place--) {
        if (kinds.includes(waiting[place].kind)) waiting.splice(place, 1)[0].resolve(null);
      }
    },

    /** End the work in progress, and forget everything that was to follow it. */
    cancel() {
      for (let place = waiting.length - 1; place >= 0; place--) {
        if (!HARMLESS.has(waiting[place].kind)) waiting.splice(place, 1)[0].resolve(null);
      }
      this.post('stop');
    },

    /**
     * Tell if a message answers the action under way.
     *
     * @param {Answer} message
     */
    is_answer: message => in_flight !== null && message.client === client && message.number === in_flight.number,

    /**
     * Handle a message. Call this for every message, after the state has applied it.
     *
     * @param {Answer} message
     * @returns {string | undefined} the kind of the answered event
     */
    received(message) {
      if (message.client !== client || !message.number) return undefined;
      const question = asked.get(message.number);
      if (question) {
        asked.delete(message.number);
        question.answered?.();
        question.resolve(message);
        return question.kind;
      }
      if (in_flight?.number !== message.number) return undefined;
      const done = in_flight;
      in_flight = null;
      if (message.left) {
        // The server came back so that the page can follow; the remaining presses continue.
        waiting.unshift({ ...done, count: message.left, number: 0, data: null });
      } else {
        done.answered?.();
        done.resolve(message);
      }
      const next = in_flight ? undefined : waiting.shift();
      if (next) transmit(next);
      return done.kind;
    },

    /** Send all unanswered events in order, as the connection is back. */
    again() {
      const sent = [...asked.values(), ...(in_flight ? [in_flight] : [])];
      sent.sort((one, other) => one.number - other.number);
      for (const { data, kind } of sent) if (data) send(data, kind === 'stop');
    },

    close() {
      is_open = false;
      for (const event of [in_flight, ...waiting, ...asked.values()]) event?.resolve(null);
      in_flight = null;
      waiting.length = 0;
      asked.clear();
    },
  };
}
