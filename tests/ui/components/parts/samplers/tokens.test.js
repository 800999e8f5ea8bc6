// Samplers whose value is a list of tokens: biases and banned words.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '../../../../../ui/components/js/parts/samplers/samplers.js';
import { bare, shown } from '../../fixtures.js';
import { click, live, settled, text_of, type } from '../../harness.js';
import { read_hostile } from '../../vectors.js';

/**
 * @import { Fields } from '../../../../../ui/components/js/types.js'
 */

const [BIAS, BAN] = ['Logit bias', 'Banned words'];

/**
 * Return a page with both samplers, and the tokens of some texts.
 *
 * @param {Record<string, [number, string][]>} ways
 * @param {Parameters<typeof shown>[1]} [more]
 */
function page_of(ways, more) {
  const page = live(create, shown({ logit_bias: null, banned: null }, more), {
    tokenize: async text =>
      (ways[text] ?? []).map(([id, label]) => ({ id, label, raw_rank: id + 1, logit: id < 4 ? -id : null })),
    check: async (_, __, value) => ({ sentence: `got ${value}` }),
  });
  const box = (/** @type {string} */ name) =>
    page.one('textbox', name === BIAS ? 'Add token to Logit bias' : 'Add word to Banned words');
  const entry = (/** @type {string} */ name) => page.one('group', name);
  const choices = (/** @type {string} */ name) => Array.from(entry(name).querySelectorAll('.dv-choices button'));
  return {
    ...page,
    box,
    async add(/** @type {string} */ name, /** @type {string} */ text) {
      box(name).value = text;
      entry(name).querySelector('button[type=submit]').click();
      await settled();
    },
    offered: (/** @type {string} */ name) => choices(name).map(each => bare(each.textContent)),
    choose: (/** @type {string} */ name, /** @type {number} */ place) => click(choices(name)[place]),
    said: (/** @type {string} */ name) => bare(text_of(entry(name).querySelector('.dv-adder [role=status]'))),
    listed: (/** @type {string} */ name) =>
      Array.from(entry(name).querySelectorAll('li'), item =>
        Array.from(item.querySelectorAll('.dv-token'), token => token.textContent).join('|'),
      ),
    sets: () => page.taken('set').map(([, changes]) => changes),
  };
}

const BOY = /** @type {Record<string, [number, string][]>} */ ({ boy: [[3, 'boy']], ' boy': [[0, '␣boy']] });
const BERLIN = /** @type {Record<string, [number, string][]>} */ ({
  Berlin: [
    [50, 'Ber'],
    [51, 'lin'],
  ],
  ' Berlin': [[2, '␣Berlin']],
});

// --- biases ---------------------------------------------------------------------------------------

test('biases can be added, changed and removed, sorted by id', async () => {
  const page = page_of({ ' Berlin': [[40, '␣Berlin']], ' Lyon': [[7, '␣Lyon']] });
  await page.add(BIAS, ' Berlin');
  assert.deepEqual(page.taken(), [['tokenize', ' Berlin'], ['set', { logit_bias: { bias: [[40, 2]] } }], ['settle']]);
  await page.add(BIAS, ' Lyon');
  assert.deepEqual(page.listed(BIAS), ['␣Lyon', '␣Berlin']);
  page.taken();
  const field = page.one('spinbutton', 'Bias of ␣Lyon');
  type(field, '-4.5');
  assert.deepEqual(page.sets()[0].logit_bias.bias.flat(), [7, -4.5, 40, 2]);
  type(field, '2000');
  await settled();
  assert.equal(page.one('alert').textContent, 'got 2000');
  for (const label of ['␣Lyon', '␣Berlin']) page.one('button', `Remove ${label}`).click();
  assert.deepEqual(page.sets(), [{ logit_bias: { bias: [[40, 2]] } }, { logit_bias: null }]);
});

test('a word is also offered after a space, likelier form first', async () => {
  const page = page_of({ ...BOY, ...BERLIN });
  await page.add(BIAS, 'boy');
  assert.match(page.said(BIAS), /^“boy” is a different token after a space/);
  assert.deepEqual(page.offered(BIAS).at(-1), 'Both');
  assert.match(page.offered(BIAS).join(), /^␣boy \d+\.\d\d %,boy \d+\.\d\d %,Both$/);
  assert.deepEqual(page.sets(), [], 'nothing is biased before it is chosen');
  page.choose(BIAS, 2);
  assert.deepEqual(page.sets()[0].logit_bias.bias.flat(), [0, 2, 3, 2]);
  await page.add(BIAS, 'Berlin');
  assert.match(page.said(BIAS), /^“Berlin” is 2, after a space 1 token/);
  assert.deepEqual(
    page.offered(BIAS).map(text => text.split(' ')[0]),
    ['␣Berlin', 'Ber', 'lin'],
  );
  page.choose(BIAS, 2);
  assert.deepEqual(page.sets()[0].logit_bias.bias.at(-1), [51, 2]);
  assert.deepEqual([page.offered(BIAS), page.box(BIAS).value], [[], '']);
  const early = page_of(BOY, { row: null });
  await early.add(BAN, 'boy');
  assert.deepEqual(early.offered(BAN), ['␣boy', 'boy', 'Both'], 'without scores');
});

