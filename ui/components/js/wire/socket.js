// The live channel to the server: a WebSocket that reconnects by itself.
//
// The first frame identifies the page and lists what it has (`hello`); the server answers with the rest. If the
// connection is lost, the page retries soon at first and later each time. It retries at once when the browser reports
// that the network is back.

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 10_000;
const SILENT_MS = 20_000; // the limit if an answer is due and nothing comes, not even a notice of a long operation

/**
 * @typedef {{online: boolean, since: number}} Presence whether the server can be reached, and since when (milliseconds
 *   since 1970)
 *
 * @typedef {object} Frame the fields of a frame that the socket reads
 * @property {string} kind
 *
 * @typedef {object} Options
 * @property {string} address path of the channel
 * @property {() => object} hello the first frame of every connection, without `kind`
 * @property {(bytes: Uint8Array) => void} received called with every incoming frame
 * @property {(presence: Presence) => void} presence called when the server becomes reachable or unreachable
 * @property {(address: string) => WebSocket} [connect] for tests
 * @property {Pick<Window, 'addEventListener' | 'removeEventListener'>} [network] the source of `online` and `offline`
 *   events
 * @property {() => number} [random] 0 to 1
 */

/** @param {string} path */
const connected = path => new WebSocket(new URL(path, location.href.replace(/^http/, 'ws')));

/** @param {Options} options */
export function create_socket({
  address,
  hello,
  received,
  presence,
  connect = connected,
  network = window,
  random = Math.random,
}) {
  /** @type {WebSocket | null} */
  let socket = null;
  let has_greeted = false; // the first frame was sent
  let is_ready = false; // the server has answered it
  let is_closed = false;
  let failures = 0;
  /** @type {boolean | null} */
  let was_online = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let retry;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let silence;

  /** @param {boolean} online */
  function tell(online) {
    if (online === was_online) return;
    was_online = online;
    presence({ online, since: Date.now() });
  }

  function open() {
    clearTimeout(retry);
    if (is_closed || socket) return;
    const mine = connect(address);
    socket = mine;
    mine.binaryType = 'arraybuffer';
    mine.onopen = () => {
      if (mine !== socket) return;
      mine.send(JSON.stringify({ ...hello(), kind: 'hello' }));
      has_greeted = true;
      expect();
    };
    mine.onmessage = ({ data }) => {
      if (mine !== socket) return;
      clearTimeout(silence);
      received(new Uint8Array(data));
    };
    mine.onclose = () => mine === socket && lost();
  }

  /** Retry after a delay, as the connection was lost. The delay grows and differs from page to page. */
  function lost() {
    drop();
    tell(false);
    if (is_closed) return;
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures);
    failures += 1;
    retry = setTimeout(open, wait * (0.5 + random()));
  }

  /** Let go of the connection without waiting for its end, which may never be reported. */
  function drop() {
    const old = socket;
    socket = null;
    has_greeted = is_ready = false;
    clearTimeout(silence);
    if (!old) return;
    old.onopen = old.onmessage = old.onclose = null;
    old.close();
  }

  /** Expect an answer: if nothing comes for long, the connection is dead although no event said so. */
  function expect() {
    clearTimeout(silence);
    silence = setTimeout(lost, SILENT_MS);
  }

  function at_once() {
    failures = 0;
    if (!is_ready) {
      drop();
      open();
    }
  }

  function offline() {
    if (socket) lost();
  }

  network.addEventListener('online', at_once);
  network.addEventListener('offline', offline);
  open();

  return {
    /** Tell if events can be sent. */
    get is_ready() {
      return is_ready;
    },

    /** Mark the channel as ready. Call this once the answer to `hello` has been applied. */
    ready() {
      is_ready = true;
      failures = 0;
      tell(true);
    },

    /** The server has announced that more is due. */
    expect,

    /**
     * Send an event that will be answered; false if there is no connection.
     *
     * @param {object} data
     * @param {boolean} [at_once] whether to send even before the server has answered the first frame
     */
    send(data, at_once = false) {
      if (!socket || !(is_ready || (at_once && has_greeted))) return false;
      socket.send(JSON.stringify(data));
      expect();
      return true;
    },

    close() {
      is_closed = true;
      clearTimeout(retry);
      drop();
      network.removeEventListener('online', at_once);
      network.removeEventListener('offline', offline);
    },
  };
}
