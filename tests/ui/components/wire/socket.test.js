// The live channel: a first frame on every connection, a new connection after a loss, and no noise.

import '../harness.js';
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import { create_socket } from '../../../../ui/components/js/wire/socket.js';

class FakeSocket {
  /** @type {FakeSocket[]} */
  static made = [];
  sent = /** @type {any[]} */ ([]);
  is_closed = false;
  onopen = /** @type {any} */ (null);
  onmessage = /** @type {any} */ (null);
  onclose = /** @type {any} */ (null);

  constructor() {
    FakeSocket.made.push(this);
  }

  /** @param {string} text */
  send(text) {
    this.sent.push(JSON.parse(text));
  }

  close() {
    this.is_closed = true;
  }

  /** Deliver bytes from the server. @param {number[]} bytes */
  says(...bytes) {
    this.onmessage?.({ data: new Uint8Array(bytes).buffer });
  }
}

const network = new window.EventTarget(); // the page's EventTarget class, to match its events
/** @type {any} */
let page;

describe('the live channel', () => {
  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout', 'Date'] });
    FakeSocket.made = [];
    page = { presence: [], received: [], hellos: 0 };
    page.socket = create_socket({
      address: '/live',
      hello: () => ({ visit: 'v', have: page.hellos++ }),
      received: bytes => page.received.push([...bytes]),
      presence: ({ online }) => page.presence.push(online),
      connect: () => /** @type {any} */ (new FakeSocket()),
      network: /** @type {any} */ (network),
      random: () => 0.5,
    });
  });

  afterEach(() => {
    page.socket.close();
    mock.timers.reset();
  });

  const latest = () => /** @type {FakeSocket} */ (FakeSocket.made.at(-1));

  /** Accept the connection and answer the first frame. */
  function connected() {
    latest().onopen();
    latest().says(1);
    page.socket.ready();
  }

  test('the first frame says hello, and nothing is sent before its answer', () => {
    assert.equal(page.socket.send({ kind: 'step' }), false);
    latest().onopen();
    assert.deepEqual(latest().sent, [{ kind: 'hello', visit: 'v', have: 0 }]);
    assert.equal(page.socket.send({ kind: 'step' }), false);
    connected();
    assert.equal(page.socket.send({ kind: 'step' }), true);
    assert.deepEqual(latest().sent.at(-1), { kind: 'step' });
    assert.deepEqual(page.received, [[1]]);
    assert.deepEqual(page.presence, [true]);
  });

  test('Cancel may be sent after the first frame, before its answer', () => {
    assert.equal(page.socket.send({ kind: 'stop' }, true), false);
    latest().onopen();
    assert.equal(page.socket.send({ kind: 'stop' }, true), true);
    assert.deepEqual(latest().sent.at(-1), { kind: 'stop' });
    latest().onclose();
    assert.equal(page.socket.send({ kind: 'stop' }, true), false);
  });

  test('a lost connection is reported once and retried with growing delays', () => {
    connected();
    latest().onclose();
    assert.deepEqual(page.presence, [true, false]);
    const waits = [];
    for (let turn = 0; turn < 8; turn++) {
      let waited = 0;
      const count = FakeSocket.made.length;
      while (FakeSocket.made.length === count) {
        mock.timers.tick(50);
        waited += 50;
      }
      waits.push(waited);
      latest().onclose();
    }
    assert.deepEqual(waits, [250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
    assert.deepEqual(page.presence, [true, false]);
    mock.timers.tick(10_000);
    connected();
    assert.deepEqual(page.presence, [true, false, true]);
    assert.equal(latest().sent[0].have, 1, 'what the page has by then');
    const count = FakeSocket.made.length;
    latest().onclose();
    mock.timers.tick(250);
    assert.equal(FakeSocket.made.length, count + 1, 'a good connection resets the delay');
  });

  test('a reconnect starts at once when the network returns', () => {
    connected();
    for (let turn = 0; turn < 6; turn++) {
      latest().onclose();
      mock.timers.tick(10_000);
    }
    const count = FakeSocket.made.length;
    latest().onclose();
    network.dispatchEvent(new Event('online'));
    assert.equal(FakeSocket.made.length, count + 1);
    connected();
    network.dispatchEvent(new Event('online'));
    assert.equal(FakeSocket.made.length, count + 1, 'a connection that works is left alone');
  });

  test('going offline counts as a lost connection', () => {
    connected();
    const old = latest();
    network.dispatchEvent(new Event('offline'));
    assert.deepEqual(page.presence, [true, false]);
    assert.ok(old.is_closed);
    old.says(9);
    assert.deepEqual(page.received, [[1]], 'what comes late on it is passed over');
  });

  test('a connection is dropped if silent while an answer is due', () => {
    connected();
    mock.timers.tick(60_000);
    assert.equal(FakeSocket.made.length, 1, 'nothing is due');
    page.socket.send({ kind: 'step' });
    for (let turn = 0; turn < 10; turn++) {
      mock.timers.tick(15_000);
      latest().says(2); // a long operation
      page.socket.expect();
    }
    assert.equal(FakeSocket.made.length, 1);
    mock.timers.tick(20_000);
    mock.timers.tick(250);
    assert.equal(FakeSocket.made.length, 2);
  });

  test('a closed socket never reconnects', () => {
    connected();
    page.socket.close();
    assert.ok(latest().is_closed);
    mock.timers.tick(100_000);
    network.dispatchEvent(new Event('online'));
    assert.equal(FakeSocket.made.length, 1);
    assert.equal(page.socket.send({ kind: 'step' }), false);
  });
});
