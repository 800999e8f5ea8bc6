// The line below the loop: the step on screen, and the most important message.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '../../../../ui/components/js/parts/line.js';
import { what_to_say } from '../../../../ui/components/js/words/line.js';
import { bare, make_step, recorded, settings_of, shown } from '../fixtures.js';
import { changes_in, live } from '../harness.js';

/**
 * @import { Busy, State } from '../../../../ui/components/js/types.js'
 */

const STOP = { reason: 'max_tokens', sentence: '64 tokens are generated.', is_over: false, at_limit: true };

/** @type {Busy} */
const READING = {
  what: 'Reading the prompt',
  done: 256,
  total: 1024,
  behind: 2,
  can_cancel: true,
  seconds: 3,
  is_cancelling: false,
};

/** From the most important to the least. @type {[string, Partial<State>, RegExp][]} */
const BY_WEIGHT = [
  ['what takes long', { busy: READING }, /^Reading the prompt$/],
  ['an error', { error: 'Top-p must be above 0.' }, /^Top-p must be above 0\.$/],
  ['a lost connection', { offline: true }, /^No connection\. Nothing is lost/],
  ['what happened to the text', { visit_notice: 'The text was generated again.' }, /^The text was generated again\.$/],
  [
    'a what-if',
    { is_what_if: true, settings: settings_of({ top_k: 1 }) },
    /^What if: top-k differs .* It took “␣the”\.$/,
  ],
  ['the stage that is looked at', { point: 0 }, /^Stage 1 of 4: logits\. /],
  ['what the last action did', { said: 'The same token again.' }, /^The same token again\.$/],
  ['the tour', { tour: 'slide', slow: false }, /^4 of 4\. Drag Temperature/],
  ['why the text stopped', { stop: STOP }, /^64 tokens are generated\.$/],
  ['what waits', { slow: true }, /^Slow motion: /],
  ['a notice', {}, /^Notice: /],
];

test('the line reports both the stop and the loop at any step', () => {
  for (const index of [8, 0]) {
    const state = recorded({}, { stop: STOP, steps: Array.from({ length: 9 }, () => make_step(1)), index });
    assert.match(
      bare(what_to_say(state).text),
      /^64 tokens are generated\. The text is looping: the same token came 9 times in a row\./,
    );
  }
});

test('the line shows the most important message', () => {
  for (const place of BY_WEIGHT.keys()) {
    const state = recorded({ top_k: 2 }, { tour: 'done' });
    const page = live(create, state);
    page.change(
      Object.assign(
        {},
        ...BY_WEIGHT.slice(place)
          .toReversed()
          .map(([, changes]) => changes),
      ),
    );
    const said = bare(page.root.querySelector('.dv-said')?.textContent).trim();
    assert.match(said, BY_WEIGHT[place][2], BY_WEIGHT[place][0]);
  }
});

test('the tour moves on with its button or can be skipped', () => {
  const page = live(create, shown({}));
  const chip = () => page.root.querySelector('.dv-chip')?.textContent;
  assert.equal(chip(), 'Next: step 1');
  const names = () => page.all('button').map(({ textContent }) => textContent);
  page.one('button', 'Next').click();
  page.one('button', 'Skip the tour').click();
  assert.deepEqual(page.taken(), [
    ['tour', 'next'],
    ['tour', 'skip'],
  ]);
  page.change({ tour: 'step' });
  assert.deepEqual(names(), ['Skip the tour'], 'Step leads on');
  page.change({ tour: 'moved' });
  assert.deepEqual(names(), ['End the tour']);
  page.change({ tour: 'done' });
  assert.deepEqual(names(), []);
  page.change({ steps: [1, 2, 3].map(id => make_step(id)), index: 1 });
  assert.equal(chip(), 'Step 2 of 3');
});

