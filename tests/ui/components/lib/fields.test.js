// Controls for a number: valid and refused input, and no overwriting while a person drags or types.

import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import {
  exact_field,
  exact_text,
  is_position,
  slider_of,
  typed_number,
} from '../../../../ui/components/js/lib/fields.js';
import { bare } from '../fixtures.js';
import { begin_typing, mount, pointer, press, settled, type } from '../harness.js';

/**
 * @import { Checked } from '../../../../ui/components/js/lib/fields.js'
 */

const TOP_P = { name: 'Top-p', low: 0.01, high: 1, step: 0.01 };
const TEMPERATURE = { name: 'Temperature', low: 0, high: 2, step: 0.01, words: { 0: 'greedy' } };
const LAST_N = { name: 'Last n', low: -1, high: 511, step: 16, whole: true, words: { '-1': 'all' } };

test('a number shows all its digits or its word, and may be typed so', () => {
  const shown = [0.7, 0.0009, 1e-7, 0].map(value => exact_text(TEMPERATURE, value));
  assert.deepEqual([...shown, exact_text(LAST_N, 15)], ['0.70', '0.0009', '1e-7', 'greedy', '15']);
  assert.ok([0.01, 0.29, 0.57, 1].every(value => is_position(TOP_P, value)));
  assert.ok([0, 1.01, 0.575, NaN].every(value => !is_position(TOP_P, value)));
  const typed = ['0.7', ' .5 ', '0,7', '1e-3', '-2', 'Greedy', '1,000', '0x10', 'warm', '', '1 2', 'Infinity'];
  const numbers = typed.map(text => typed_number(TEMPERATURE, text));
  assert.deepEqual(numbers, [0.7, 0.5, 0.7, 1e-3, -2, 0, 1, NaN, NaN, NaN, NaN, NaN]);
});

/** @type {any} */
let page;
/** @type {ReturnType<typeof exact_field>} */
let exact;
/** @type {Checked} the server's answer */
let answer;

/** Mount a field. @param {import('../../../../ui/components/js/lib/fields.js').Range} range @param {number} value */
function field_of(range, value) {
  page = mount((root, actions) => {
    exact = exact_field(range, `${range.name}, exact value`, {
      check: async typed => {
        actions.check(typed);
        return answer;
      },
      apply: actions.apply,
    });
    root.append(exact.input, exact.alert);
    return { update: exact.update };
  });
  page.update(value);
  return exact.input;
}

/** The alert's text, or null without an alert. */
const refused = () => page.all('alert')[0]?.textContent ?? null;

