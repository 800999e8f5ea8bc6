// A text read token by token: shades, the chosen token's alternatives, forks, going on.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mount as mount_app } from '../../../../ui/components/js/apps/reading/main.js';
import { mount } from '../harness.js';

const HOSTILE = '<img src=x onerror=alert(1)>';

/** @param {string} label @param {number} probability @param {object} [changes] */
const token = (label, probability, changes = {}) => ({
  label,
  is_special: false,
  probability,
  surprisal: -Math.log2(probability),
  rank: 2,
  entropy: 5,
  top: [
    ['␣other', 0.5, false],
    [label, probability, true],
  ],
  ...changes,
});
const READING = {
  can_go_on: true,
  before: 'Once',
  tokens: [token('␣upon', 0.9, { rank: 1, entropy: 0.5 }), token(HOSTILE, 0.001), token('␣time', 0.45)],
  forks: [2],
};

/** @param {object} [reading] */
function page_of(reading = READING) {
  /** @type {[string, unknown][]} */
  const told = [];
  const page = mount(root => {
    const app = mount_app(root, { reading: JSON.stringify(reading) }, (name, value) => told.push([name, value]));
    return { update: state => app.update(/** @type {any} */ (state)) };
  });
  return { ...page, told };
}

test('the most surprising token is chosen, with its alternatives', () => {
  const page = page_of();
  const options = page.all('option').filter(each => each.tagName === 'SPAN');
  assert.deepEqual(
    options.map(each => each.getAttribute('aria-selected')),
    ['false', 'true', 'false'],
  );
  assert.match(page.text(), /Token 2: .*0\.10 % · rank 2 · surprisal 9\.97 bits · uncertainty 5\.00 bits/);
  assert.equal(page.root.querySelector('img'), null, 'hostile text stays text');
  const rows = page.all('row').slice(1);
  assert.deepEqual(
    rows.map(each => each.className),
    ['', 'own'],
  );
});

test('keys and forks choose a token, and a figure its shade', () => {
  const page = page_of();
  const options = page.all('option').filter(each => each.tagName === 'SPAN');
  const shade = () => options.map(each => /dv-shade-(\d)/.exec(each.className)?.[1]).join('');
  assert.equal(shade(), '041');
  const [select] = page.all('combobox', 'Colour by');
  /** @type {HTMLSelectElement} */ (select).value = 'rank';
  select.dispatchEvent(new Event('change', { bubbles: true }));
  assert.equal(shade(), '011');
  options[1].dispatchEvent(new KeyboardEvent('keydown', { key: 'Home', bubbles: true }));
  assert.match(page.text(), /Token 1: /);
  page.one('button', /3: ␣time 45\.00 %, or ␣other 50\.00 %/).click();
  assert.match(page.text(), /Token 3: /);
  assert.match(options[2].className, /fork chosen/);
  page.one('button', 'Go on from here').click();
  assert.deepEqual(page.told, [['go_on', 2]]);
});

test('the choice stays until there is another text', () => {
  const page = page_of();
  page
    .all('option')
    .filter(each => each.tagName === 'SPAN')[0]
    .click();
  page.update(/** @type {any} */ ({ reading: JSON.stringify(READING) }));
  assert.match(page.text(), /Token 1: /);
  page.update(/** @type {any} */ ({ reading: JSON.stringify({ ...READING, forks: [] }) }));
  assert.match(page.text(), /Token 2: .*Forks: 0/);
});
