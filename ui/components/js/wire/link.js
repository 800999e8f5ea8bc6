// Events out: what a person does, in order, one at a time, each done exactly once; questions beside them.
//
// An action keeps its number until the server has answered it. Where the connection is lost meanwhile, the same
// event is sent again, and the server, which knows the number, does nothing twice. Questions change nothing, so
// they need not wait, and several may be under way.

/** Questions: nothing changes by them. `stop` is none, but waits for nothing either: it ends what is being done. */
const QUESTIONS = new Set([
  ...['row', 'check', 'admit', 'find', 'tokenize', 'snippets', 'labels', 'trace', 'failed'],
  'stop',
]);
/** Only the newest of these matters. */
const SUPERSEDED = new Set(['settings', 'inspect', 'sync', 'row', 'find', 'snippets', 'admit']);
/** What changes neither the text nor the row on show: a click need not wait for its answer. */
const HARMLESS = new Set(['settings']);
/** Presses that wait become one event that stands for all of them. */
const MERGED = new Set(['step']);
/** The most that one event may stand for; the server refuses more. */
const MOST_PRESSES = 64;
const MOST_WAITING = 32; // of one kind; nobody presses so much else by hand

/**
 * @typedef {object} Answer a message, as far as the link looks into it
 * @property {string} client
 * @property {number | null} number
 * @property {number} [left] presses that the server has not come to
 *
 * @typedef {object} Waiting
 * @property {string} kind
 * @property {Record<string, unknown>} fields
 * @property {number} count
 * @property {number} number 0 until it has its turn
 * @property {number} sent_at milliseconds, as of `performance.now()`
 * @property {object | null} data
 * @property {Promise<any>} promise
 * @property {(answer: any) => void} resolve
 * @property {(() => void) | undefined} answered
 */

/**
 * @param {object} options
 * @param {string} options.client names this page
 * @param {() => object} options.describe what every action carries (place, settings, stop rules)
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

  /** An event has its turn. @param {Waiting} event */
  function transmit(event) {
    const { kind, fields, count } = event;
    const is_question = QUESTIONS.has(kind);
    number += 1;
    event.number = number;
    event.sent_at = performance.now();
    if (is_question) asked.set(number, event);
    else in_flight = event;
    // Described when sent: what came before it in the queue has changed the page by then.
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
   * The event that one more press is a part of, if there is one.
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
    /** Whether an answer is due that may change what a person is looking at. */
    get is_busy() {
      return [in_flight, ...waiting].some(event => event && !HARMLESS.has(event.kind));
    },

    /** Whether no action is under way or waits. */
    get is_idle() {
      return in_flight === null && waiting.length === 0;
    },

    /** When the oldest event was sent that is not answered; null where there is none. */
    get since() {
      const times = [...(in_flight ? [in_flight] : []), ...asked.values()].map(event => event.sent_at);
      return times.length ? Math.min(...times) : null;
    },

    /**
     * Send an event.
     *
     * @param {string} kind
     * @param {Record<string, unknown>} [fields]
     * @param {() => void} [answered] called at once when the answer has been taken in, before anything is drawn: what it
     *   posts is on its way while the browser paints
     * @returns {Promise<any>} the answer; null if the event was dropped: a newer one took its place, Pause, Cancel or
     *   another action made it pointless, too many wait, or the page has gone
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
     * Forget what waits, for example when a person presses Pause.
     *
     * @param {string[]} kinds
     */
    drop(kinds) {
      for (let place = waiting.length - 1; place >= 0; place--) {
        if (kinds.includes(waiting[place].kind)) waiting.splice(place, 1)[0].resolve(null);
      }
    },

    /** End what is being done, and forget all that was to follow it. */
    cancel() {
      for (let place = waiting.length - 1; place >= 0; place--) {
        if (!HARMLESS.has(waiting[place].kind)) waiting.splice(place, 1)[0].resolve(null);
      }
      this.post('stop');
    },

    /**
     * Whether a message answers the action that is under way.
     *
     * @param {Answer} message
     */
    is_answer: message => in_flight !== null && message.client === client && message.number === in_flight.number,

    /**
     * To be called with every message, after the state has taken it in.
     *
     * @param {Answer} message
     * @returns {string | undefined} the kind of event that it answers
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
        // The server came back so that the page can follow; the presses that are left go on.
        waiting.unshift({ ...done, count: message.left, number: 0, data: null });
      } else {
        done.answered?.();
        done.resolve(message);
      }
      const next = in_flight ? undefined : waiting.shift();
      if (next) transmit(next);
      return done.kind;
    },

    /** The connection is there again: send what is unanswered, in order. */
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
