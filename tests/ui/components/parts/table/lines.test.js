// The lines between kept tokens and removed ones: their positions, and their samplers.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lines_of } from '../../../../../ui/components/js/parts/table/lines.js';
import { create } from '../../../../../ui/components/js/parts/table/table.js';
import { formats } from '../../../../../ui/components/js/words/format.js';
import { logits_of, shown } from '../../fixtures.js';
import { live } from '../../harness.js';

/**
 * @import { Value, View } from '../../../../../ui/components/js/types.js'
 */

/** .4 .3 .2 .05, and 16 that share the rest, each slightly less likely than the one before. */
const TWENTY = logits_of(0.4, 0.3, 0.2, 0.05, ...Array(16).fill(0.05 / 16)).map(
  (logit, place) => logit - Math.max(0, place - 3) * 1e-4,
);
const ACTS = { threshold: 0.25, probability: 1 }; // .4 and .3 reach it: the first is removed

/**
 * @param {Record<string, Value>} values
 * @param {number} [rows]
 */
function lines(values, rows = 15) {
  const { view } = shown(values, { logits: TWENTY, step: { xtc_u: 0 }, row_count: rows });
  const { upper, lower } = lines_of(/** @type {View} */ (view), rows, formats());
  return [upper, lower].map(line => line && `${line.is_beyond ? 'beyond ' : ''}${line.after}: ${line.words}`);
}

test('the line below the kept tokens names the sampler that stops there', () => {
  assert.deepEqual(lines({ top_k: 3 }), [null, '3: top-k stops here · 3 tokens of 20 hold 90.00 %']);
  assert.deepEqual(lines({ top_k: 1 }), [null, '1: top-k stops here · 1 token of 20 holds 40.00 %']);
  assert.deepEqual(lines({ temperature: 2, top_k: 20 }), [null, null], 'nothing is removed');
  assert.match(lines({ top_k: 4, banned: { sequences: [[1]] } })[1] ?? '', /with gaps between them · 3 tokens/);
  const none = lines({ temperature: 0, banned: { sequences: [[0]] } });
  assert.deepEqual(none, [null, '0: banned words removed the last token']);
  assert.deepEqual(lines({ top_p: 0.85, top_k: 10 }), [null, '3: top-p stops here · 3 tokens of 20 hold 90.00 %']);
});

test('the line above the kept tokens names the removing samplers', () => {
  assert.deepEqual(lines({ xtc: ACTS }), ['1: XTC removed the 1 above · 19 tokens of 20 hold 60.00 %', null]);
  assert.deepEqual(lines({ top_k: 4, xtc: ACTS }), [
    '1: XTC removed the 1 above',
    '4: top-k stops here · 3 tokens of 20 hold 55.00 %',
  ]);
  const both = { top_k: 4, xtc: ACTS, banned: { sequences: [[1]] } };
  assert.equal(lines(both)[0], '2: XTC and banned words removed the 2 above');
  assert.equal(lines({ banned: { sequences: [[19]] }, xtc: ACTS })[1], null, 'no cut is blamed for a ban before it');
});

test('one line below the rows reports cuts beyond them', () => {
  assert.deepEqual(lines({ top_k: 6 }, 5), [null, 'beyond 5: top-k stops at rank 6 · 6 tokens of 20 hold 95.63 %']);
  assert.deepEqual(lines({ xtc: { threshold: 0.04, probability: 1 }, top_k: 2 }, 2), [
    null,
    'beyond 2: XTC removed the 3 above: kept from rank 4 to 5, where top-k stops · 2 tokens of 20 hold 5.31 %',
  ]);
  assert.match(
    lines({ xtc: { threshold: 0.003, probability: 1 } }, 3)[1] ?? '',
    /kept from rank 20 onwards · 1 token of 20 holds /,
  );
});

test('lines have room below their rows and are spoken', () => {
  const page = live(create, shown({ top_k: 4, xtc: ACTS }, { logits: TWENTY, step: { xtc_u: 0 } }));
  const [upper, lower] = page.root.querySelectorAll('.dv-rule');
  const place = (/** @type {Element} */ line, name = '--after') =>
    /** @type {HTMLElement} */ (line).style.getPropertyValue(name);
  assert.deepEqual([place(upper), place(lower), place(lower, '--rooms')], ['1', '4', '1']);
  assert.deepEqual([upper.className, lower.className], ['dv-rule dv-dashed', 'dv-rule']);
  const roomy = Array.from(page.root.querySelectorAll('.dv-rows tr'), row => row.classList.contains('dv-after-line'));
  assert.deepEqual(roomy.slice(0, 6), [false, true, false, false, true, false]);
  const spoken = page.root.querySelector('.dv-table > .dv-spoken');
  assert.equal(spoken?.textContent, 'XTC removed the 1 above. top-k stops here · 3 tokens of 20 hold 55.00 %');
  page.change({ settings: { ...page.state.settings, top_k: 0, xtc: null } });
  assert.equal(spoken?.textContent, 'Nothing is removed.');
});
