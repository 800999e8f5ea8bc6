// The source of a constraint on the step page: taken as a whole, kept during typing, never lost.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '../../../../../ui/components/js/parts/samplers/samplers.js';
import { shown } from '../../fixtures.js';
import { live } from '../../harness.js';

/** @param {import('../../../../../ui/components/js/types.js').Value} value */
function page_of(value) {
  const page = live(create, shown({ constraint: value }));
  return {
    ...page,
    language: () => page.one('combobox', 'Constraint language'),
    source: () => page.one('textbox', 'Constraint source'),
    sets: () => page.taken('set').map(([, changes]) => changes),
  };
}

/** @param {HTMLTextAreaElement} area @param {string} text */
function leave_with(area, text) {
  area.value = text;
  area.dispatchEvent(new window.Event('change'));
}

test('a source is applied with its language on leaving the field', () => {
  const page = page_of(null);
  page.language().value = 'regex';
  page.language().dispatchEvent(new window.Event('change'));
  assert.deepEqual(page.sets(), [], 'a language alone changes nothing');
  page.one('switch', 'Constraint on').click();
  assert.deepEqual([page.sets(), document.activeElement], [[], page.source()], 'it waits for a source');
  leave_with(page.source(), '[0-9]+');
  assert.deepEqual(page.sets(), [{ constraint: { language: 'regex', source: '[0-9]+' } }]);
  leave_with(page.source(), '[0-9]+');
  assert.deepEqual(page.sets(), [], 'nothing new');
});

test('Ctrl+Enter applies the source, and keys stay in the field', () => {
  const page = page_of(null);
  let heard = 0;
  document.addEventListener('keydown', () => heard++, { once: true });
  page.source().value = '["a"]';
  page.source().dispatchEvent(new window.KeyboardEvent('keydown', { key: 's', bubbles: true }));
  page.source().dispatchEvent(new window.KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, bubbles: true }));
  assert.deepEqual(page.sets(), [{ constraint: { language: 'choices', source: '["a"]' } }]);
  assert.equal(heard, 0);
});

test('a refused source stays in the field for correction', () => {
  const value = { language: 'regex', source: '[0-9]+' };
  const page = page_of(value);
  leave_with(page.source(), '[0-9');
  page.change({ settings: { ...page.state.settings, constraint: value } }); // the constraint still in force
  assert.equal(page.source().value, '[0-9');
  leave_with(page.source(), '[0-9]');
  assert.deepEqual(page.sets().at(-1), { constraint: { language: 'regex', source: '[0-9]' } });
  page.change({ settings: { ...page.state.settings, constraint: { language: 'lark', source: 'start: "a"' } } });
  assert.deepEqual([page.language().value, page.source().value], ['lark', 'start: "a"'], 'another one from elsewhere');
  leave_with(page.source(), '  ');
  assert.deepEqual(page.sets().at(-1), { constraint: null });
});
