// Outgoing events: one action at a time, each done exactly once, and questions in parallel.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create_link } from '../../../../ui/components/js/wire/link.js';

/**
 * @typedef {Record<string, any>} Sent
 */

/** A link that records its events; `answer(number)` is the server's answer to one. */
function made() {
  /** @type {Sent[]} */
  const sent = [];
  let is_there = true;
  const link = create_link({
    client: 'me',
    describe: () => ({ settings: 1 }),
    send: data => {
      if (is_there) sent.push(/** @type {Sent} */ (data));
      return is_there;
    },
  });
  return {
    link,
    sent,
    answer: (/** @type {number | null} */ number, /** @type {object} */ more = {}) =>
      link.received({ client: 'me', number, ...more }),
    lose: () => {
      is_there = false;
    },
    find: () => {
      is_there = true;
      link.again();
    },
  };
}

test('an action waits for the answer to the one before', async () => {
  const { link, sent, answer } = made();
  const done = link.post('back');
  link.post('rewind');
  assert.deepEqual(sent, [{ settings: 1, kind: 'back', client: 'me', number: 1 }]);
  assert.ok(link.is_busy && !link.is_idle);
  assert.equal(answer(1, { error: '' }), 'back');
  assert.ok(await done);
  assert.deepEqual(
    sent.map(each => each.kind),
    ['back', 'rewind'],
  );
});

test('an answer to another event or page resolves nothing', () => {
  const { link, answer } = made();
  link.post('back');
  assert.equal(answer(7), undefined);
  assert.equal(link.received({ client: 'another', number: 1 }), undefined);
  assert.ok(link.is_busy);
});

test('waiting Step presses merge into one event with a count', async () => {
  const { link, sent, answer } = made();
  const presses = Array.from({ length: 30 }, () => link.post('step'));
  answer(1);
  assert.deepEqual([sent[1].kind, sent[1].count], ['step', 29]);
  // The server answers after some presses; the others continue.
  answer(2, { left: 20 });
  assert.deepEqual([sent[2].kind, sent[2].count], ['step', 20]);
  answer(3);
  assert.ok((await Promise.all(presses)).every(Boolean));
  assert.ok(link.is_idle);
});

test('presses merge only with the presses directly before them', () => {
  const { link, sent, answer } = made();
  for (const kind of ['step', 'step', 'step', 'back', 'step', 'step']) link.post(kind);
  answer(1);
  answer(2, { left: 1 }); // the remaining press goes before later events
  for (const number of [3, 4]) answer(number);
  assert.deepEqual(
    sent.map(({ kind, count = 1 }) => [kind, count]),
    [
      ['step', 1],
      ['step', 2],
      ['step', 1],
      ['back', 1],
      ['step', 2],
    ],
  );
});

test('an event caused by an answer queues behind waiting events', () => {
  const { link, sent, answer } = made();
  link.post('step', {}, () => link.post('rewind'));
  link.post('back');
  answer(1);
  answer(2);
  assert.deepEqual(
    sent.map(({ kind }) => kind),
    ['step', 'back', 'rewind'],
  );
  link.post('play', {}, () => link.post('step'));
  answer(3);
  answer(4);
  assert.equal(sent.length, 5, 'at once if none waits');
});

test('a question does not wait, and the newest replaces others', async () => {
  const { link, sent, answer } = made();
  link.post('back');
  const first = link.post('find', { query: 'a' });
  const second = link.post('find', { query: 'ab' });
  assert.deepEqual(
    sent.map(each => each.kind),
    ['back', 'find', 'find'],
  );
  assert.equal(await first, null);
  assert.equal('settings' in sent[1], false); // a question carries none of the page's state
  answer(3, { found: [] });
  assert.ok(await second);
  assert.ok(link.is_busy); // the action is still pending
});

test('an unanswered event is sent again unchanged, in order', () => {
  const { link, sent, lose, find } = made();
  link.post('step');
  link.post('admit', { token: 5 });
  lose();
  link.post('back');
  find();
  assert.deepEqual(sent.slice(2), sent.slice(0, 2));
});

test('Pause drops waiting events but not the pending one', async () => {
  const { link, sent, answer } = made();
  link.post('step');
  const waiting = link.post('step');
  link.drop(['step']);
  assert.equal(await waiting, null);
  answer(1);
  assert.equal(sent.length, 1);
});

test('Cancel is sent at once and drops waiting events except settings', async () => {
  const { link, sent, answer } = made();
  const under_way = link.post('start');
  const step = link.post('step');
  link.post('settings');
  link.cancel();
  assert.equal(await step, null);
  assert.deepEqual(sent.at(-1), { kind: 'stop', client: 'me', number: 2 });
  answer(1, { error: 'Cancelled.' });
  assert.ok(await under_way);
  assert.deepEqual([sent.at(-1)?.kind, sent.at(-1)?.number], ['settings', 3]);
  assert.equal(answer(2), 'stop');
  answer(3);
  assert.ok(link.is_idle);
});

test('a Cancel made offline is sent after the action it cancels', () => {
  const { link, sent, lose, find } = made();
  link.post('start');
  lose();
  link.cancel();
  find();
  assert.deepEqual(
    sent.map(each => each.kind),
    ['start', 'start', 'stop'],
  );
});

test('the link records since when an answer is due', () => {
  const { link, answer } = made();
  assert.equal(link.since, null);
  link.post('row');
  const first = link.since;
  link.post('step');
  assert.equal(link.since, first);
  answer(1);
  assert.ok(Number(link.since) >= Number(first));
  answer(2);
  assert.equal(link.since, null);
});

test('the queue is bounded, and events beyond it resolve to null', async () => {
  const { link } = made();
  const answers = Array.from({ length: 40 }, (_, token_id) => link.post('force', { token_id }));
  assert.equal(await answers.at(-1), null);
  link.drop(['force']);
  const presses = Array.from({ length: 65 }, () => link.post('step')); // the server takes 64 at once
  assert.equal(await presses[64], null);
});

test('a closed link sends nothing more', async () => {
  const { link, sent } = made();
  const under_way = link.post('step');
  link.close();
  assert.equal(await under_way, null);
  assert.equal(await link.post('step'), null);
  assert.equal(sent.length, 1);
});
