// What guidance moved, in signs and in words.

import '../harness.js';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { moved_text, story } from '../../../../ui/components/js/parts/guidance.js';
import { bare } from '../fixtures.js';

test('ranks that moved are told in signs', () => {
  const said = [
    [1, 1],
    [5, 1],
    [1, 12],
    [3, 0],
    [0, 2],
  ].map(([before, after]) => moved_text(before, after));
  assert.deepEqual(said, ['=', '▲ 4', '▼ 11', 'ruled out', '']);
});

test('the story is of the token that leads now, and the one that led', () => {
  const standing = (/** @type {number} */ rank, /** @type {number} */ prob) => ({ rank, prob });
  const rows = [
    { id: 1, guided: standing(1, 0.6), prompt: standing(2, 0.3), negative: standing(5, 0.1) },
    { id: 2, guided: standing(4, 0.1), prompt: standing(1, 0.5), negative: standing(1, 0.6) },
  ];
  const text = bare(story(rows, 2, id => `t${id}`));
  assert.match(text, /“t1” comes first with 60\.00 %, from rank 2 and 30\.00 %/);
  assert.match(text, /“t2”, first without guidance, is now at rank 4/);
});
