// The loop: a box for every stage, selecting a stage, and slow motion's walk.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '../../../../ui/components/js/parts/loop.js';
import { make_step, settings_of, shown } from '../fixtures.js';
import { changes_in, live, text_of } from '../harness.js';

/** @param {ReturnType<typeof shown>} state */
function page_of(state) {
  const page = live(create, state);
  const track = page.one('list', 'One step of the loop');
  const name_in = (/** @type {Element} */ item) =>
    text_of(/** @type {Element} */ (item.querySelector('.dv-loop-name')));
  return {
    ...page,
    track,
    stage: (/** @type {string} */ label) => page.one('button', new RegExp(`^${label}`)),
    names: () => page.all('listitem').map(name_in),
    looks: () => page.all('listitem').map(item => item.className),
    walk: () => page.all('button', /^(Next stage|Skip to the end)$/).map(each => !each.hasAttribute('disabled')),
  };
}

test('boxes follow the chain and show figures of the step', () => {
  const page = page_of(shown({ top_k: 2, temperature: 0.7, min_p: 0 }));
  assert.deepEqual(page.all('listitem').map(text_of), [
    'Tokens in1 of 1,024',
    'Forward pass1 read at once',
    'Logits4 tokens',
    'Top-k2 left',
    'Temperature÷ 0.7',
    'Softmax70.00 % → 1',
    'Drawu = 0.5000',
    'Appendto come',
  ]);
  const box = page.stage('Top-k');
  box.focus();
  page.change({ settings: settings_of({ mirostat: { tau: 5, eta: 0.1 }, top_k: 2 }) });
  assert.deepEqual(page.names().slice(2, 5), ['Logits', 'Mirostat', 'Top-k']);
  assert.equal(page.stage('Top-k'), box);
  assert.equal(changes_in(page.root, () => page.change({})).number, 0);
  page.change({ row: null });
  assert.ok(page.stage('Top-k').hasAttribute('disabled'), 'without scores');
  page.change({ strategy: { top_k: 4, penalty_alpha: 0.6 } });
  assert.deepEqual(page.all('list'), [], 'a search has no stages');
});

test('a press selects a stage, and a second press leaves it', () => {
  const page = page_of(shown({ temperature: 0.5, top_k: 2 }));
  page.stage('Temperature').click();
  assert.deepEqual(page.taken(), [['show', { point: 1 }]]);
  assert.equal(page.stage('Temperature').getAttribute('aria-current'), 'step');
  assert.deepEqual(page.looks(), ['', '', '', 'dv-lit', 'dv-later', 'dv-later', 'dv-later', '']);
  page.stage('Temperature').click();
  assert.deepEqual(page.taken(), [['show', { point: null }]]);
  assert.equal(page.root.querySelector('[aria-current]'), null);
});

test('slow motion enables Skip only after the step has begun', () => {
  const page = page_of(shown({ top_k: 2 }));
  assert.deepEqual(page.walk(), []);
  page.change({ slow: true });
  assert.deepEqual(page.walk(), [true, false]);
  page.change({ point: 1 });
  assert.deepEqual(page.walk(), [true, true]);
  page.taken();
  for (const name of ['Next stage', 'Skip to the end']) page.one('button', name).click();
  assert.deepEqual(page.taken(), [['next_stage'], ['skip_stages']]);
  page.update({ ...page.state, view: null });
  assert.deepEqual(page.walk(), [true, true], 'also while it is covered');
  page.change({ stop: { reason: 'end', sentence: 'Over.', is_over: true, at_limit: true } });
  assert.deepEqual(page.walk(), [false, false]);
});

test('an automatic step lights the stages in turn if slow enough', () => {
  const page = page_of(shown({}));
  let length = 0;
  /** @param {Partial<typeof page.state>} changes */
  const waves = changes => {
    length += 1;
    page.change({ steps: Array.from({ length }, () => make_step(1)), index: length - 1, ...changes });
    return page.track.dataset.wave;
  };
  assert.equal(page.track.dataset.wave, '0');
  assert.deepEqual([waves({}), waves({})], ['1', '2'], 'two equal animations by turns');
  page.change({});
  assert.equal(page.track.dataset.wave, '2', 'nothing was taken');
  assert.equal(waves({ mode: 'playing', speed: 8 }), '2', 'too fast');
  assert.equal(waves({ speed: 2 }), '1');
  assert.equal(waves({ mode: 'paused', slow: true }), '1', 'walked through by hand');
});
