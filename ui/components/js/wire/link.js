// Events out: one at a time, in order, each applied exactly once.
//
// An event keeps its number until the server has acknowledged it; where the answer does not come
// (a lost connection) the same event is sent again, and the server, which knows the number, does
// nothing twice.

const RETRY_MS = 8000;
const LATE_MS = 1000; // an event older than this that a new message does not answer was probably lost
const SUPERSEDED = new Set(['settings', 'inspect', 'find', 'snippets', 'sync']); // only the newest of these matters
// What changes neither the text nor the row on show: a click need not wait for its answer.
const HARMLESS = new Set(['settings', 'labels']);
const MOST_WAITING = 8; // clicks beyond these would go on happening long after the finger has left

/**
 * @param {() => object} describe what every event carries (place, settings, what the page has)
 * @param {(data: object) => void} send hands an event to Streamlit
 */
export function create_link(describe, send) {
  const client = crypto.randomUUID ? crypto.randomUUID() : String(Math.random()).slice(2);
  const waiting = [];
  let number = 0;
  let in_flight = null;
  let timer = 0;

  function transmit() {
    in_flight.sent = performance.now();
    send(in_flight.data);
    clearTimeout(timer);
    timer = setTimeout(() => in_flight && transmit(), RETRY_MS);
  }

  function next() {
    if (in_flight || !waiting.length) return;
    in_flight = waiting.shift();
    number += 1;
    in_flight.number = number;
    // Described when sent: what came before it in the queue has changed the page by then.
    in_flight.data = { ...describe(), ...in_flight.fields, kind: in_flight.kind, client, number };
    transmit();
  }

  const is_answer = message =>
    in_flight !== null && message.client === client && message.acknowledged >= in_flight.number;

  return {
    client,
    /** Whether an answer is due that may change what a person is looking at. */
    get is_busy() {
      return [in_flight, ...waiting].some(event => event && !HARMLESS.has(event.kind));
    },
    /** Whether no answer is due at all. */
    get is_idle() {
      return in_flight === null && waiting.length === 0;
    },
    get waits() {
      return waiting.length;
    },

    /** Send an event; resolves with the message that answers it, or with null if it was dropped. */
    post(kind, fields = {}) {
      if (SUPERSEDED.has(kind)) {
        for (let place = waiting.length - 1; place >= 0; place--) {
          if (waiting[place].kind === kind) waiting.splice(place, 1)[0].resolve(null);
        }
      } else if (waiting.filter(event => event.kind === kind).length >= MOST_WAITING) {
        return Promise.resolve(null);
      }
      return new Promise(resolve => {
        waiting.push({ kind, fields, resolve });
        next();
      });
    },

    /** Forget what waits, for example when a person presses Pause. */
    drop(kinds) {
      for (let place = waiting.length - 1; place >= 0; place--) {
        if (kinds.includes(waiting[place].kind)) waiting.splice(place, 1)[0].resolve(null);
      }
    },

    /** Whether a message answers the event that is under way. */
    is_answer,

    /** To be called with every message, after the state has taken it in; says which event it answers, if any. */
    received(message) {
      if (!in_flight) return;
      if (!is_answer(message)) {
        if (performance.now() - in_flight.sent > LATE_MS) transmit();
        return;
      }
      const done = in_flight;
      in_flight = null;
      clearTimeout(timer);
      done.resolve(message);
      next();
      return done.kind;
    },

    /** The connection has come back, or the server has restarted: send again what is unanswered. */
    again() {
      if (in_flight) transmit();
    },

    close() {
      clearTimeout(timer);
      in_flight = null;
      waiting.length = 0;
    },
  };
}
