// The effects of guidance, in signs and in words.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, moved_text, story } from '../../../../ui/components/js/parts/guidance.js';
import { bare, guided, make_step } from '../fixtures.js';
import { live, text_of } from '../harness.js';

test('rank changes are shown as signs and told as a story', () => {
  const changes = /** @type {[number, number][]} */ ([
    [1, 1],
    [5, 1],
    [1, 12],
    [3, 0],
    [0, 2],
  ]);
  const said = changes.map(([before, after]) => moved_text(before, after));
  assert.deepEqual(said, ['=', '▲ 4', '▼ 11', 'ruled out', '']);
  const standing = (/** @type {number} */ rank, /** @type {number} */ prob) => ({ rank, prob });
  const rows = [
    { id: 1, guided: standing(1, 0.6), prompt: standing(2, 0.3), negative: standing(5, 0.1) },
    { id: 2, guided: standing(4, 0.1), prompt: standing(1, 0.5), negative: standing(1, 0.6) },
  ];
  const text = bare(story(rows, 2, id => `t${id}`));
  assert.match(text, /“t1” comes first .*“t2”, first without guidance, is now at rank 4/);
});

/** @param {number} scale */
function page_of(scale) {
  const page = live(create, guided(scale));
  const rows = () =>
    page
      .all('row')
      .slice(1)
      .map(each => Array.from(each.children, text_of));
  return { ...page, rows };
}

test('the table ranks leading tokens for both texts and under guidance', () => {
  const page = page_of(2); // proportional to .4²/.7 .3²/.1 .2²/.1 .1²/.1
  assert.deepEqual(page.rows(), [
    ['␣the', '#2 30.00 %', '#2 10.00 %', '#1 55.26 %', '▲ 1'],
    ['␣a', '#3 20.00 %', '#3 10.00 %', '#2 24.56 %', '▲ 1'],
    ['␣Paris', '#1 40.00 %', '#1 70.00 %', '#3 14.04 %', '▼ 2'],
    ['␣London', '#4 10.00 %', '#4 10.00 %', '#4 6.14 %', '='],
  ]);
  assert.match(bare(page.text()), /“␣the” comes first with 55\.26 %/);
  assert.match(page.text(), /guided = negative \+ 2 × \(prompt − negative\)/);
  page.change({
    steps: [make_step(1, { forward_ms: 5, negative_forward_ms: 2, negative_cache_bytes: 1024 })],
    index: 0,
  });
  assert.match(page.text(), /Step 1: two passes, 3\.00 ms .* 2\.00 ms/);
  const unknown = { cache_bytes: null, cache_bytes_held: null, negative_cache_bytes: null };
  page.change({ steps: [make_step(1, { forward_ms: 5, negative_forward_ms: 2, ...unknown })] });
  assert.match(page.text(), /Step 1: 3\.00 ms for the prompt.* 2\.00 ms for the negative/);
  page.change({ row: null });
  assert.deepEqual(page.all('table'), [], 'the rows come later');
});