test('the tour links to the lessons at its first and last stop', () => {
  const lessons = { all: '/app/learn?path=hour', first: '/app/learn?path=hour&lesson=the_loop' };
  const page = live(create, shown({}, { lessons }));
  const doors = () =>
    [...page.root.querySelectorAll('a:not(.dv-hidden)')].map(link => [link.textContent, link.getAttribute('href')]);
  const hour = ['A first hour of lessons', lessons.all];
  assert.deepEqual(doors(), [hour]);
  page.change({ tour: 'moved' });
  assert.deepEqual(doors(), [['Lesson 1', lessons.first], hour]);
  page.change({ tour: 'done' });
  assert.deepEqual(doors(), []);
  page.change({ tour: 'moved', lessons: null });
  assert.deepEqual(doors(), [], 'a lesson has no such doors');
});

test('a what-if can be left and an error dismissed', () => {
  const page = live(create, recorded({ top_k: 2 }));
  assert.deepEqual(page.all('button'), []);
  page.change({ settings: settings_of({ top_k: 1 }), is_what_if: true });
  page.one('button', 'Show as recorded').click();
  page.change({ error: 'No.' });
  assert.equal(page.one('alert').textContent.trim(), 'No.');
  page.one('button', 'Dismiss').click();
  assert.deepEqual(page.taken(), [['show_recorded'], ['forget']]);
  page.change({ error: 'Cancelled: no token was added.', cancelled: true });
  assert.deepEqual(page.all('alert'), []);
  const hint = shown({}, { tour: 'done', example: 'The second token.' });
  assert.deepEqual(what_to_say(hint), { kind: 'plain', title: 'Look at:', text: 'The second token.' });
});

test('a long operation shows its progress and queue, and can be cancelled', () => {
  const page = live(create, recorded({}, { tour: 'done', busy: READING }));
  assert.match(page.text(), /Reading the prompt ?Cancel ?256 of 1,024 · behind 2 others · 3 s$/);
  const bar = page.one('progressbar', 'Progress');
  assert.deepEqual([bar.max, bar.value], [1024, 256]);
  page.one('button', 'Cancel').click();
  page.change({ busy: { ...READING, is_cancelling: true } });
  page.one('button', 'Cancel').click();
  assert.deepEqual(page.taken(), [['cancel']], 'once');
  assert.match(page.text(), /Cancelling/);
  page.change({ busy: { ...READING, total: null, behind: 1, seconds: 65 } });
  assert.match(page.text(), /behind 1 other · 1 min 5 s$/);
  assert.deepEqual(page.all('progressbar'), []);
  page.change({ busy: { ...READING, done: 3e8, total: 9e8, behind: 0 } });
  assert.match(page.text(), /Cancel ?33 % · 3 s$/);
  page.change({ busy: { ...READING, can_cancel: false } });
  assert.deepEqual(page.all('button'), []);
  page.change({ busy: null });
  assert.deepEqual([page.all('progressbar'), page.all('button')], [[], []]);
});

test('the line is spoken, except figures and while a slider moves or text plays', () => {
  const page = live(create, recorded({}, { tour: 'done' }));
  const spoken = (/** @type {Partial<State>} */ changes, /** @type {'slide' | 'step'} */ reason) => {
    page.update(Object.assign(page.state, changes), reason);
    return page.root.querySelector('.dv-said')?.getAttribute('aria-live');
  };
  assert.deepEqual([spoken({}, 'slide'), spoken({}, 'step')], ['off', 'polite']);
  assert.deepEqual(
    [spoken({ mode: 'playing' }, 'step'), spoken({ mode: 'running', busy: READING }, 'step')],
    ['off', 'polite'],
  );
  const sentence = page.root.querySelector('.dv-said');
  assert.equal(page.root.querySelectorAll('[aria-live]').length, 1);
  assert.equal(
    changes_in(/** @type {Element} */ (sentence), () => page.change({ busy: { ...READING, seconds: 4 } })).number,
    0,
  );
});

test('focus on Cancel returns to its former place when Cancel disappears', () => {
  const page = live(create, recorded({ top_k: 2 }, { settings: settings_of({ top_k: 1 }), is_what_if: true }));
  const before = document.body.appendChild(document.createElement('button'));
  before.focus();
  page.change({ busy: READING });
  assert.equal(document.activeElement, before, 'it takes the focus from nobody');
  page.one('button', 'Cancel').focus();
  page.change({ busy: null });
  assert.equal(document.activeElement, before);
});
