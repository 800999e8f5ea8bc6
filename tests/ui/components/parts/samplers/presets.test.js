// Presets: their settings, the settings they remove, and undoing them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '../../../../../ui/components/js/parts/samplers/samplers.js';
import { table } from '../../chains.js';
import { settings_of, shown } from '../../fixtures.js';
import { live, type } from '../../harness.js';

const BUILT = {
  xtc: { threshold: 0.2, probability: 0.25 },
  top_k: 3,
  temperature: 0.55,
  banned: { sequences: [[9]] },
  top_p: 0.83,
  min_p: 0,
};

/** @param {Parameters<typeof shown>[0]} [values] */
function page_of(values = { temperature: 0.9, top_k: 3, top_p: 0.9, min_p: 0 }) {
  const page = live(create, shown(values));
  return {
    ...page,
    press(/** @type {string} */ name) {
      /** @type {HTMLDetailsElement} */ (page.root.querySelector('details')).open = true;
      page.one('button', name).click();
    },
    pressed: () =>
      Array.from(page.root.querySelectorAll('[aria-pressed=true]:not(.dv-grip)'), each => each.textContent),
    undo: () => page.all('button', 'Undo the preset'),
    note: () => page.root.querySelector('.dv-note:not(.dv-hidden) span')?.textContent,
  };
}

test('each preset sets the whole chain and is marked', () => {
  const page = page_of();
  assert.deepEqual(page.all('button', 'Creative'), []);
  assert.equal(page.one('group', 'Presets').querySelectorAll(':scope > button').length, 4);
  for (const { name, settings } of table.presets) {
    page.press(name);
    assert.deepEqual(page.taken(), [['set', settings], ['settle']]);
    assert.deepEqual(page.pressed(), [name]);
  }
});

test('the settings that came with a model are the first preset', () => {
  const page = page_of();
  const settings = settings_of({ temperature: 0.6, top_k: 20, top_p: 0.95, min_p: 0 });
  const model = { .../** @type {any} */ (page.state.model), recommended: { name: 'Model’s own', settings } };
  page.change({ model });
  assert.equal(page.one('group', 'Presets').querySelector('button')?.textContent, 'Model’s own');
  page.press('Model’s own');
  assert.deepEqual(page.taken(), [['set', settings], ['settle']]);
  assert.deepEqual(page.pressed(), ['Model’s own']);
  page.change({ model: { ...model, recommended: null } });
  assert.deepEqual(page.all('button', 'Model’s own'), []);
});

test('a preset removes other samplers, and Undo restores the original chain', () => {
  const page = page_of(BUILT);
  const before = page.state.settings;
  page.press('Greedy');
  assert.equal(page.note(), 'Removed: XTC and banned words.');
  assert.deepEqual([page.state.settings.xtc, page.state.settings.banned], [null, null]);
  page.press('Pure sampling');
  type(page.one('slider', 'Temperature'), '1.4');
  type(page.one('spinbutton', 'Seed'), '11');
  page.undo()[0].click();
  assert.deepEqual(page.state.settings, { ...before, seed: 11 });
  assert.deepEqual(page.undo(), []);
  assert.equal(document.activeElement, page.one('button', 'Greedy'));
  page.press('Greedy');
  page.change({ settings: settings_of({ temperature: 0, top_k: 0, top_p: 1, min_p: 0, mirostat: null }) });
  assert.deepEqual([page.undo(), page.pressed()], [[], ['Greedy']], 'after a sampler that is off was added');
});

test('a preset says that it resets the order, if it does', () => {
  const page = page_of({ top_p: 0.9, temperature: 0.7, top_k: 0, min_p: 0 });
  page.press('Greedy');
  assert.equal(page.note(), 'The samplers are in their default order again.');
  page.undo()[0].click();
  assert.deepEqual(page.state.settings.order, ['top_p', 'temperature', 'top_k', 'min_p']);
  const sorted = page_of();
  sorted.press('Greedy');
  assert.deepEqual([sorted.undo(), sorted.note()], [[], undefined]);
});
