// No press is lost: presses merge, the server may come back in between, and what cannot be queued says why.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create_link, is_answered } from '../../../../ui/components/js/wire/link.js';

function made() {
  /** @type {any[]} */
  const sent = [];
  const link = create_link({ client: 'me', describe: () => ({}), send: data => Boolean(sent.push(data)) });
  /** @param {number} number @param {object} [more] */
  const answer = (number, more = {}) => link.received({ client: 'me', number, ...more });
  return { sent, link, answer, counts: () => sent.map(event => [event.kind, event.count ?? 1]) };
}

test('thirty presses are thirty steps, however slow the answers', async () => {
  const { counts, link, answer } = made();
  const presses = Array.from({ length: 30 }, () => link.post('step'));
  assert.equal(link.waits, 29);
  answer(1);
  answer(2, { left: 20 }); // the server comes back in between, so that the page can follow
  assert.deepEqual(counts(), [
    ['step', 1],
    ['step', 29],
    ['step', 20],
  ]);
  answer(3, { left: 0 });
  const answers = await Promise.all(presses);
  assert.ok(answers.every(is_answered));
  assert.ok(link.is_idle);
});

test('presses merge only with presses that come right before', () => {
  const { counts, link, answer } = made();
  for (const kind of ['step', 'step', 'back', 'step', 'step']) link.post(kind);
  for (const number of [1, 2, 3]) answer(number);
  assert.deepEqual(counts(), [
    ['step', 1],
    ['step', 1],
    ['back', 1],
    ['step', 2],
  ]);
});

test('what is left of presses goes before what came later, and Pause drops it', async () => {
  const { counts, link, answer } = made();
  link.post('step');
  const presses = [link.post('step'), link.post('step')];
  link.post('back');
  answer(1);
  answer(2, { left: 1 });
  assert.deepEqual(counts().at(-1), ['step', 1]);
  link.drop(['back']);
  answer(3);
  assert.ok((await Promise.all(presses)).every(is_answered));
});

test('more presses than the server takes at once are refused with a reason', async () => {
  const { link } = made();
  link.post('step');
  const presses = Array.from({ length: 65 }, () => link.post('step'));
  assert.deepEqual(await presses[64], { dropped: 'full' });
});
