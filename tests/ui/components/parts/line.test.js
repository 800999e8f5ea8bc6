// The line below the loop: which step is on screen, and the one thing that matters most just now.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, what_to_say } from '../../../../ui/components/js/parts/line.js';
import { bare, make_step, recorded, settings_of, shown } from '../fixtures.js';
import { live } from '../harness.js';

/**
 * @import { State } from '../../../../ui/components/js/types.js'
 */

const STOP = { reason: 'max_tokens', sentence: '64 tokens are generated.', is_over: false, at_limit: true };

/** From what matters most to what matters least. @type {[string, Partial<State>, RegExp][]} */
const BY_WEIGHT = [
  ['an error', { error: 'Top-p must be above 0.' }, /^Top-p must be above 0\.$/],
  ['a lost connection', { offline: true }, /^No connection\. Nothing is lost/],
  ['what takes long', { busy: 'Loading the model … 3 s' }, /^Loading the model … 3 s$/],
  ['what happened to the text', { visit_notice: 'The text was generated again.' }, /^The text was generated again\.$/],
  [
    'a what-if',
    { is_what_if: true, settings: settings_of({ top_k: 1 }) },
    /^What if: top-k differs .* It took ␣the\.$/,
  ],
  ['the stage that is looked at', { point: 0 }, /^Stage 1 of 4: logits\. /],
  ['what the last action did', { said: 'The same token again.' }, /^The same token again\.$/],
  ['what a newcomer may try', { lesson: 'stepped' }, /^Try this: drag Temperature/],
  ['why the text stopped', { stop: STOP }, /^64 tokens are generated\.$/],
  ['what waits', { slow: true }, /^Slow motion: /],
  ['a notice', {}, /^Notice: /],
];

test('what matters more goes before what matters less', () => {
  for (const place of BY_WEIGHT.keys()) {
    const state = recorded({ top_k: 2 }, { lesson: 'done' });
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

test('it says which step is on screen', () => {
  const page = live(create, shown({}, { lesson: 'done' }));
  const chip = () => page.root.querySelector('.dv-chip')?.textContent;
  assert.equal(chip(), 'Next: step 1');
  page.change({ steps: [1, 2, 3].map(id => make_step(id)), index: 1 });
  assert.equal(chip(), 'Step 2 of 3');
});

test('a newcomer is told what to press first, and may put it away', () => {
  const page = live(create, shown({}));
  assert.match(page.text(), /Welcome\. .* scored all 4 tokens .* Press Step to draw one of them\./);
  page.one('button', 'Dismiss').click();
  assert.deepEqual(page.taken(), [['forget']]);
  page.change({ lesson: 'done' });
  assert.deepEqual(page.all('button', 'Dismiss'), []);
});

test('an example says where to look, until the first token is taken', () => {
  const state = shown({}, { lesson: 'done', example: 'The second token.' });
  assert.deepEqual(what_to_say(state), { kind: 'plain', title: 'Look at:', text: 'The second token.' });
});

test('a what-if can be left, and an error be put away', () => {
  const page = live(create, recorded({ top_k: 2 }));
  assert.deepEqual(page.all('button'), []);
  page.change({ settings: settings_of({ top_k: 1 }), is_what_if: true });
  page.one('button', 'Show as recorded').click();
  page.change({ error: 'No.' });
  assert.equal(page.one('alert').textContent.trim(), 'No.');
  page.one('button', 'Dismiss').click();
  assert.deepEqual(page.taken(), [['show_recorded'], ['forget']]);
});

test('it is not spoken while a slider moves or steps run by', () => {
  const page = live(create, recorded({}, { lesson: 'done' }));
  const spoken = (/** @type {Partial<State>} */ changes, /** @type {'slide' | 'step'} */ reason) => {
    page.update(Object.assign(page.state, changes), reason);
    return page.root.querySelector('.dv-said')?.getAttribute('aria-live');
  };
  assert.deepEqual(
    [spoken({}, 'slide'), spoken({}, 'step'), spoken({ mode: 'playing' }, 'step'), spoken({ mode: 'paused' }, 'step')],
    ['off', 'polite', 'off', 'polite'],
  );
});
