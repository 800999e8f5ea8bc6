// A text as tokens: choosing by pointer and key, and the steps that made the chosen token.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mount as mount_app } from '../../../../../ui/components/js/apps/tokens/main.js';
import { mount } from '../../harness.js';

/** @import { Making, ShownToken, Side } from '../../../../../ui/components/js/types.js' */

const HOSTILE = '<img src=x onerror=alert(1)>';

/** @param {string} label @param {Partial<ShownToken>} [changes] @returns {ShownToken} */
const token = (label, changes = {}) => ({
  id: 7,
  label,
  bytes: '61',
  start: 0,
  end: 1,
  first_byte: 0,
  is_special: false,
  is_inserted: false,
  is_unknown: false,
  is_partial: false,
  pre_token: 0,
  ...changes,
});

/** @type {Making} */
const MERGES = {
  kind: 'merges',
  symbols: ['a', 'b', 'a', 'b'],
  merges: [
    [0, 1, 2, 3, 'ab', 20],
    [2, 3, 4, 3, 'ab', 20],
    [0, 2, 4, 9, 'abab', 30],
  ],
  ranks: 12,
  is_whole: false,
};

/** @param {Making[]} makings @param {ShownToken[]} tokens @returns {Side} */
const side = (makings, tokens) => ({
  name: 'toy',
  facts: 'BPE',
  note: '',
  tokens,
  pre_tokens: makings.map((_, place) => [`word ${place}`, place]),
  makings,
  first: 0,
});

/** @param {Side[]} sides */
function page_of(...sides) {
  const page = mount(root => {
    const app = mount_app(root, { sides: JSON.stringify(sides) });
    return { update: state => app.update(state) };
  });
  return page;
}

/** @param {ReturnType<typeof page_of>} page */
const symbols = page => [...page.root.querySelectorAll('.dv-symbols .dv-symbol')].map(one => one.textContent);

test('Step and Back walk through the merges of a token', () => {
  const page = page_of(side([MERGES], [token('abab')]));
  assert.deepEqual(symbols(page), ['a', 'b', 'a', 'b']);
  assert.match(page.text(), /Before the first of 3 merges there are 4 symbols\./);
  assert.ok(page.one('button', 'Back').disabled);
  page.one('button', 'Step').click();
  assert.deepEqual(symbols(page), ['ab', 'a', 'b']);
  const slider = page.one('slider', 'Step of the split');
  slider.value = '3';
  slider.dispatchEvent(new Event('input'));
  assert.deepEqual(symbols(page), ['abab']);
  assert.match(
    page.text().replaceAll(/[\u2068\u2069]/g, ''),
    /Merge 3 of 3: “ab” and “ab” become .*merge 10 of 12 in the file/,
  );
  assert.equal(page.root.querySelectorAll('tr[aria-current]').length, 1);
  assert.ok(page.one('button', 'Step').disabled);
  page.one('button', 'Back').click();
  assert.deepEqual(symbols(page), ['ab', 'ab']);
});

test('pointer and keys choose a token, and hostile labels stay text', () => {
  /** @type {Making} */
  const matches = {
    kind: 'matches',
    text: [...'xyz'],
    matches: [
      [1, 'x', 3, 2],
      [3, '##yz', 4, 0],
    ],
  };
  /** @type {Making} */
  const cuts = { kind: 'cuts', cuts: [{ score: -2.5, tokens: [[HOSTILE, -2.5]] }] };
  const tokens = [
    token('abab'),
    token('x', { id: 3, pre_token: 1 }),
    token(HOSTILE, { id: 1234, pre_token: 2, bytes: '3C 69', start: 3, end: 5, first_byte: 4 }),
    token('</s>', { pre_token: null, is_special: true, is_inserted: true, first_byte: null, end: 0 }),
  ];
  const page = page_of(side([MERGES, matches, cuts], tokens));
  const [first, second, third, last] = page.all('option');
  const press = (/** @type {string} */ key) =>
    document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  first.focus();
  press('ArrowRight');
  assert.equal(document.activeElement, second);
  assert.equal(second.getAttribute('aria-selected'), 'true');
  page.one('button', 'Step').click();
  assert.deepEqual(symbols(page), ['x', 'yz']);
  assert.match(page.text(), /is the longest token that exists \(longer pieces tried: 2\)/);
  third.click();
  assert.match(page.text(), /id1,234bytes3C 69character of the text4 to 5byte of the text5 to 6/);
  assert.match(page.text(), /−2\.50 nats/);
  assert.equal(page.root.querySelector('img'), null);
  last.dispatchEvent(new MouseEvent('pointerover', { bubbles: true }));
  assert.match(page.text(), /kindput there by the tokenizer/);
  assert.equal(third.getAttribute('aria-selected'), 'true', 'pointing chooses nothing');
  press('End');
  assert.equal(document.activeElement, last);
  assert.match(page.text(), /A control token is one token/);
  press('Home');
  assert.equal(document.activeElement, first);
});

test('an update keeps the chosen token and adds or removes a tokenizer', () => {
  const one = side([MERGES], [token('abab'), token('abab')]);
  const page = page_of(one);
  page.all('option')[1].click();
  const app = (/** @type {Side[]} */ ...sides) => page.update(/** @type {any} */ ({ sides: JSON.stringify(sides) }));
  app(one);
  assert.equal(page.all('option')[1].getAttribute('aria-selected'), 'true');
  app(one, { ...one, name: 'other' });
  assert.deepEqual(
    page.all('region', /^Text by/).map(node => node.getAttribute('aria-label')),
    ['Text by toy', 'Text by other'],
  );
  app({ ...one, note: 'Only tokens are shown.' });
  assert.equal(page.all('region', /^Text by/).length, 1);
  assert.match(page.text(), /Only tokens are shown\./);
});