describe('fields', () => {
  beforeEach(() => {
    answer = { value: 7 };
  });

  test('slider positions apply at once, other values after the server’s check', async () => {
    const field = field_of(TOP_P, 0.9);
    assert.equal(field, page.one('spinbutton', 'Top-p, exact value'));
    type(field, '0,8');
    assert.deepEqual(page.taken(), [['apply', 0.8]]);
    assert.equal(field.value, '0.80');
    answer = { value: 0.123456 };
    type(field, '0.123456');
    await settled();
    assert.deepEqual(page.taken(), [
      ['check', 0.123456],
      ['apply', 0.123456],
    ]);
    type(field, '0.123456'); // the same value again
    await settled();
    assert.deepEqual(page.taken('apply'), []);
  });

  test('a refused value stays visible with its reason and is not applied', async () => {
    const field = field_of(TOP_P, 0.9);
    answer = { sentence: 'Top-p must be above 0 and at most 1, got 1.4.' };
    type(field, '1.4');
    await settled();
    assert.deepEqual(page.taken(), [['check', 1.4]]);
    assert.equal(refused(), 'Top-p must be above 0 and at most 1, got 1.4.');
    assert.deepEqual([field.value, field.getAttribute('aria-invalid')], ['1.4', 'true']);
    assert.equal(field.getAttribute('aria-valuenow'), '0.9');
    page.update(0.9); // a redraw keeps the typed text for correction
    assert.equal(field.value, '1.4');
    press(field, 'Escape');
    assert.deepEqual([field.value, refused(), field.hasAttribute('aria-invalid')], ['0.90', null, false]);
  });

  test('text that is not a number is refused without asking the server', async () => {
    const field = field_of(TEMPERATURE, 0);
    for (const [typed, got] of [
      ['warm', '“warm”'],
      ['', 'nothing'],
    ]) {
      type(field, typed);
      await settled();
      assert.equal(bare(refused()), `Temperature must be a number, got ${got}; greedy still applies.`);
    }
    assert.deepEqual(page.taken(), []);
    page.update(0.5); // set elsewhere: the complaint no longer applies
    assert.deepEqual([field.value, refused()], ['0.50', null]);
  });

  test('typed text is never overwritten and applies on Enter or blur', async () => {
    const field = field_of(TOP_P, 0.9);
    field.focus();
    begin_typing(field, '0.7');
    page.update(0.5);
    assert.equal(field.value, '0.7');
    assert.deepEqual(page.taken(), []);
    press(field, 'Enter');
    assert.deepEqual(page.taken(), [['apply', 0.7]]);
    begin_typing(field, '0.6');
    field.blur();
    assert.deepEqual(page.taken(), [['apply', 0.6]]);
    field.focus();
    begin_typing(field, '0.2');
    press(field, 'Escape');
    field.blur();
    assert.deepEqual([page.taken(), field.value], [[], '0.60']);
  });

  test('a late answer is dropped after new typing', async () => {
    const field = field_of(TOP_P, 0.9);
    answer = { sentence: 'too late' };
    type(field, '5');
    type(field, '0.4');
    await settled();
    assert.deepEqual([page.taken('apply'), refused()], [[['apply', 0.4]], null]);
  });

  test('arrow keys continue from their own value before the page updates', () => {
    const field = field_of(TOP_P, 0.98);
    for (const key of ['ArrowUp', 'ArrowUp', 'ArrowUp', 'ArrowDown']) press(field, key);
    assert.deepEqual(page.taken(), [
      ['apply', 0.99],
      ['apply', 1],
      ['apply', 0.99],
    ]);
    page.update(3); // beyond the end, as a preset may set it
    press(field, 'ArrowUp');
    assert.deepEqual(page.taken(), []);
  });

  test('a special value is shown and spoken as its word', () => {
    const field = field_of(LAST_N, -1);
    assert.deepEqual([field.value, field.getAttribute('aria-valuetext')], ['all', 'all']);
    type(field, '31');
    assert.equal(field.hasAttribute('aria-valuetext'), false);
    type(field, 'ALL');
    assert.deepEqual(page.taken(), [
      ['apply', 31],
      ['apply', -1],
    ]);
  });

  test('a held slider ignores page updates until it is released', () => {
    /** @type {any} */
    let slider;
    const page = mount((root, actions) => {
      slider = slider_of(TEMPERATURE, 'Temperature', { settle: actions.settle });
      root.append(slider.input);
      return { update: value => slider.update(value) };
    });
    page.update(/** @type {any} */ (0.7));
    const input = page.one('slider', 'Temperature');
    assert.deepEqual([input.min, input.max, input.step, input.value], ['0', '2', '0.01', '0.7']);
    assert.equal(input.getAttribute('aria-valuetext'), '0.70');
    pointer(input, 'pointerdown');
    begin_typing(input, '0.2');
    assert.deepEqual(page.taken(), []);
    assert.equal(input.getAttribute('aria-valuetext'), '0.20');
    page.update(/** @type {any} */ (1.5)); // a late message
    assert.equal(input.value, '0.2');
    pointer(input, 'pointerup');
    input.dispatchEvent(new window.Event('change'));
    assert.deepEqual(page.taken(), [['settle']]);
    page.update(/** @type {any} */ (1.5));
    assert.equal(input.value, '1.5');
    press(input, 'ArrowLeft');
    page.update(/** @type {any} */ (0.1));
    assert.equal(input.value, '1.5', 'held by a key');
    pointer(input, 'keyup');
    page.update(/** @type {any} */ (9));
    assert.equal(input.value, '2', 'beyond its end the thumb stands at the end');
    slider.update(1, 0.5); // a separate end, as for top-k in a small vocabulary
    assert.equal(input.max, '0.5');
  });
});