// --- banned words ---------------------------------------------------------------------------------

test('words are banned once each, as token sequences', async () => {
  const page = page_of({ ' located': [[3, '␣located']], ' Berlin': BERLIN.Berlin });
  await page.add(BAN, ' located');
  await page.add(BAN, ' Berlin');
  assert.deepEqual(page.sets().at(-1), { banned: { sequences: [[3], [50, 51]] } });
  assert.equal(page.said(BAN), '“Berlin” is 2 tokens: the last is banned after the others.');
  assert.deepEqual(page.listed(BAN), ['␣located', 'Ber|lin']);
  await page.add(BAN, ' Berlin');
  assert.equal(page.said(BAN), '“ Berlin” is banned already.');
  click(page.one('button', 'Remove Berlin'), 0); // by the keyboard, so the focus needs a new place
  assert.deepEqual(page.sets(), [{ banned: { sequences: [[3]] } }]);
  assert.equal(document.activeElement, page.box(BAN));
});

test('a word banned in one form is offered in the other', async () => {
  const page = page_of({ ...BOY, ...BERLIN, ',': [[9, ',']] });
  await page.add(BAN, 'boy');
  page.choose(BAN, 0);
  assert.deepEqual(page.sets(), [{ banned: { sequences: [[0]] } }]);
  await page.add(BAN, 'boy');
  assert.match(page.said(BAN), /banned in one way already/);
  assert.equal(page.offered(BAN).length, 1);
  await page.add(BAN, 'Berlin');
  assert.equal(page.offered(BAN)[1], 'Berlin 2 tokens'); // the row makes its first token impossible
  page.choose(BAN, 2);
  assert.deepEqual(page.sets(), [{ banned: { sequences: [[0], [2], [50, 51]] } }]);
  await page.add(BAN, ','); // not a word, so tokenized as typed
  assert.deepEqual(page.taken('tokenize'), [['tokenize', ',']]);
});

// --- both -----------------------------------------------------------------------------------------

for (const [name, empty] of /** @type {[string, Record<string, Fields>][]} */ ([
  [BIAS, { logit_bias: { bias: [] } }],
  [BAN, { banned: { sequences: [] } }],
])) {
  test(`${name}: an empty list waits for a token when switched on`, async () => {
    const page = page_of({ x: [[1, 'x']] });
    for (const values of [{}, empty]) {
      page.change({ settings: { ...page.state.settings, ...values } });
      const turn = page.one('switch', `${name} on`);
      turn.click();
      assert.deepEqual([page.sets(), turn.getAttribute('aria-checked')], [[], 'false']);
      assert.equal(document.activeElement, page.box(name));
      turn.focus();
    }
    await page.add(name, 'x');
    assert.equal(page.one('switch', `${name} on`).getAttribute('aria-checked'), 'true');
  });

  test(`${name}: an empty input and a text without tokens are reported`, async () => {
    const page = page_of({});
    await page.add(name, '');
    assert.equal(page.said(name), 'Type a word first.');
    await page.add(name, '?');
    assert.equal(page.said(name), 'No token came back for this text.');
    assert.equal(
      document.getElementById(page.box(name).getAttribute('aria-describedby'))?.textContent,
      'A leading space counts.',
    );
  });

  test(`${name}: hostile tokens are rendered as text in list and choices`, async () => {
    const labels = read_hostile();
    const ways = Object.fromEntries(labels.map((label, place) => [`-${place}`, [[100 + place, label]]]));
    const page = page_of({ ...ways, '-all': labels.map((label, place) => [200 + place, label]) });
    for (const text of Object.keys(ways)) await page.add(name, text);
    const shortened = labels.map(label =>
      Array.from(label).length > 18 ? `${Array.from(label).slice(0, 17).join('')}…` : label,
    );
    assert.deepEqual(page.listed(name), shortened);
    await page.add(name, '-all');
    assert.deepEqual(page.root.querySelectorAll('script, img, i:not([class])').length, 0);
  });
}

test('an answer to an overwritten text is dropped', async () => {
  const page = page_of({ slow: [[1, 'slow']], fast: [[2, 'fast']] });
  const slow = page.add(BAN, 'slow');
  await page.add(BAN, 'fast');
  await slow;
  assert.deepEqual(page.sets(), [{ banned: { sequences: [[2]] } }]);
});
