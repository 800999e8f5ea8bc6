// The controls of stage view: the sampler that the slider sets, and the slider's text.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '../../../../../ui/components/js/parts/stage/stage.js';
import { settings_of, shown } from '../../fixtures.js';
import { choose, click, live, press, text_of, type } from '../../harness.js';

const NAMES = { top_k: 0, dry: null, top_p: 1, temperature: 0.7 };

test('the slider can set any sampler with one number, temperature first', () => {
  const page = live(create, shown(NAMES));
  const field = page.one('combobox', 'Slider for');
  assert.deepEqual(
    Array.from(field.options, option => option.value),
    ['top_k', 'top_p', 'temperature'],
  );
  const value = () => text_of(/** @type {Element} */ (page.root.querySelector('output')));
  assert.deepEqual([page.one('slider', 'Temperature').value, value()], ['0.7', '0.70']);
  type(page.one('slider', 'Temperature'), '1.3');
  assert.deepEqual(page.taken().slice(0, 1), [['set', { temperature: 1.3 }]]);
  field.focus();
  press(field, 'ArrowUp');
  choose(field, 'top_p');
  assert.equal(document.activeElement, field, 'keys may go on');
  click(field);
  choose(field, 'top_p');
  assert.equal(document.activeElement, document.body, 'keys go to the page');
  assert.deepEqual([page.all('slider').length, page.one('slider', 'Top-p').value, value()], [1, '1', 'off']);
  page.one('button', 'Hide').click();
  assert.deepEqual(page.taken().at(-1), ['hide']);
});

test('the slider falls back to the first sampler, or disappears without any', () => {
  const state = shown({ min_p: 0.1 });
  const page = live(create, state);
  assert.equal(page.one('slider', 'Min-p').value, '0.1');
  page.update({ ...state, settings: settings_of({ dry: null }) });
  assert.deepEqual(page.all('slider'), []);
});

test('contrastive search has no slider for samplers without effect', () => {
  const strategy = { top_k: 4, penalty_alpha: 0.6 };
  const page = live(create, shown({ temperature: 0.5, repetition_penalty: 1.2 }, { strategy }));
  assert.equal(page.one('slider').value, '1.2');
});
